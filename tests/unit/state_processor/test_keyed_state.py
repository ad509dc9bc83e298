"""Keyed state is written by bootstrap functions, and read key by key and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.common import Time, Types
from funke.datastream import RuntimeContext
from funke.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from funke.engine.errors import StateError
from funke.engine.graph.operations import Process
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint
from funke.engine.state_processor.key_reading import KeyReading
from funke.engine.state_processor.state_parts import keyed_pieces, own_pieces
from funke.engine.state_processor.state_source import StateEnumerator, StateNames, StateSource
from funke.engine.state_processor.state_table import StateTable, TypedStateTable
from funke.engine.types.functions import AggregateFunction
from funke.state_api import KeyedStateBootstrapFunction, KeyedStateReaderFunction
from tests.unit.state_processor.savepoint_making import OPERATOR_ID, UID, read_all, savepoint_of, write_state

ORDERS = [("ann", 3), ("bob", 5), ("ann", 4), ("carl", 1)]


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def descriptors() -> dict[str, Any]:
    return {
        "last": ValueStateDescriptor("last", Types.INT()),
        "all": ListStateDescriptor("all", Types.INT()),
        "seen": MapStateDescriptor("seen", Types.INT(), Types.BOOLEAN()),
        "sum": ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT()),
        "mean": AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.INT(), Types.INT()])),
    }


class ReadCommands(KeyedStateBootstrapFunction[str, tuple[str, int]]):
    """Writes one state of each kind and both kinds of timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        described = descriptors()
        self.last = runtime_context.get_state(described["last"])
        self.all = runtime_context.get_list_state(described["all"])
        self.seen = runtime_context.get_map_state(described["seen"])
        self.sum = runtime_context.get_reducing_state(described["sum"])
        self.mean = runtime_context.get_aggregating_state(described["mean"])

    def process_element(self, value: tuple[str, int], ctx: KeyedStateBootstrapFunction.Context) -> None:
        assert ctx.get_current_key() == value[0]
        self.last.update(value[1])
        self.all.add(value[1])
        self.seen.put(value[1], True)
        self.sum.add(value[1])
        self.mean.add(value[1])
        ctx.timer_service().register_event_time_timer(1000 * value[1])
        ctx.timer_service().register_processing_time_timer(7)


