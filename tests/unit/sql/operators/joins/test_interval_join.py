"""Interval joins do what Flink's rules say of one row after the other, and forget what cannot be matched any more."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction, TimeAttribute
from funke.engine.sql.binding.joins.regular_joins import JoinKind, columns_of_join
from funke.engine.sql.binding.joins.time_bounds import TimeBounds
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.plan.changelogs.changes import INSERTS
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS
from funke.engine.sql.plan.joins.interval_join import IntervalJoin
from funke.engine.sql.plan.node import DetachedInput
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.column_hash import groups_of_columns
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.backends import choice_of
from tests.harness.join_state import join_backend
from tests.harness.kernel_forms import use_form
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.sql_changelogs import batch_of, changes_of, inserts

TIME = from_sql_text("TIMESTAMP(3)")
SIDE = (Column("k", from_sql_text("INT")), Column("x", from_sql_text("INT")), Column("t", TIME, TimeAttribute.ROWTIME))
KINDS: list[JoinKind] = ["inner", "left", "right", "full"]
EPOCH = datetime.datetime(1970, 1, 1)
# A key, a value and a time in milliseconds.
Row = tuple[int | None, int, int]
NOTHING = (None, None, None)


def differs() -> BoundExpression:
    """left.x <> right.x"""
    arguments = BoundColumn(SIDE[1].type, 1, "x"), BoundColumn(SIDE[1].type, 4, "x")
    call = bind(FUNCTIONS["<>"], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)


def join_of(
    kind: JoinKind, lower_ms: int, upper_ms: int, has_condition: bool = False, is_event_time: bool = True
) -> IntervalJoin:
    left, right = (DetachedInput(SIDE, INSERTS, NO_KEYS) for _ in range(2))
    bounds = TimeBounds(is_event_time, lower_ms, upper_ms, 2, 2)
    condition = differs() if has_condition else None
    columns = columns_of_join(SIDE, SIDE, kind)
    return IntervalJoin(columns, left, right, (0,), (0,), kind, condition, bounds, condition)


class Running:
    """A join in one subtask."""

    def __init__(self, join: IntervalJoin, **harness: Any) -> None:
        self.join = join
        self.harness = OperatorHarness(ColumnOperator(join.detached().create), keeps_columns=True, **harness)

    def feed(self, side: int, rows: Sequence[Row]) -> list[Any]:
        timed = [(key, value, EPOCH + datetime.timedelta(milliseconds=time)) for key, value, time in rows]
        self.harness.operator.columns_handler(side)(batch_of(inserts(timed), SIDE))
        return self.sent()

    def watermark(self, watermark: int) -> list[Any]:
        self.harness.watermark(watermark)
        return self.sent()

    def sent(self) -> list[Any]:
        received = self.harness.elements()
        self.watermarks = [each.timestamp for each in received if isinstance(each, Watermark)]
        batches = [each for each in received if isinstance(each, ColumnBatch)]
        rows = [row for batch in batches for _, row in changes_of(batch, self.join)]
        return [(*row[:2], _millis(row[2]), *row[3:5], _millis(row[5])) for row in rows]

    def entries(self) -> list[int]:
        """How many rows each side has, wherever they are."""
        operator = self.harness.operator
        operator.prepare_snapshot(0)
        counts = {each.name: 0 for each in operator._inputs}
        for _, part in operator.snapshot_keyed():
            for table, batches in part.tables.items():
                counts[table.name] += sum(map(len, batches.values()))
        return list(counts.values())


def _millis(time: Any) -> int | None:
    return None if time is None else (time - EPOCH) // datetime.timedelta(milliseconds=1)


class Model:
    """Flink's rules, row by row; rows expire when the watermark passes them."""

    def __init__(self, join: IntervalJoin) -> None:
        self.join, self.has_condition = join, join.condition is not None
        self.outer = (join.keeps_left, join.keeps_right)
        self.reaches = (join.left_reach_ms, join.right_reach_ms)
        self.now = 0
        # Rows that are kept, with whether they have a match.
        self.sides: tuple[list[list[Any]], list[list[Any]]] = ([], [])

    def take(self, side: int, row: Row) -> list[Any]:
        matches = [each for each in self.sides[1 - side] if self.is_match(row, each[0], side)]
        for each in matches:
            each[1] = True
        sent = [self.pair(row, each[0], side) for each in matches]
        # Nothing meets a row without a key, which is only kept to be sent by itself.
        is_kept = row[0] is not None or self.outer[side]
        if is_kept and not self.join.bounds.is_empty and self.now < row[2] + self.reaches[side]:
            self.sides[side].append([row, bool(matches)])
        elif not matches and self.outer[side]:
            sent.append(self.pair(row, NOTHING, side))
        return sent

    def is_match(self, row: Row, other: Row, side: int) -> bool:
        left, right = (row, other) if side == 0 else (other, row)
        bounds = self.join.bounds
        is_near = bounds.lower_ms <= left[2] - right[2] <= bounds.upper_ms
        return (
            left[0] is not None and left[0] == right[0] and is_near and not (self.has_condition and left[1] == right[1])
        )

    @staticmethod
    def pair(row: Any, other: Any, side: int) -> Any:
        return (*row, *other) if side == 0 else (*other, *row)

    def watermark(self, watermark: int) -> list[Any]:
        self.now = max(watermark, 0)
        expired: list[tuple[int, Any]] = []
        for side, reach in enumerate(self.reaches):
            for each in [each for each in self.sides[side] if each[0][2] + reach + self.join.cleanup_ms < self.now]:
                self.sides[side].remove(each)
                if self.outer[side] and not each[1]:
                    expired.append((each[0][2] + reach, self.pair(each[0], NOTHING, side)))
        return [row for _, row in sorted(expired, key=lambda each: each[0])]


