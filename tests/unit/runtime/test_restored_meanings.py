"""State that is read by another program: types are compared where a state is asked for, and what moved is moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from funke.common import Time, Types
from funke.datastream import KeyedProcessFunction, MapFunction, RuntimeContext
from funke.datastream.functions import CheckpointedFunction
from funke.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from funke.engine.errors import StateError
from funke.engine.graph.operations import ColumnOperator, Map, Operation, Process
from funke.engine.graph.state_meaning import StateMoves, moves_between
from funke.engine.operators.chain import OperatorChain
from funke.engine.operators.operator import Operator
from funke.engine.runtime.snapshots.chain_snapshot import ChainSnapshot
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.runtime.snapshots.state_restore import SubtaskRange, restore_chain
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of, meaning_of_node
from tests.harness.sql_changelogs import batch_of, bound_query, changes_of, inserts

BACKENDS = ("hashmap", "rocksdb")


class Last(KeyedProcessFunction):
    """Tells what it was told last."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self._descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        self._last: Any = runtime_context.get_state(cast(ValueStateDescriptor, self._descriptor))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self._last.value()
        self._last.update(value)


class Listed(MapFunction, CheckpointedFunction):
    """Keeps a list and a map that belong to no key."""

    def __init__(self, elements: Any, entries: Any) -> None:
        self._types = elements, entries

    def initialize_state(self, context: Any) -> None:
        elements, entries = self._types
        store = context.get_operator_state_store()
        self.elements = store.get_list_state(ListStateDescriptor("elements", elements))
        self.entries = store.get_broadcast_state(MapStateDescriptor("entries", Types.STRING(), entries))

    def snapshot_state(self, context: Any) -> None:
        self.elements.update([7])

    def map(self, value: Any) -> Any:
        self.entries.put("k", value)
        return self.elements.get()


def chain_of(operator: Operator) -> OperatorChain:
    own = {} if (state := operator.snapshot()) is None else {"op": state}
    spec = SimpleNamespace(operator_id="op", node_id=1, name="last")
    return cast(OperatorChain, SimpleNamespace(specs=[spec], operators={1: operator}, snapshot=lambda: own))


def written(harness: OperatorHarness, folder: Path, is_incremental: bool = False) -> SnapshotHandle:
    """What a checkpoint has of an operator, which ends."""
    harness.operator.prepare_snapshot(1)
    command = CheckpointCommand(1, str(folder), is_incremental=is_incremental)
    handle = ChainSnapshot(command, str(folder), "1-0-0").write(chain_of(harness.operator), 0, 1)
    assert handle is not None
    harness.close()
    return SnapshotHandle.from_plain(handle.to_plain()).within(str(folder))


def restored(
    operation: Operation,
    handle: SnapshotHandle,
    folder: Path,
    backend: str,
    moves: StateMoves | None = None,
    **harness: Any,
) -> OperatorHarness:
    def restore(operator: Operator) -> None:
        every = None if moves is None else {"op": moves}
        restore_chain(chain_of(operator), [handle], SubtaskRange(0, 1, 128), str(folder), None, every)

    return OperatorHarness(operation, backend=choice_of(backend), before_open=restore, **harness)


def last(kind: Any, ttl: bool = False) -> Process:
    descriptor = ValueStateDescriptor("last", kind)
    if ttl:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return Process(Last(descriptor), lambda value: 0)