class Everything(KeyedStateReaderFunction[str, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        described = descriptors()
        self.last = runtime_context.get_state(described["last"])
        self.all = runtime_context.get_list_state(described["all"])
        self.seen = runtime_context.get_map_state(described["seen"])
        self.sum = runtime_context.get_reducing_state(described["sum"])
        self.mean = runtime_context.get_aggregating_state(described["mean"])

    def read_key(self, key: str, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        timers = ctx.registered_event_time_timers(), ctx.registered_processing_time_timers()
        yield (
            key,
            self.last.value(),
            list(self.all.get()),
            dict(self.seen.items()),
            self.sum.get(),
            self.mean.get(),
            timers,
        )


class OneState(KeyedStateReaderFunction[str, Any]):
    def __init__(self, descriptor: Any) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(self.descriptor)

    def read_key(self, key: str, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        yield key, self.state.value()


class TimersOnly(KeyedStateReaderFunction[str, Any]):
    def read_key(self, key: str, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        yield key, sorted(ctx.registered_event_time_timers())


def by_name(command: tuple[str, int]) -> str:
    return command[0]


@pytest.fixture(params=[1, 3])
def savepoint(request: pytest.FixtureRequest, tmp_path: Path) -> Savepoint:
    """A savepoint of one subtask, and of three."""
    handles = write_state(tmp_path, Process(ReadCommands(), by_name), ORDERS, key=by_name, parallelism=request.param)
    return savepoint_of(tmp_path, handles)


def test_a_reader_function_sees_every_key_with_all_its_states(savepoint: Savepoint) -> None:
    elements, names = read_all(keyed_pieces(savepoint, OPERATOR_ID), KeyReading(Everything()))
    assert sorted(elements) == [
        ("ann", 4, [3, 4], {3: True, 4: True}, 7, 3.5, ({3000, 4000}, {7})),
        ("bob", 5, [5], {5: True}, 5, 5.0, ({5000}, {7})),
        ("carl", 1, [1], {1: True}, 1, 1.0, ({1000}, {7})),
    ]
    assert names.wanted == names.found == {"last", "all", "seen", "sum", "mean"}


def test_a_reader_function_without_states_sees_keys_with_timers(savepoint: Savepoint) -> None:
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), KeyReading(TimersOnly()))
    assert sorted(elements) == [("ann", [3000, 4000]), ("bob", [5000]), ("carl", [1000])]


def test_a_state_described_as_another_kind_is_rejected(savepoint: Savepoint) -> None:
    reading = KeyReading(OneState(ValueStateDescriptor("seen", Types.INT())))
    with pytest.raises(StateError, match=r"'seen' is already a map state"):
        read_all(keyed_pieces(savepoint, OPERATOR_ID), reading)


def test_a_split_is_read_in_batches_and_ends_with_the_names(savepoint: Savepoint) -> None:
    pieces = keyed_pieces(savepoint, OPERATOR_ID)
    source = StateSource(pieces, KeyReading(TimersOnly()), lambda names: None, None)
    reader, results = source.create_reader(), []
    for split in source.create_enumerator(2).poll(10):
        batches = reader.read(split)
        while True:
            try:
                values, timestamps = next(batches)
            except StopIteration as end:
                assert "last" in end.value.found
                break
            assert timestamps is None
            results += values
    assert sorted(key for key, _ in results) == ["ann", "bob", "carl"]


def test_the_enumerator_complains_when_a_state_is_in_no_piece(savepoint: Savepoint) -> None:
    pieces = keyed_pieces(savepoint, OPERATOR_ID)
    elements, names = read_all(pieces, KeyReading(OneState(ValueStateDescriptor("lost", Types.INT()))))
    assert elements == []
    complaints: list[StateNames] = []
    enumerator = StateEnumerator(pieces, 2, complaints.append, None)
    splits = enumerator.poll(1000)
    assert [split.payload for split in splits] == pieces
    assert enumerator.is_finished
    from funke.engine.connectors.source import ReadOutcome

    for split in splits:
        assert not complaints
        enumerator.report(ReadOutcome(split, 0, names))
    assert [(each.wanted, "last" in each.found) for each in complaints] == [({"lost"}, True)]


def test_the_table_has_a_row_for_every_key_and_state(savepoint: Savepoint) -> None:
    table = StateTable({OPERATOR_ID: ("Operator", UID)})
    pieces = [*keyed_pieces(savepoint, OPERATOR_ID), *own_pieces(savepoint, OPERATOR_ID)]
    rows = [dict(zip([name for name, _ in table.columns], row)) for piece in pieces for row in table.rows(piece)]
    assert {(row["operator"], row["uid"], row["namespace"], row["ttl_time"]) for row in rows} == {
        ("Operator", UID, None, None)
    }
    of_ann = {(row["kind"], row["state"], row["value"]) for row in rows if row["key"] == "ann"}
    assert of_ann == {
        ("value", "last", "4"),
        ("list", "all", "[3, 4]"),
        ("map", "seen", '{"3": true, "4": true}'),
        ("reducing", "sum", "7"),
        ("aggregating", "mean", "[7, 2]"),
        ("event-timer", None, "3000"),
        ("event-timer", None, "4000"),
        ("processing-timer", None, "7"),
    }
    assert len({row["key_group"] for row in rows if row["key"] == "ann"}) == 1


def test_a_typed_table_keeps_types(savepoint: Savepoint) -> None:
    table = TypedStateTable.of(descriptors()["seen"], Types.STRING())
    rows = [row for piece in keyed_pieces(savepoint, OPERATOR_ID) for row in table.rows(piece)]
    assert sorted((key, value) for key, _, value, _, _ in rows) == [
        ("ann", {3: True, 4: True}),
        ("bob", {5: True}),
        ("carl", {1: True}),
    ]
    wrong = TypedStateTable.of(ValueStateDescriptor("seen", Types.INT()), None)
    with pytest.raises(StateError, match="'seen' is a map state, not a value state"):
        list(wrong.rows(keyed_pieces(savepoint, OPERATOR_ID)[0]))


class WithTtl(KeyedStateBootstrapFunction[str, tuple[str, int]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
        value = ValueStateDescriptor("value", Types.INT())
        listed = ListStateDescriptor("list", Types.INT())
        mapped = MapStateDescriptor("map", Types.INT(), Types.INT())
        for descriptor in (value, listed, mapped):
            descriptor.enable_time_to_live(ttl)
        self.value = runtime_context.get_state(value)
        self.list = runtime_context.get_list_state(listed)
        self.map = runtime_context.get_map_state(mapped)

    def process_element(self, value: tuple[str, int], ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.value.update(value[1])
        self.list.add(value[1])
        self.map.put(value[1], value[1])


def test_the_time_of_expiring_state_stands_beside_the_value(tmp_path: Path) -> None:
    import time

    before = int(time.time() * 1000)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, Process(WithTtl(), by_name), ORDERS, key=by_name))
    table = StateTable({OPERATOR_ID: ("Operator", UID)})
    rows = [row for piece in keyed_pieces(savepoint, OPERATOR_ID) for row in table.rows(piece)]
    of_ann = {row[2]: (row[7], before <= row[8] <= time.time() * 1000) for row in rows if row[6] == "ann"}
    assert of_ann == {"value": ("4", True), "list": ("[3, 4]", True), "map": ('{"3": 3, "4": 4}', True)}
    elements, _ = read_all(
        keyed_pieces(savepoint, OPERATOR_ID), KeyReading(OneState(ValueStateDescriptor("value", Types.INT())))
    )
    assert sorted(elements) == [("ann", 4), ("bob", 5), ("carl", 1)]


def test_keys_that_are_equal_but_of_different_types_stay_apart(tmp_path: Path) -> None:
    def itself(value: Any) -> Any:
        return value[0]

    values = [(1, 10), (1.0, 20), (True, 30), ((1, "x"), 40)]
    operation = Process(WithTtl(), itself)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, values, key=itself))
    reading = KeyReading(OneState(ValueStateDescriptor("value", Types.INT())))
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), reading)
    assert sorted((repr(key), value) for key, value in elements) == [
        ("(1, 'x')", 40),
        ("1", 10),
        ("1.0", 20),
        ("True", 30),
    ]
