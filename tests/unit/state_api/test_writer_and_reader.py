"""The writer's and reader's methods check what they are given before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.common import Types, WatermarkStrategy
from funke.datastream import RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource
from funke.datastream.state import ValueStateDescriptor
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import ConfigurationError, GraphError, StateError
from funke.engine.graph.operations import Process, Window
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from funke.engine.planner.chaining import to_job_graph
from funke.state_api import (
    KeyedStateBootstrapFunction,
    OperatorIdentifier,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateBootstrapTransformation,
)
from tests.unit.state_processor.savepoint_making import OPERATOR_ID, UID, savepoint_of, write_state


class Keep(KeyedStateBootstrapFunction[Any, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("kept", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.state.update(value)


def itself(value: Any) -> Any:
    return value


def transformation(max_parallelism: int | None = None) -> StateBootstrapTransformation:
    data = OperatorTransformation.bootstrap_with([1, 2]).key_by(itself)
    if max_parallelism is not None:
        data.set_max_parallelism(max_parallelism)
    return data.transform(Keep())


@pytest.fixture
def path(tmp_path: Path) -> str:
    handles = write_state(tmp_path / "first", Process(Keep(), itself), [1, 2], key=itself)
    return savepoint_of(tmp_path / "first", handles).path


def test_the_id_of_a_uid_is_that_of_the_job() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    node = env.from_collection([1]).map(itself).uid("mapping")
    graph = to_job_graph(env._graph_of({node._node.id}, None))  # type: ignore[union-attr]
    ids = [operator.operator_id for vertex in graph.vertices for operator in vertex.operators]
    assert OperatorIdentifier.for_uid("mapping").operator_id in ids
    assert OperatorIdentifier.for_uid_hash("abc").operator_id == "abc"
    assert [str(each) for each in (OperatorIdentifier.for_uid("a"), OperatorIdentifier.for_uid_hash("b"))] == [
        "uid 'a'",
        "uid hash 'b'",
    ]
    with pytest.raises(TypeError, match="uid or an OperatorIdentifier, got int"):
        OperatorIdentifier.of(3)  # type: ignore[arg-type]


def test_new_savepoint_takes_the_arguments_of_flink() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for writer in (
        SavepointWriter.new_savepoint(64),
        SavepointWriter.new_savepoint(env, 64),
        SavepointWriter.new_savepoint(env, object(), 64),
    ):
        assert writer._max_parallelism == 64
    with pytest.raises(TypeError, match="needs the maximum parallelism"):
        SavepointWriter.new_savepoint(env)
    with pytest.raises(ConfigurationError, match="between 1 and 32768"):
        SavepointWriter.new_savepoint(0)


def test_an_operator_is_added_once() -> None:
    writer = SavepointWriter.new_savepoint(64).with_operator("a", transformation())
    with pytest.raises(StateError, match=r"uid 'a' already; call remove_operator\(\) first"):
        writer.with_operator("a", transformation())
    writer.remove_operator("a").with_operator("a", transformation(32))
    assert [(new.max_parallelism, new.entry.uid) for new in writer._added.values()] == [(32, "a")]
    writer.change_operator_identifier("a", "b")
    assert [new.identifier.uid for new in writer._added.values()] == ["b"]
    with pytest.raises(StateError, match="the new savepoint has no operator with uid 'a'"):
        writer.remove_operator("a")


def test_operators_of_an_existing_savepoint_are_removed_and_renamed(path: str) -> None:
    writer = SavepointWriter.from_existing_savepoint(path)
    assert writer._max_parallelism == 16
    with pytest.raises(StateError, match=f"uid '{UID}' already"):
        writer.with_operator(UID, transformation())
    with pytest.raises(StateError, match="no state of an operator with uid 'other'"):
        writer.remove_operator("other")
    writer.change_operator_identifier(UID, "new")
    assert writer._changes.id_of(OPERATOR_ID) == OperatorIdentifier.for_uid("new").operator_id
    with pytest.raises(StateError, match="was removed or renamed already"):
        writer.remove_operator(UID)
    # It is found under its new name, and its old name is free.
    writer.remove_operator("new").with_operator("new", transformation()).with_operator(UID, transformation())
    assert writer._changes.id_of(OPERATOR_ID) is None


def test_from_existing_savepoint_takes_the_arguments_of_flink(path: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert SavepointWriter.from_existing_savepoint(env, path)._base is not None
    with pytest.raises(TypeError, match="needs the path"):
        SavepointWriter.from_existing_savepoint(env)
    with pytest.raises(StateError, match="cannot be read"):
        SavepointWriter.from_existing_savepoint(f"{path}-elsewhere")


def test_a_savepoint_is_not_written_over_another(path: str) -> None:
    with pytest.raises(StateError, match="there is a savepoint"):
        SavepointWriter.new_savepoint(64).with_operator("a", transformation()).write(path)
    assert read_checkpoint(path).stateful_ids() == {OPERATOR_ID}


def test_unbounded_data_is_rejected(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(
        DataGeneratorSource(itself, 2**63 - 1, Types.LONG()), WatermarkStrategy.no_watermarks(), "endless"
    )
    if stream._node.operation.source.is_bounded:  # type: ignore[union-attr]
        stream = env.socket_text_stream("localhost", 1)
    created = OperatorTransformation.bootstrap_with(stream).key_by(itself).transform(Keep())
    nodes = dict(env._builder.graph.nodes)
    with pytest.raises(GraphError, match=r"bounded data, but '.*' never ends"):
        SavepointWriter.new_savepoint(64).with_operator("a", created).write(str(tmp_path / "made"))
    assert env._builder.graph.nodes == nodes


def test_functions_and_data_of_other_kinds_are_rejected() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1])
    with pytest.raises(TypeError, match="needs a KeyedStateBootstrapFunction, got function"):
        OperatorTransformation.bootstrap_with(stream).key_by(itself).transform(itself)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"needs a StateBootstrapFunction or .*, got Keep"):
        OperatorTransformation.bootstrap_with(stream).transform(Keep())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a DataStream, a DataFrame or a collection, got int"):
        OperatorTransformation.bootstrap_with(3)
    with pytest.raises(ConfigurationError, match="a stream without keys"):
        OperatorTransformation.bootstrap_with(stream.key_by(itself))
    with pytest.raises(TypeError, match=r"needs what transform\(\) returns, got DataStream"):
        SavepointWriter.new_savepoint(64).with_operator("a", stream)  # type: ignore[arg-type]


def test_a_window_transformation_describes_the_job_s_own_operation() -> None:
    from funke.common import Time

    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = OperatorTransformation.bootstrap_with(env.from_collection([1])).key_by(itself)
    before = dict(env._builder.graph.nodes)
    created = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(max)
    assert isinstance(created.operation, Window)
    assert created.operation.reduce is max
    assert env._builder.graph.nodes == before
    assert not env._builder.pending


def test_a_reader_rejects_other_functions_and_unknown_operators(path: str) -> None:
    reader = SavepointReader.read(StreamExecutionEnvironment.get_execution_environment(), path)
    assert [entry.uid for entry in reader.operators()] == [UID]
    with pytest.raises(TypeError, match="needs a KeyedStateReaderFunction, got function"):
        reader.read_keyed_state(UID, itself)  # type: ignore[arg-type]
    with pytest.raises(StateError, match=r"uid 'x'; operators with state: 'Operator'[\s\S]*test_writer_and_reader.py"):
        reader.read_list_state("x", "buffer")
    with pytest.raises(TypeError, match="needs a WindowAssigner"):
        reader.window(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="WindowReaderFunction, got function"):
        reader.window(TumblingEventTimeWindows.of(_second())).process(UID, itself)  # type: ignore[arg-type]


def _second() -> Any:
    from funke.common import Time

    return Time.seconds(1)
