"""Lookups by threads: results in order or as they come, a bound on requests, time that runs out, checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.errors import SourceError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.expressions import BoundColumn
from funke.engine.sql.binding.joins.lookup_joins import AsyncLookups, LookupSettings
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.lookup.caches import NoCache
from funke.engine.sql.connectors.lookup.lookup import KeyedTable, LookupTable
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.plan.joins.lookup_join import LookupJoin, LookupKey
from funke.engine.types.logical.data_types import DataTypes
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.plan_nodes import rows_of
from tests.harness.sql_changelogs import batch_of, changes_of

IDS = (Column("id", DataTypes.INT()),)
NAMES = (Column("key", DataTypes.INT()), Column("name", DataTypes.STRING()))


class Gates:
    """A key is found when its gate is open; counts those who ask."""

    def __init__(self) -> None:
        self.is_open: dict[int, threading.Event] = {}
        self.asked: list[int] = []
        self.most = self.now = 0
        self._lock = threading.Lock()

    def pass_through(self, keys: list[int]) -> None:
        with self._lock:
            self.asked += keys
            self.now += 1
            self.most = max(self.most, self.now)
        for key in keys:
            gate = self.is_open.get(key)
            if gate is not None and not gate.wait(10):
                raise TimeoutError(f"nobody has opened the gate of {key}")
        with self._lock:
            self.now -= 1

    def closed(self, *keys: int) -> None:
        self.is_open.update((key, threading.Event()) for key in keys)

    def open(self, *keys: int) -> None:
        for key in keys:
            self.is_open[key].set()


gates = Gates()


@pytest.fixture(autouse=True)
def new_gates():
    gates.__init__()
    yield
    gates.open(*gates.is_open)


class GatedRows(KeyedTable):
    def fetch(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        expected = keys.column(0).to_pylist()
        gates.pass_through(expected)
        if -1 in expected:
            raise SourceError("the server is away")
        return pa.RecordBatch.from_pylist([{"key": each, "name": f"n{each}"} for each in expected], schema_of(NAMES))

    def fetch_all(self) -> pa.RecordBatch:
        raise NotImplementedError

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class GatedTable(TableSource, LookupTable):
    summary = "gated"

    @property
    def columns(self) -> tuple[Column, ...]:
        return NAMES

    def create_source(self) -> Any:
        raise NotImplementedError

    def lookup_table(self) -> LookupTable:
        return self

    def create_lookup(self, keys: Sequence[int], clock: Any) -> NoCache:
        return NoCache(GatedRows(), keys)


def join(**settings):
    name = BoundColumn(NAMES[1].type, 1, "name")
    key = LookupKey(0, BoundColumn(IDS[0].type, 0, "id"))
    requests = LookupSettings(AsyncLookups(**settings))
    return LookupJoin(
        (*IDS, NAMES[1]), rows_of(IDS), GatedTable(), ("t",), (), (key,), (name,), None, None, False, requests
    )


def running(clock=None, restored=None, **settings):
    node = join(**settings)
    return OperatorHarness(
        ColumnOperator(node.create), keeps_columns=True, clock=clock, restored=restored, wake=lambda: None
    )


def feed(harness, *ids):
    harness.operator.process_columns(batch_of([("+I", (each,)) for each in ids], IDS))


def sent(harness):
    numbers = []
    for each in harness.elements():
        numbers += [each] if isinstance(each, Watermark) else [row[0] for _, row in changes_of(each, join())]
    return numbers


def wait_for(harness, count):
    """Lets the operator look at what is ready until so many rows have left."""
    numbers = sent(harness)
    while len(numbers) < count:
        harness.operator._requests.wait()
        harness.operator.on_processing_time(harness.clock.now_ms())
        numbers += sent(harness)
    return numbers


def test_results_leave_in_order():
    gates.closed(1)
    harness = running()
    feed(harness, 1)
    feed(harness, 2)
    harness.operator.process_watermark(5)
    feed(harness, 3)
    assert sent(harness) == []
    gates.open(1)
    assert wait_for(harness, 4) == [1, 2, Watermark(5), 3]
    harness.close()


def test_results_leave_as_they_come_between_watermarks():
    gates.closed(1)
    harness = running(is_ordered=False)
    feed(harness, 1)
    feed(harness, 2)
    harness.operator.process_watermark(5)
    feed(harness, 3)
    assert wait_for(harness, 1) == [2]
    gates.open(1)
    assert wait_for(harness, 3) == [1, Watermark(5), 3]
    harness.close()


def test_no_more_requests_than_the_capacity():
    harness = running(capacity=2)
    for each in range(20):
        feed(harness, each)
        assert harness.operator._requests._elements.open_requests <= 2
    harness.operator.end_input()
    assert sent(harness) == list(range(20))
    assert gates.most <= 2
    harness.close()


def test_the_end_waits_for_all():
    harness = running()
    feed(harness, *range(5000))
    assert harness.operator.has_unfinished or sent(harness)
    harness.operator.end_input()
    assert not harness.operator.has_unfinished
    harness.close()


def test_a_checkpoint_holds_what_is_under_way():
    gates.closed(2)
    harness = running()
    feed(harness, 1)
    wait_for(harness, 1)
    feed(harness, 2)
    feed(harness, 3)
    state = harness.snapshot()
    gates.open(2)
    harness.close()
    again = running(restored=[state])
    again.operator.end_input()
    assert sent(again) == [2, 3]
    again.close()


def test_a_lookup_that_takes_too_long_is_an_error():
    gates.closed(1)
    clock = ManualClock(0)
    harness = running(clock, timeout_ms=1000)
    feed(harness, 1)
    assert harness.operator.next_wakeup_ms() == 1000
    clock.set(1000)
    with pytest.raises(SourceError, match="Async function call has timed out: a lookup took longer than 1000 ms"):
        harness.operator.on_processing_time(1000)
    gates.open(1)
    harness.close()


def test_a_server_that_is_away_is_an_error():
    harness = running()
    with pytest.raises(SourceError, match="the server is away"):
        feed(harness, -1)
        harness.operator.end_input()
    harness.close()
