"""LATERAL SNAPSHOT against a plain model: rows wait for the load phase, changes for a watermark; restarts and TTL."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.joins.snapshot_joins import LoadPhase
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.operators.windows.over import row_logs
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.joins.lateral_snapshot_join import LateralSnapshotJoin
from funke.engine.types.logical.data_types import DataTypes
from tests.harness.backends import choice_of
from tests.harness.join_state import JOIN_BACKENDS, join_backend
from tests.harness.operator_harness import OperatorHarness, Status, Watermark
from tests.harness.plan_nodes import rows_of
from tests.harness.sql_changelogs import batch_of, changes_of

LEFT = (Column("k", DataTypes.INT()), Column("n", DataTypes.INT()))
RIGHT = (Column("k2", DataTypes.INT()), Column("v", DataTypes.INT()))
COMPLETED_MS = 50


def node(kind="left", idle_timeout_ms=None, ttl_ms=0):
    load = LoadPhase(COMPLETED_MS, False, idle_timeout_ms)
    left, right = rows_of(LEFT), rows_of(RIGHT, ALL_KINDS)
    return LateralSnapshotJoin(
        (*LEFT, *RIGHT), left, right, (0,), (0,), kind, None, None, load, own_ttl_ms=ttl_ms, ttl_ms=ttl_ms
    )


def running(join=None, **more):
    return OperatorHarness(ColumnOperator((join or node()).create), keeps_columns=True, **more)


def received_rows(harness):
    results: list[Any] = []
    for each in harness.elements():
        results += [each] if isinstance(each, (Watermark, Status)) else [row for _, row in changes_of(each, node())]
    return results


def feed_left(harness, *rows):
    harness.operator.columns_handler(0)(batch_of([("+I", row) for row in rows], LEFT))


def feed_right(harness, *changes):
    harness.operator.columns_handler(1)(batch_of(list(changes), RIGHT))


def watermark(harness, side, time):
    harness.operator.process_input_watermark(side, time)


class Model:
    """The same, row by row."""

    def __init__(self, kind: str) -> None:
        self._keeps_all = kind == "left"
        self._is_loading = True
        self._table: list[tuple[Any, Any]] = []
        self._changes: list[tuple[str, tuple[Any, Any]]] = []
        self._waiting: list[tuple[Any, Any]] = []
        self._held: int | None = None
        self.sent: list[Any] = []

    def left(self, row: tuple[Any, Any]) -> None:
        if self._is_loading:
            self._waiting.append(row)
        else:
            self._join(row)

    def right(self, change: tuple[str, tuple[Any, Any]]) -> None:
        self._changes.append(change)

    def left_watermark(self, time: int) -> None:
        if self._is_loading:
            self._held = time
        else:
            self.sent.append(Watermark(time))

    def right_watermark(self, time: int) -> None:
        for sign, row in sorted(self._changes, key=lambda each: each[0] in ("+I", "+U")):
            if sign in ("+I", "+U"):
                self._table.append(row)
            elif row in self._table:
                self._table.remove(row)
        self._changes = []
        if self._is_loading and time >= COMPLETED_MS:
            self._is_loading = False
            for row in self._waiting:
                self._join(row)
            if self._held is not None:
                self.sent.append(Watermark(self._held))

    def _join(self, row: tuple[Any, Any]) -> None:
        results = [other for other in self._table if other[0] == row[0] and row[0] is not None]
        self.sent += [(*row, *other) for other in results] or ([(*row, None, None)] if self._keeps_all else [])


keys = st.one_of(st.none(), st.integers(0, 3))
left_rows = st.lists(st.tuples(keys, st.integers(0, 99)), min_size=1, max_size=4)
changes = st.lists(
    st.tuples(st.sampled_from(["+I", "-D", "-U", "+U"]), st.tuples(keys, st.integers(0, 2))), min_size=1, max_size=5
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("left"), left_rows),
        st.tuples(st.just("right"), changes),
        st.tuples(st.just("left watermark"), st.integers(1, 9)),
        st.tuples(st.just("right watermark"), st.integers(1, 25)),
        st.tuples(st.just("restart"), st.none()),
    ),
    max_size=15,
)


@settings(max_examples=60, deadline=None)
@given(steps, st.sampled_from(["inner", "left"]), st.booleans(), st.sampled_from(JOIN_BACKENDS))
def test_as_the_model(steps, kind, is_cut, backend):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_logs, "_MOST_ROWS", 2)
        _as_the_model(steps, kind, is_cut, join_backend(backend, patch))


def _as_the_model(steps, kind, is_cut, backend):
    model, harness = Model(kind), running(node(kind), backend=backend)
    sent: list[Any] = []
    times = [0, 0]
    for word, what in steps:
        if word == "restart":
            sent += received_rows(harness)
            state = harness.snapshot()
            harness.close()
            backend = choice_of("rocksdb" if backend.name == "hashmap" else "hashmap")
            harness = running(node(kind), restored=[state], backend=backend)
            # As in Flink watermarks are not kept: they come again.
            if times[0]:
                watermark(harness, 0, times[0])
                sent += [each for each in received_rows(harness) if not isinstance(each, Watermark)]
            continue
        if word in ("left", "right"):
            feed = feed_left if word == "left" else feed_right
            for part in [[each] for each in what] if is_cut else [what]:
                feed(harness, *part)
            for each in what:
                (model.left if word == "left" else model.right)(each)
            continue
        side = 0 if word == "left watermark" else 1
        times[side] += what
        watermark(harness, side, times[side])
        (model.left_watermark if side == 0 else model.right_watermark)(times[side])
    sent += received_rows(harness)
    harness.close()
    assert _ordered(sent) == _ordered(model.sent)


def _ordered(sent):
    """The rows of equal rows of the left side in any order: a restart puts those of a key behind each other."""
    parts, part = [], Counter()
    for each in sent:
        if isinstance(each, Watermark):
            parts += [part, each]
            part = Counter()
        else:
            part[each] += 1
    return [*parts, part]


def test_the_right_side_is_reported_by_itself_and_not_passed_on():
    harness = running()
    watermark(harness, 1, 10)
    harness.operator.process_input_status(1, True)
    harness.operator.process_input_status(0, True)
    assert received_rows(harness) == []
    watermark(harness, 0, 5)
    watermark(harness, 1, COMPLETED_MS)
    assert received_rows(harness) == [Watermark(5), Status(True)]
    watermark(harness, 1, 99)
    harness.operator.process_input_status(0, False)
    assert received_rows(harness) == [Status(False)]


def test_a_side_that_falls_silent_ends_the_load_phase():
    clock = ManualClock(0)
    harness = running(node(idle_timeout_ms=1000), clock=clock)
    feed_right(harness, ("+I", (1, 7)))
    feed_left(harness, (1, 1))
    clock.set(600)
    watermark(harness, 1, 10)
    assert harness.operator.next_wakeup_ms() == 1600
    clock.set(1600)
    feed_right(harness, ("+I", (1, 8)))
    harness.operator.on_processing_time(1600)
    # Changes that wait for a watermark count, too.
    assert received_rows(harness) == [(1, 1, 1, 7), (1, 1, 1, 8)]
    assert harness.operator.next_wakeup_ms() is None
    assert harness.operator.metrics()["currentPhase"] == 1


@pytest.mark.parametrize("backend", JOIN_BACKENDS)
def test_keys_that_nobody_asks_for_are_forgotten(backend, monkeypatch):
    clock = ManualClock(0)
    harness = running(node(ttl_ms=1000), clock=clock, backend=join_backend(backend, monkeypatch))
    feed_right(harness, ("+I", (1, 7)), ("+I", (2, 8)))
    clock.set(5_000)  # nothing is forgotten in the load phase
    watermark(harness, 1, COMPLETED_MS)
    clock.set(5_900)
    feed_left(harness, (1, 1))
    clock.set(6_500)
    harness.operator.end_epoch()
    feed_left(harness, (1, 2), (2, 2))
    assert received_rows(harness) == [(1, 1, 1, 7), (1, 2, 1, 7), (2, 2, None, None)]
    assert entries(harness) == 1
    assert harness.operator.metrics()["numStateTtlEvictions"] == 1
    harness.close()


def entries(harness):
    """How many rows of the right side there are, wherever they are."""
    harness.operator.prepare_snapshot(0)
    parts = [part for _, part in harness.operator.snapshot_keyed()]
    tables = [table for part in parts for name, table in part.tables.items() if name.name == "right-rows"]
    return sum(len(batch) for table in tables for batch in table.values())


def test_files_of_a_backend_come_back(monkeypatch):
    monkeypatch.setattr(row_logs, "_MOST_ROWS", 4)
    backend, clock = join_backend("rocksdb-without-memory", monkeypatch), ManualClock(0)
    first = running(node(ttl_ms=1000), clock=clock, backend=backend)
    feed_right(first, *(("+I", (key, key * 10)) for key in range(20)))
    watermark(first, 1, 10)
    feed_right(first, ("-D", (3, 30)))
    feed_left(first, *((key, 0) for key in range(10)))
    first.operator.prepare_snapshot(1)
    assert first.operator.native_files()
    state, folder = first.operator.snapshot(), first.operator._rows._backend._latest.folder
    clock.set(50_000)

    def restore(operator):
        operator.restore(state)
        operator.restore_native([folder], range(128))

    again = running(node(ttl_ms=1000), clock=clock, backend=backend, before_open=restore)
    watermark(again, 1, COMPLETED_MS)
    rows = [(key, 0, key, key * 10) for key in range(10) if key != 3]
    assert sorted(received_rows(again), key=_key) == sorted([*rows, (3, 0, None, None)], key=_key)
    clock.set(50_800)
    feed_left(again, (15, 1))
    clock.set(51_500)
    again.operator.end_epoch()
    assert entries(again) == 1 and again.operator.metrics()["numStateTtlEvictions"] == 18
    for each in (first, again):
        each.close()


@pytest.mark.parametrize("is_loaded", [False, True])
def test_keys_move_to_other_subtasks(is_loaded):
    harness = running()
    feed_right(harness, *(("+I", (key, key * 10)) for key in range(40)))
    feed_left(harness, *((key, 0) for key in range(40)))
    watermark(harness, 1, COMPLETED_MS if is_loaded else 10)
    feed_right(harness, ("-D", (3, 30)))
    before = received_rows(harness)
    state = harness.snapshot()
    results = []
    for subtask in range(2):
        part = running(restored=[state], parallelism=2, subtask=subtask)
        watermark(part, 1, COMPLETED_MS)
        results += received_rows(part)
        assert 5 < len(part.operator._side) < 35
    rows = [(key, 0, key, key * 10) for key in range(40)]
    if is_loaded:
        assert before == rows and results == []
    else:
        assert before == [] and sorted(results) == sorted([*rows[:3], *rows[4:], (3, 0, None, None)], key=_key)


def _key(row):
    return row[0]


def test_one_subtask_that_still_loads_has_all_load():
    loading, joining = running(parallelism=2, subtask=0), running(parallelism=2, subtask=1)
    watermark(joining, 1, COMPLETED_MS)
    states = [loading.snapshot(), joining.snapshot()]
    assert running(restored=states).operator.metrics()["currentPhase"] == 0
    assert running(restored=states[1:]).operator.metrics()["currentPhase"] == 1
