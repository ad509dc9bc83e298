"""Streams append nodes: names, types, partitioners, settings, and what they reject."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from funke.common import Row, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from funke.datastream.data_stream import AllWindowedStream, DataStream, KeyedStream, WindowedStream
from funke.datastream.state import MapStateDescriptor
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import ConfigurationError, GraphError, TypeMismatchError
from funke.engine.graph import operations as op
from funke.engine.graph import partitioners
from funke.engine.graph.stream_graph import ChainingStrategy, StreamNode
from funke.engine.operators.shared_functions import FunctionOpener
from funke.engine.types.time import Time

PAIR = Types.TUPLE([Types.INT(), Types.STRING()])


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([(1, "a"), (2, "b")], PAIR)


def node_of(stream: Any) -> StreamNode:
    assert stream._node is not None
    node: StreamNode = stream._node
    return node


class Pass(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class KeyedPass(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class CoMapPass(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class CoFlatMapPass(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        yield value

    def flat_map2(self, value: Any) -> Any:
        yield value


class CoPass(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class KeyedCoPass(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class BroadcastPass(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        yield value


class KeyedBroadcastPass(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        yield value


class TestNamesAndTypes:
    """Operators have PyFlink's names, and streams know their type."""

    def test_operators_have_pyflinks_names(self, pairs: DataStream) -> None:
        keyed = pairs.key_by(lambda pair: pair[0])
        connected, keyed_connected = pairs.connect(pairs), keyed.connect(keyed)
        rules = pairs.broadcast(MapStateDescriptor("rules", Types.INT(), Types.STRING()))
        streams: list[DataStream] = [
            pairs,
            pairs.map(str),
            pairs.filter(bool),
            pairs.flat_map(list),
            pairs.process(Pass()),
            pairs.project(1),
            pairs.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()),
            keyed.map(str),
            keyed.reduce(max),
            keyed.sum(0),
            keyed.process(KeyedPass()),
            connected.map(CoMapPass()),
            connected.flat_map(CoFlatMapPass()),
            connected.process(CoPass()),
            keyed_connected.process(KeyedCoPass()),
            pairs.connect(rules).process(BroadcastPass()),
            keyed.connect(rules).process(KeyedBroadcastPass()),
            pairs.get_side_output(OutputTag("late")),
        ]
        assert [stream.get_name() for stream in streams] == [
            "Collection Source",
            "Map",
            "Filter",
            "FlatMap",
            "PROCESS",
            "Projection",
            "Timestamps/Watermarks",
            "Map",
            "Reduce",
            "Reduce",
            "KEYED PROCESS",
            "Co-Map",
            "Co-Flat Map",
            "Co-Process",
            "Keyed Co-Process",
            "Co-Process-Broadcast",
            "Keyed-Co-Process-Broadcast",
            "Map",
        ]

    def test_sinks_have_flinks_names(self, pairs: DataStream) -> None:
        assert node_of(pairs.print()).title == "Sink: Print to Std. Out"
        assert node_of(pairs.print().name("out")).title == "Sink: out"
        assert node_of(pairs.add_sink(lambda value: None)).title == "Sink: Unnamed"

    def test_an_untyped_stream_carries_python_objects(self, env: StreamExecutionEnvironment) -> None:
        assert env.from_collection([1]).get_type() == Types.PICKLED_BYTE_ARRAY()
        assert env.from_collection([1], Types.INT()).map(str).get_type() == Types.PICKLED_BYTE_ARRAY()

    def test_filter_side_output_and_partitioning_keep_or_declare_types(self, pairs: DataStream) -> None:
        assert pairs.filter(bool).get_type() == PAIR
        assert pairs.rebalance().get_type() == PAIR
        assert pairs.get_side_output(OutputTag("late", Types.LONG())).get_type() == Types.LONG()
        assert pairs.project(1, 0).get_type() == Types.TUPLE([Types.STRING(), Types.INT()])
        assert pairs.map(str, [Types.INT()]).get_type() == Types.ROW([Types.INT()])

    def test_fields_of_row_types_have_names(self, pairs: DataStream) -> None:
        assert str(pairs.map(str, Types.ROW([Types.INT()])).get_type()) == "RowTypeInfo(f0: Integer)"

    def test_a_keyed_stream_is_of_rows_of_key_and_element(self, env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([1], Types.INT())
        assert str(numbers.key_by(lambda n: n).get_type()) == "RowTypeInfo(f0: PickledByteArrayTypeInfo, f1: Integer)"
        assert str(numbers.key_by(lambda n: n, Types.LONG()).get_type()) == "RowTypeInfo(f0: Long, f1: Integer)"

    def test_the_user_line_is_the_line_of_the_call(self, pairs: DataStream) -> None:
        line = node_of(pairs.map(str)).user_line
        assert line is not None and line.startswith("test_data_stream.py:")


class TestPartitioning:
    """How records reach the next operator."""

    @pytest.mark.parametrize(
        ("method", "expected"),
        [
            ("rebalance", partitioners.Rebalance),
            ("rescale", partitioners.Rescale),
            ("shuffle", partitioners.Shuffle),
            ("broadcast", partitioners.Broadcast),
            ("forward", partitioners.Forward),
            ("global_", partitioners.Global),
        ],
    )
    def test_partitioning_concerns_the_next_edge(self, pairs: DataStream, method: str, expected: type) -> None:
        (edge,) = node_of(getattr(pairs, method)().map(str)).inputs
        assert type(edge.partitioner) is expected

    def test_the_last_partitioning_wins(self, pairs: DataStream) -> None:
        (edge,) = node_of(pairs.rebalance().shuffle().map(str)).inputs
        assert isinstance(edge.partitioner, partitioners.Shuffle)

    def test_nobody_asked_means_no_partitioner(self, pairs: DataStream) -> None:
        (edge,) = node_of(pairs.map(str)).inputs
        assert edge.partitioner is None

    def test_key_by_sets_hash_and_the_selector(self, pairs: DataStream) -> None:
        node = node_of(pairs.key_by(lambda pair: pair[1]).map(str))
        (edge,) = node.inputs
        assert isinstance(edge.partitioner, partitioners.Hash)
        assert edge.partitioner.key_selector((1, "a")) == "a"
        assert isinstance(node.operation, op.Map) and node.operation.key_selector is edge.partitioner.key_selector

    def test_a_key_selector_object_is_called_by_its_method(self, pairs: DataStream) -> None:
        class Second(KeySelector):
            def get_key(self, value: Any) -> Any:
                return value[1]

        (edge,) = node_of(pairs.key_by(Second()).reduce(max)).inputs
        assert isinstance(edge.partitioner, partitioners.Hash)
        assert edge.partitioner.key_selector((1, "a")) == "a"

    def test_a_key_selector_that_must_be_opened_is_opened_by_an_operator_before_the_exchange(
        self, pairs: DataStream
    ) -> None:
        class Second(KeySelector):
            def open(self, runtime_context: Any) -> None:
                self.position = 1

            def get_key(self, value: Any) -> Any:
                return value[self.position]

        upstream = pairs.map(lambda pair: pair).set_parallelism(3)
        (edge,) = node_of(upstream.key_by(Second()).reduce(max)).inputs
        opener = upstream._env._builder.graph.nodes[edge.source]
        assert isinstance(opener.operation, op.Map) and isinstance(opener.operation.function, FunctionOpener)
        assert (opener.name, opener.parallelism) == ("_stream_key_by_map_operator", 3)

    def test_a_declared_key_type_shapes_the_key(self, pairs: DataStream) -> None:
        keyed = pairs.key_by(lambda pair: (pair[0], pair[1]), Types.ROW([Types.INT(), Types.STRING()]))
        assert keyed._key is not None
        assert keyed._key((1, "a")) == Row(f0=1, f1="a")

    def test_key_by_of_a_keyed_stream_replaces_the_key(self, pairs: DataStream) -> None:
        (edge,) = node_of(pairs.key_by(lambda p: p[0]).key_by(lambda p: p[1]).map(str)).inputs
        assert isinstance(edge.partitioner, partitioners.Hash)
        assert edge.partitioner.key_selector((1, "a")) == "a"

    def test_partition_custom_is_an_operator_of_its_own(self, pairs: DataStream) -> None:
        class ByNumber(Partitioner):
            def partition(self, key: Any, num_partitions: int) -> int:
                return int(key) % num_partitions

        stream = pairs.partition_custom(ByNumber(), lambda pair: pair[0]).name("mine").set_parallelism(3)
        (edge,) = node_of(stream).inputs
        assert isinstance(edge.partitioner, partitioners.Custom)
        assert edge.partitioner.partition(edge.partitioner.key_selector((5, "x")), 3) == 2
        assert node_of(stream).parallelism == 3 and stream.get_type() == PAIR


class TestSeveralInputs:
    """Union, connect and broadcast."""

    def test_union_concatenates_edges_with_their_partitioners(self, env: StreamExecutionEnvironment) -> None:
        left, right = env.from_collection([1]), env.from_collection([2])
        edges = node_of(left.union(right.rebalance(), right.key_by(lambda n: n)).map(str)).inputs
        assert [edge.source for edge in edges] == [node_of(left).id, node_of(right).id, node_of(right).id]
        assert [edge.partitioner.label if edge.partitioner else None for edge in edges] == [None, "REBALANCE", "HASH"]
        assert {edge.input_index for edge in edges} == {0}

    def test_union_needs_one_type(self, env: StreamExecutionEnvironment) -> None:
        with pytest.raises(TypeMismatchError, match="got Integer and String"):
            env.from_collection([1], Types.INT()).union(env.from_collection(["a"], Types.STRING()))

    def test_connected_streams_have_two_inputs(self, env: StreamExecutionEnvironment) -> None:
        left, right = env.from_collection([1]), env.from_collection([2])
        node = node_of(left.connect(right).map(CoMapPass(), Types.INT()))
        assert [edge.input_index for edge in node.inputs] == [0, 1]
        assert isinstance(node.operation, op.CoMap) and node.operation.key_selectors is None

    def test_both_keyed_makes_the_function_keyed(self, pairs: DataStream) -> None:
        by_number, by_text = pairs.key_by(lambda p: p[0]), pairs.key_by(lambda p: p[1])
        keyed = node_of(by_number.connect(by_text).process(KeyedCoPass()))
        again = node_of(by_number.connect(pairs).key_by(lambda p: p[1], lambda p: p[1]).map(CoMapPass()))
        half = node_of(by_number.connect(pairs).process(CoPass()))
        assert isinstance(keyed.operation, op.CoProcess) and keyed.operation.key_selectors is not None
        assert [key((1, "a")) for key in keyed.operation.key_selectors] == [1, "a"]
        assert isinstance(again.operation, op.CoMap) and again.operation.key_selectors is not None
        assert again.operation.key_selectors[0]((1, "a")) == "a"
        assert isinstance(half.operation, op.CoProcess) and half.operation.key_selectors is None

    def test_a_broadcast_stream_reaches_every_subtask_on_the_second_input(self, pairs: DataStream) -> None:
        descriptor = MapStateDescriptor("rules", Types.INT(), Types.STRING())
        node = node_of(pairs.key_by(lambda p: p[0]).connect(pairs.broadcast(descriptor)).process(KeyedBroadcastPass()))
        assert [edge.partitioner.label for edge in node.inputs if edge.partitioner] == ["HASH", "BROADCAST"]
        assert isinstance(node.operation, op.BroadcastProcess)
        assert node.operation.state_descriptors == (descriptor,)

    def test_the_kind_of_broadcast_function_must_fit(self, pairs: DataStream) -> None:
        rules = pairs.broadcast(MapStateDescriptor("rules", Types.INT(), Types.STRING()))
        with pytest.raises(TypeError, match="a stream without keys needs a BroadcastProcessFunction"):
            pairs.connect(rules).process(KeyedBroadcastPass())
        with pytest.raises(TypeError, match="a keyed stream needs a KeyedBroadcastProcessFunction"):
            pairs.key_by(lambda p: p[0]).connect(rules).process(BroadcastPass())

    def test_a_side_output_is_read_by_its_tag(self, pairs: DataStream) -> None:
        late = OutputTag("late", Types.STRING())
        (edge,) = node_of(pairs.process(Pass()).get_side_output(late)).inputs
        assert edge.tag == late


class TestSettings:
    """Setters change the node, and reject what cannot be."""

    def test_they_are_kept_in_the_node(self, pairs: DataStream) -> None:
        stream = pairs.map(str).name("n").uid("u").set_parallelism(3).set_max_parallelism(12).set_description("d")
        node = node_of(stream.set_buffer_timeout(5).slot_sharing_group("g").set_uid_hash("A" * 32))
        assert (node.name, node.uid, node.parallelism, node.max_parallelism) == ("n", "u", 3, 12)
        assert (node.description, node.buffer_timeout_ms, node.slot_sharing_group) == ("d", 5, "g")
        assert node.uid_hash == "a" * 32

    def test_a_slot_sharing_group_may_be_an_object(self, pairs: DataStream) -> None:
        group = SlotSharingGroup.builder("big").build()
        assert node_of(pairs.map(str).slot_sharing_group(group)).slot_sharing_group == "big"

    def test_chaining(self, pairs: DataStream) -> None:
        assert node_of(pairs.map(str).start_new_chain()).chaining is ChainingStrategy.HEAD
        assert node_of(pairs.map(str).disable_chaining()).chaining is ChainingStrategy.NEVER
        assert node_of(pairs.print().disable_chaining()).chaining is ChainingStrategy.NEVER

    def test_an_operator_has_the_parallelism_of_the_environment_when_it_was_added(
        self, env: StreamExecutionEnvironment
    ) -> None:
        first = env.from_collection([1]).map(str)
        second = env.set_parallelism(3).from_collection([1]).map(str)
        assert [node_of(first).parallelism, node_of(second).parallelism] == [2, 3]

    def test_a_collection_is_not_parallel(self, pairs: DataStream) -> None:
        assert node_of(pairs).parallelism == 1
        pairs.set_parallelism(1)
        with pytest.raises(ConfigurationError, match="'Source: Collection Source' cannot run in parallel"):
            pairs.set_parallelism(2)
        with pytest.raises(ConfigurationError, match="maximum parallelism must be 1"):
            pairs.set_max_parallelism(2)

    def test_force_non_parallel_is_final(self, pairs: DataStream) -> None:
        stream = pairs.map(str).force_non_parallel()
        assert node_of(stream).parallelism == 1
        with pytest.raises(ConfigurationError, match="cannot run in parallel"):
            stream.set_parallelism(2)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda stream: stream.set_parallelism(0), "must be at least 1, or -1 for the default, got 0"),
            (lambda stream: stream.set_parallelism("2"), "must be an integer, got '2'"),
            (lambda stream: stream.set_max_parallelism(0), "must lie between 1 and 32768, got 0"),
            (lambda stream: stream.set_uid_hash("zz"), "32 hexadecimal digits, got 'zz'"),
            (lambda stream: stream.set_buffer_timeout(-2), "at least -1, got -2"),
        ],
    )
    def test_bad_values(self, pairs: DataStream, change: Callable[[DataStream], Any], message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            change(pairs.map(str))

    @pytest.mark.parametrize("method", ["get_name", "disable_chaining", "start_new_chain", "force_non_parallel"])
    def test_a_bare_stream_has_no_operator_to_set(self, pairs: DataStream, method: str) -> None:
        with pytest.raises(GraphError, match=rf"{method}\(\) needs an operator"):
            getattr(pairs.rebalance(), method)()

    def test_project_needs_tuples_and_fields_that_exist(self, pairs: DataStream) -> None:
        with pytest.raises(TypeMismatchError, match="needs a stream of tuples"):
            pairs.map(str).project(0)
        with pytest.raises(ConfigurationError, match=r"positions from 0 to 1, got \[5\]"):
            pairs.project(5)

    @pytest.mark.parametrize("method", ["map", "filter", "flat_map", "key_by", "process"])
    def test_what_is_not_a_function_is_a_type_error(self, pairs: DataStream, method: str) -> None:
        with pytest.raises(TypeError, match="got int"):
            getattr(pairs, method)(5)

    def test_function_objects_are_kept_as_they_are(self, pairs: DataStream) -> None:
        class Upper(MapFunction):
            def map(self, value: Any) -> Any:
                return value

        function = Upper()
        assert node_of(pairs.map(function)).operation == op.Map(function)


class TestKeyedStream:
    """What PyFlink forbids on a keyed stream."""

    @pytest.mark.parametrize(
        ("method", "arguments"),
        [
            *((name, ()) for name in ("shuffle", "rescale", "rebalance", "forward", "broadcast", "get_name", "cache")),
            *((name, ()) for name in ("force_non_parallel", "start_new_chain", "disable_chaining")),
            *((name, ("x",)) for name in ("name", "uid", "set_uid_hash", "slot_sharing_group")),
            *((name, (1,)) for name in ("set_parallelism", "set_max_parallelism", "set_buffer_timeout")),
            ("partition_custom", (max, max)),
        ],
    )
    def test_forbidden(self, pairs: DataStream, method: str, arguments: tuple[Any, ...]) -> None:
        keyed = pairs.key_by(lambda pair: pair[0])
        with pytest.raises(GraphError, match=rf"{method}\(\) is not possible on a KeyedStream"):
            getattr(keyed, method)(*arguments)

    def test_process_needs_a_keyed_process_function(self, pairs: DataStream) -> None:
        with pytest.raises(TypeError, match="needs a KeyedProcessFunction, got Pass"):
            pairs.key_by(lambda pair: pair[0]).process(Pass())  # type: ignore[arg-type]

    @pytest.mark.parametrize("setting", ["name", "set_description", "slot_sharing_group"])
    def test_strings_must_be_strings(self, pairs: DataStream, setting: str) -> None:
        with pytest.raises(TypeError, match=rf"{setting}\(\) needs a str, got 5\n  in your job: test_data_stream.py"):
            getattr(pairs.map(str), setting)(5)

    def test_without_keys_a_keyed_process_function_will_do(self, pairs: DataStream) -> None:
        class PassKeyed(KeyedProcessFunction):
            def process_element(self, value: Any, ctx: Any) -> Any:
                yield value

        function = PassKeyed()
        assert node_of(pairs.process(function)).operation == op.Process(function)
        with pytest.raises(TypeError, match="needs a ProcessFunction, got function"):
            pairs.process(lambda value: value)  # type: ignore[arg-type]

    def test_printing_sends_elements_where_their_key_puts_them(self, pairs: DataStream) -> None:
        (edge,) = node_of(pairs.key_by(lambda pair: pair[0]).print()).inputs
        assert isinstance(edge.partitioner, partitioners.Hash)

    def test_windows_become_nodes_with_their_input_type(self, pairs: DataStream) -> None:
        assigner = TumblingEventTimeWindows.of(Time.seconds(5))
        keyed: KeyedStream = pairs.key_by(lambda pair: pair[0])
        windowed: WindowedStream = keyed.window(assigner).allowed_lateness(5).side_output_late_data(OutputTag("late"))
        everything: AllWindowedStream = pairs.window_all(assigner)
        assert windowed.get_input_type() == everything.get_input_type() == PAIR
        for stream in (windowed, everything, keyed.count_window(5), keyed.count_window(5, 2)):
            assert stream.reduce(max).get_type() == PAIR


def test_watermarks_without_an_assigner_keep_the_parallelism_of_their_input(env: StreamExecutionEnvironment) -> None:
    class Seconds(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(value)

    env.set_parallelism(2)
    numbers, strategy = env.from_collection([1, 2]), WatermarkStrategy.for_monotonous_timestamps()
    assert node_of(numbers.assign_timestamps_and_watermarks(strategy)).parallelism == 1
    assigning = strategy.with_timestamp_assigner(Seconds())
    assert node_of(numbers.assign_timestamps_and_watermarks(assigning)).parallelism == 2


def test_the_plan_lists_what_was_added(env: StreamExecutionEnvironment, pairs: DataStream) -> None:
    pairs.map(str).filter(bool).key_by(len).reduce(max).print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["type"] for node in nodes] == [
        "Source: Collection Source",
        "Map",
        "Filter, _stream_key_by_map_operator",
        "Reduce",
        "Sink: Print to Std. Out",
    ]
    strategies = [each["ship_strategy"] for node in nodes for each in node.get("predecessors", [])]
    assert strategies == ["REBALANCE", "FORWARD", "HASH", "FORWARD"]