ROWS = st.tuples(st.none() | st.integers(0, 2), st.integers(0, 2), st.integers(0, 40))
# Rows of a side, or a watermark.
STEPS = st.lists(st.tuples(st.integers(0, 1), st.lists(ROWS, max_size=6)) | st.integers(0, 8), max_size=14)
BOUNDS = st.tuples(st.integers(-9, 9), st.integers(-9, 9))


@pytest.mark.parametrize(
    ("form", "backend"), [("compiled", "hashmap"), ("plain", "hashmap"), ("compiled", "rocksdb-without-memory")]
)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(
    bounds=BOUNDS, has_condition=st.booleans(), cleanup=st.sampled_from([0, 0, 5]), steps=STEPS, size=st.integers(1, 6)
)
def test_rows_are_those_of_flinks_rules(
    form: str,
    backend: str,
    kind: JoinKind,
    bounds: tuple[int, int],
    has_condition: bool,
    cleanup: int,
    steps: list[Any],
    size: int,
) -> None:
    """However rows are late, and however they are cut into batches."""
    join = replace(join_of(kind, *bounds, has_condition), cleanup_ms=cleanup)
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        running, model, watermark = Running(join, backend=join_backend(backend, patch)), Model(join), 0
        for step in [*steps, 1 << 40]:
            if isinstance(step, int):
                watermark += step
                assert ordered(running.watermark(watermark), join) == ordered(model.watermark(watermark), join)
                assert running.watermarks == [watermark - join.watermark_delay_ms]
                assert running.entries() == [len(each) for each in model.sides]
                continue
            side, rows = step
            sent = [
                each for start in range(0, len(rows), size) for each in running.feed(side, rows[start : start + size])
            ]
            assert sent == [each for row in rows for each in model.take(side, row)]
        assert running.entries() == [0, 0]
        running.harness.close()


def ordered(rows: Sequence[Any], join: IntervalJoin) -> list[Any]:
    """Rows that expire by the order of times; those of one time may come in any order."""

    def expiry(row: Any) -> int:
        return row[2] + join.left_reach_ms if row[2] is not None else row[5] + join.right_reach_ms

    times = [expiry(row) for row in rows]
    assert times == sorted(times)
    return sorted(rows, key=lambda row: (expiry(row), str(row)))