def outputs_after(harness: OperatorHarness, value: Any) -> list[Any]:
    harness.process(value)
    outputs = harness.outputs()
    harness.close()
    return outputs


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Types.LONG(), Types.LONG()),
        (Types.INT(), Types.LONG()),
        (Types.SHORT(), Types.BIG_INT()),
        (Types.LONG(), Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_a_state_of_a_type_that_holds_its_values_goes_on(tmp_path: Path, backend: str, before: Any, after: Any) -> None:
    first = OperatorHarness(last(before), backend=choice_of(backend))
    first.process(5)
    handle = written(first, tmp_path)
    assert outputs_after(restored(last(after), handle, tmp_path, backend), 6) == [5]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("before", "after", "strings"),
    [
        (Types.LONG(), Types.STRING(), "Long, and this job declares it as String"),
        (Types.LONG(), Types.INT(), "Long, and this job declares it as Integer"),
        (Types.LONG(), Types.DOUBLE(), "Long, and this job declares it as Double"),
        (Types.PICKLED_BYTE_ARRAY(), Types.LONG(), "PickledByteArrayTypeInfo, and this job declares it as Long"),
        (Types.TUPLE([Types.LONG()]), Types.TUPLE([Types.STRING()]), r"TupleTypeInfo\(Long\), and this job"),
    ],
)
def test_a_state_of_another_type_is_rejected_with_both(
    tmp_path: Path, backend: str, before: Any, after: Any, strings: str
) -> None:
    first = OperatorHarness(last(before), backend=choice_of(backend))
    first.process(5)
    handle = written(first, tmp_path)
    with pytest.raises(StateError, match=f"the state 'last' was written as {strings}"):
        restored(last(after), handle, tmp_path, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("had_ttl", [True, False])
def test_a_time_to_live_comes_and_goes(tmp_path: Path, backend: str, had_ttl: bool) -> None:
    """As in Flink since 2.2."""
    first = OperatorHarness(last(Types.LONG(), had_ttl), backend=choice_of(backend))
    first.process(5)
    handle = written(first, tmp_path)
    assert outputs_after(restored(last(Types.LONG(), not had_ttl), handle, tmp_path, backend), 6) == [5]


def test_types_stay_known_in_a_job_that_does_not_ask_for_the_state(tmp_path: Path) -> None:
    first = OperatorHarness(last(Types.LONG()))
    first.process(5)
    handle = written(first, tmp_path)
    other = Process(Last(ValueStateDescriptor("other", Types.STRING())), lambda value: 0)
    again = written(restored(other, handle, tmp_path, "hashmap"), tmp_path)
    assert dict(dict(again.types)["op"]) == {"last": "Long", "other": "String"}
    with pytest.raises(StateError, match="written as Long"):
        restored(last(Types.STRING()), again, tmp_path, "hashmap")


@pytest.mark.parametrize(("elements", "entries"), [(Types.STRING(), Types.LONG()), (Types.LONG(), Types.STRING())])
def test_lists_and_maps_that_belong_to_no_key_have_types_too(tmp_path: Path, elements: Any, entries: Any) -> None:
    first = OperatorHarness(Map(Listed(Types.LONG(), Types.LONG())))
    first.process(5)
    handle = written(first, tmp_path)
    assert outputs_after(restored(Map(Listed(Types.LONG(), Types.LONG())), handle, tmp_path, "hashmap"), 6) == [[7]]
    with pytest.raises(StateError, match="cannot be taken for that"):
        restored(Map(Listed(elements, entries)), handle, tmp_path, "hashmap")


def aggregation(calls: str) -> Any:
    relation: Any = bound_query(f"SELECT k, {calls} FROM t GROUP BY k", k="STRING", v="BIGINT", i="BIGINT")
    return relation.input


@pytest.mark.parametrize("is_incremental", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_accumulators_are_moved_whatever_files_they_come_in(tmp_path: Path, backend: str, is_incremental: bool) -> None:
    """Files of RocksDB's own cannot be used as they are."""
    before = aggregation("SUM(v), COUNT(DISTINCT i), COUNT(*)")
    after = aggregation("COUNT(*), SUM(v)")
    first = OperatorHarness(ColumnOperator(factory_of(before)), keeps_columns=True, backend=choice_of(backend))
    rows = [(str(number % 7), number, number % 3) for number in range(100)]
    keyed = _by_name(before)
    first.operator.process_columns(batch_of(inserts([keyed(row) for row in rows]), before.input.columns))
    handle = written(first, tmp_path, is_incremental)
    moves = moves_between(meaning_of_node(before), meaning_of_node(after))
    assert moves
    operation = ColumnOperator(factory_of(after))
    second = restored(operation, handle, tmp_path, backend, moves, keeps_columns=True)
    second.operator.process_columns(batch_of(inserts([_by_name(after)(("0", 1000, 1))]), after.input.columns))
    (batch,) = second.elements()
    own = [number for number in range(100) if number % 7 == 0]
    count, total = len(own), sum(own)
    assert changes_of(batch, after) == [("-U", ("0", count, total)), ("+U", ("0", count + 1, total + 1000))]
    second.close()


def _by_name(relation: Any) -> Any:
    """Rows of (k, v, i) as the columns that are aggregated."""
    names = [each.name.partition("$")[0] for each in relation.input.columns]
    return lambda row: tuple(dict(zip("kvi", row))[name] for name in names)