def outcome(kind: JoinKind, left: Sequence[Row], right: Sequence[Row], bounds: tuple[int, int]) -> Counter[Any]:
    """What a batch gives."""
    model = Model(join_of(kind, *bounds))
    pairs = [(one, other) for one in left for other in right if model.is_match(one, other, 0)]
    results = [(*one, *other) for one, other in pairs]
    if kind in ("left", "full"):
        results += [(*one, *NOTHING) for one in left if not any(model.is_match(one, each, 0) for each in right)]
    if kind in ("right", "full"):
        results += [(*NOTHING, *other) for other in right if not any(model.is_match(each, other, 0) for each in left)]
    return Counter(results)


def dealt(rows: Sequence[Row], parallelism: int) -> list[list[Row]]:
    """Rows by the subtask of their key."""
    parts: list[list[Row]] = [[] for _ in range(parallelism)]
    if rows:
        keys = pa.array([row[0] for row in rows], pa.int32())
        for row, group in zip(rows, groups_of_columns([keys], [Types.INT()], KeyGroups(128)).tolist()):
            parts[group * parallelism // 128].append(row)
    return parts


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(
    distances=BOUNDS.filter(lambda each: each[0] <= each[1]),
    batches=st.lists(st.tuples(st.integers(0, 1), st.lists(ROWS, max_size=5)), max_size=10),
    disorder=st.integers(0, 6),
    restart=st.integers(0, 10),
    parallelism=st.sampled_from([(1, 1), (1, 2), (2, 1)]),
    backends=st.sampled_from([("hashmap", "hashmap"), ("hashmap", "rocksdb"), ("rocksdb", "hashmap")]),
)
def test_without_late_rows_a_stream_gives_what_a_batch_gives(
    kind: JoinKind,
    distances: tuple[int, int],
    batches: list[Any],
    disorder: int,
    restart: int,
    parallelism: tuple[int, int],
    backends: tuple[str, str],
) -> None:
    """Disorder stays within the bound of watermarks; a restart in the middle may change the parallelism."""
    before, after = parallelism
    join = join_of(kind, *distances)
    first, second = map(choice_of, backends)
    subtasks = [Running(join, parallelism=before, subtask=each, backend=first) for each in range(before)]
    given_rows: tuple[list[Row], list[Row]] = ([], [])
    reached = [0, 0]
    sent: list[Any] = []
    for number, (side, rows) in enumerate(batches):
        if number == restart:
            snapshots = [each.harness.snapshot() for each in subtasks]
            for each in subtasks:
                each.harness.close()
            subtasks = [
                Running(join, parallelism=after, subtask=each, restored=snapshots, backend=second)
                for each in range(after)
            ]
        # A row behind the watermark comes at its time instead.
        timely = [(key, value, max(time, reached[side] - disorder + 1)) for key, value, time in rows]
        given_rows[side].extend(timely)
        for subtask, part in zip(subtasks, dealt(timely, len(subtasks))):
            sent += subtask.feed(side, part)
        reached[side] = max([reached[side], *(row[2] for row in timely)])
        watermark = min(reached) - disorder
        sent += [row for each in subtasks for row in each.watermark(watermark)]
    sent += [row for each in subtasks for row in each.watermark(MAX_WATERMARK)]
    assert Counter(sent) == outcome(kind, *given_rows, distances)
    for subtask in subtasks:
        assert subtask.entries() == [0, 0]
        subtask.harness.close()


def test_rows_are_forgotten_when_the_watermark_passes_what_they_can_match() -> None:
    """left - right from -4 to 10: a left row waits for 4 ms, a right row for 10."""
    running = Running(join_of("inner", -4, 10))
    running.feed(0, [(1, 0, 100), (1, 1, 105)])
    running.feed(1, [(1, 0, 100)])
    assert running.watermark(104) == [] and running.entries() == [2, 1]
    running.watermark(105)
    assert running.entries() == [1, 1] and running.watermarks == [95]
    running.watermark(110)
    assert running.entries() == [0, 1]
    running.watermark(111)
    assert running.entries() == [0, 0]


def test_keys_of_rows_that_are_gone_take_no_room() -> None:
    running = Running(join_of("left", -1, 0))
    for number in range(20):
        running.feed(0, [(number * 1000 + key, 0, number * 10) for key in range(1000)])
        running.feed(1, [(number * 1000 + key, 0, number * 10) for key in range(1000)])
        running.watermark(number * 10 + 5)
        running.harness.end_epoch()
    assert running.entries() == [0, 0]
    assert len(running.harness.operator._rows._numbers) <= 5000
    assert sum(each.gone for each in running.harness.operator._sides) <= 5000


def test_rows_without_a_time_are_counted_and_left_out() -> None:
    join = join_of("full", -1, 1)
    running = Running(join)
    running.harness.operator.columns_handler(0)(batch_of(inserts([(1, 1, None)]), SIDE))
    assert running.watermark(MAX_WATERMARK) == []
    assert running.harness.operator.metrics()["numNullRowTimeRecordsDropped"] == 1


def test_by_the_clock_rows_wait_as_long_as_it_runs() -> None:
    running = Running(join_of("full", -4, 10, is_event_time=False))
    running.harness.clock.set(100)
    running.feed(0, [(1, 1, 0)])
    assert running.harness.operator.next_wakeup_ms() == 105
    running.harness.set_processing_time(104)
    assert running.feed(1, [(1, 2, 0)]) == [(1, 1, 0, 1, 2, 0)]
    running.harness.set_processing_time(114)
    assert running.entries() == [0, 1]
    assert running.feed(0, [(1, 3, 0), (2, 4, 0)]) == [
        (1, 3, 0, 1, 2, 0),
    ]
    running.harness.set_processing_time(119)
    assert running.sent() == [(2, 4, 0, None, None, None)]
    # What the clock has not passed is not sent at the end, as in Flink.
    running.feed(1, [(3, 5, 0)])
    running.harness.end_input()
    assert running.sent() == []


@pytest.mark.parametrize("kind", ["inner", "full"])
def test_rows_outside_memory_are_forgotten_after_a_restart(kind: JoinKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the backend come back; rows that are not read again are forgotten, and sent, in their time."""
    backend = join_backend("rocksdb-without-memory", monkeypatch)
    join = join_of(kind, -4, 10)
    first = Running(join, backend=backend)
    first.feed(0, [(key, 0, 100 + key) for key in range(50)])
    first.feed(1, [(1, 5, 100), (None, 6, 120)])
    first.harness.operator.prepare_snapshot(1)
    files = first.harness.operator.native_files()
    state = first.harness.operator.snapshot()
    assert files and sum(map(len, first.harness.operator._sides)) < 50
    folder = first.harness.operator._rows._backend._latest.folder

    def restore(operator: Any) -> None:
        operator.restore(state)
        operator.restore_native([folder], range(128))

    again = Running(join, backend=backend, before_open=restore)
    assert sum(map(len, again.harness.operator._sides)) == 0
    assert again.feed(1, [(40, 7, 141)]) == [(40, 0, 140, 40, 7, 141)]
    sent = again.watermark(125)
    assert [row[0] for row in sent] == ([] if kind == "inner" else [key for key in range(21) if key != 1])
    assert again.entries() == [29, 1 if kind == "inner" else 2]
    sent = again.watermark(MAX_WATERMARK)
    assert sorted(str(row[0]) for row in sent) == (
        [] if kind == "inner" else sorted(["None", *(str(key) for key in range(21, 50) if key != 40)])
    )
    assert again.entries() == [0, 0]
    for each in (first, again):
        each.harness.close()
