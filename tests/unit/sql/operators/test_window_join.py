"""Window joins give for each window what a join of its rows gives, once, when it ends."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction
from funke.engine.sql.binding.joins.regular_joins import JoinKind, columns_of_join
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.operators.joins import pair_condition
from funke.engine.sql.operators.windows.over import row_logs
from funke.engine.sql.plan.changelogs.changes import INSERTS
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS
from funke.engine.sql.plan.joins.window_join import WindowJoin
from funke.engine.sql.plan.node import DetachedInput
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.column_hash import groups_of_columns
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_changelogs import batch_of, changes_of, inserts

TIME = from_sql_text("TIMESTAMP(3) NOT NULL")
SIDE = (Column("k", from_sql_text("INT")), Column("x", from_sql_text("INT")), Column("s", TIME), Column("e", TIME))
KINDS: list[JoinKind] = ["inner", "left", "right", "full", "semi", "anti"]
EPOCH = datetime.datetime(1970, 1, 1)
NOTHING = (None, None, None, None)
# A key, a value, and the start and end of a window.
Row = tuple[int | None, int, int, int]


def less() -> BoundExpression:
    """left.x < right.x"""
    arguments = BoundColumn(SIDE[1].type, 1, "x"), BoundColumn(SIDE[1].type, 5, "x")
    call = bind(FUNCTIONS["<"], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)


def join_of(kind: JoinKind, has_condition: bool = False) -> WindowJoin:
    left, right = (DetachedInput(SIDE, INSERTS, NO_KEYS) for _ in range(2))
    return WindowJoin(
        columns=columns_of_join(SIDE, SIDE, kind),
        left=left,
        right=right,
        left_keys=(0,),
        right_keys=(0,),
        kind=kind,
        condition=less() if has_condition else None,
        left_window=(2, 3),
        right_window=(2, 3),
        time=WindowTime(0, True),
    )


class Running:
    """A join in one subtask."""

    def __init__(self, join: WindowJoin, **harness: Any) -> None:
        self.join = join
        self.harness = OperatorHarness(ColumnOperator(join.detached().create), keeps_columns=True, **harness)

    def feed(self, side: int, rows: Sequence[Row]) -> list[Any]:
        timed = [(*row[:2], *(EPOCH + datetime.timedelta(milliseconds=each) for each in row[2:])) for row in rows]
        self.harness.operator.columns_handler(side)(batch_of(inserts(timed), SIDE))
        return self.sent()

    def watermark(self, watermark: int) -> list[Any]:
        self.harness.watermark(watermark)
        return self.sent()

    def sent(self) -> list[Any]:
        batches = [each for each in self.harness.elements() if isinstance(each, ColumnBatch)]
        return [tuple(map(_plain, row)) for batch in batches for _, row in changes_of(batch, self.join)]

    def entries(self) -> list[int]:
        return [len(each) for each in self.harness.operator._rows]


def _plain(value: Any) -> Any:
    is_time = isinstance(value, datetime.datetime)
    return (value - EPOCH) // datetime.timedelta(milliseconds=1) if is_time else value


def joined(kind: JoinKind, left: Sequence[Row], right: Sequence[Row], has_condition: bool) -> list[Any]:
    """What a batch gives."""

    def is_match(one: Row, other: Row) -> bool:
        is_same = one[0] is not None and one[0] == other[0] and one[2:] == other[2:]
        return is_same and (not has_condition or one[1] < other[1])

    if kind in ("semi", "anti"):
        return [one for one in left if any(is_match(one, each) for each in right) == (kind == "semi")]
    results: list[Any] = [(*one, *other) for one in left for other in right if is_match(one, other)]
    if kind in ("left", "full"):
        results += [(*one, *NOTHING) for one in left if not any(is_match(one, each) for each in right)]
    if kind in ("right", "full"):
        results += [(*NOTHING, *other) for other in right if not any(is_match(each, other) for each in left)]
    return results


def dealt(rows: Sequence[Row], parallelism: int) -> list[list[Row]]:
    """Rows by the subtask of their key."""
    parts: list[list[Row]] = [[] for _ in range(parallelism)]
    if rows:
        keys = pa.array([row[0] for row in rows], pa.int32())
        for row, group in zip(rows, groups_of_columns([keys], [Types.INT()], KeyGroups(128)).tolist()):
            parts[group * parallelism // 128].append(row)
    return parts


# Windows of 10 ms, and such that end together with them but begin earlier, as sessions may.
WINDOWS = st.tuples(st.integers(0, 5), st.sampled_from([10, 10, 15])).map(
    lambda each: (each[0] * 10 + 10 - each[1], each[0] * 10 + 10)
)
ROWS = st.tuples(st.none() | st.integers(0, 2), st.integers(0, 3), WINDOWS).map(lambda each: (*each[:2], *each[2]))
STEPS = st.lists(st.tuples(st.integers(0, 1), st.lists(ROWS, max_size=6)) | st.integers(1, 15), max_size=12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(
    has_condition=st.booleans(),
    steps=STEPS,
    size=st.integers(1, 6),
    restart=st.integers(0, 12),
    parallelism=st.sampled_from([(1, 1), (1, 2), (2, 1)]),
    most=st.sampled_from([1, 3, 1 << 17]),
    backends=st.sampled_from([("hashmap", "hashmap"), ("hashmap", "rocksdb"), ("rocksdb", "hashmap")]),
    most_rows=st.sampled_from([1, 4, 1 << 16]),
)
def test_each_window_is_joined_when_it_ends(
    kind: JoinKind,
    has_condition: bool,
    steps: list[Any],
    size: int,
    restart: int,
    parallelism: tuple[int, int],
    most: int,
    backends: tuple[str, str],
    most_rows: int,
) -> None:
    """Late rows are left out; however rows are cut, and wherever the job starts again with another parallelism."""
    join, (before, after) = join_of(kind, has_condition), parallelism
    first, second = map(choice_of, backends)
    subtasks = [Running(join, parallelism=before, subtask=each, backend=first) for each in range(before)]
    waiting: tuple[list[Row], list[Row]] = ([], [])
    watermark, late = -1, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_condition, "MOST_PAIRS", most)
        patch.setattr(row_logs, "_MOST_ROWS", most_rows)
        for number, step in enumerate([*steps, 1 << 40]):
            if number == restart:
                snapshots = [each.harness.snapshot() for each in subtasks]
                for each in subtasks:
                    each.harness.close()
                subtasks = [
                    Running(join, parallelism=after, subtask=each, restored=snapshots, backend=second)
                    for each in range(after)
                ]
                late = 0
            if isinstance(step, int):
                watermark += step
                due = [[row for row in rows if row[3] - 1 <= watermark] for rows in waiting]
                for rows, gone in zip(waiting, due):
                    rows[:] = [row for row in rows if row not in gone]
                sent = [row for each in subtasks for row in each.watermark(watermark)]
                assert Counter(sent) == Counter(joined(kind, *due, has_condition))
                assert [sum(each) for each in zip(*(each.entries() for each in subtasks))] == list(map(len, waiting))
                continue
            side, rows = step
            timely = [row for row in rows if row[3] - 1 > watermark]
            late += len(rows) - len(timely)
            waiting[side].extend(timely)
            for subtask, part in zip(subtasks, dealt(rows, len(subtasks))):
                for start in range(0, len(part), size):
                    assert subtask.feed(side, part[start : start + size]) == []
        assert sum(each.harness.operator.metrics()["numLateRecordsDropped"] for each in subtasks) == late
    for each in subtasks:
        each.harness.close()


def test_rows_of_a_window_are_gone_when_it_has_ended() -> None:
    running = Running(join_of("full"))
    running.feed(0, [(1, 1, 0, 10), (1, 2, 10, 20)])
    running.feed(1, [(1, 3, 0, 10)])
    assert running.watermark(8) == [] and running.entries() == [2, 1]
    assert running.watermark(9) == [(1, 1, 0, 10, 1, 3, 0, 10)]
    assert running.entries() == [1, 0]
    running.feed(1, [(1, 4, 0, 10)])
    assert running.entries() == [1, 0]
    metrics = running.harness.operator.metrics()
    assert (metrics["leftNumLateRecordsDropped"], metrics["rightNumLateRecordsDropped"]) == (0, 1)
    assert running.watermark(MAX_WATERMARK) == [(1, 2, 10, 20, None, None, None, None)]
    assert running.entries() == [0, 0]


def test_pairs_come_in_the_order_of_windows_and_of_left_rows() -> None:
    running = Running(join_of("left"))
    running.feed(0, [(1, 1, 10, 20), (2, 2, 0, 10), (1, 3, 0, 10)])
    running.feed(1, [(1, 5, 0, 10), (1, 6, 10, 20), (1, 7, 0, 10)])
    assert [(row[1], row[5]) for row in running.watermark(30)] == [(2, None), (3, 5), (3, 7), (1, 6)]


def test_rows_outside_memory_come_back_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_logs, "_MOST_ROWS", 16)
    first = Running(join_of("full"), backend=choice_of("rocksdb"))
    first.feed(0, [(key, 1, 0, 10 + 10 * (key % 2)) for key in range(20)])
    first.feed(1, [(1, 2, 0, 20)])
    operator = first.harness.operator
    operator.prepare_snapshot(1)
    assert operator.native_files()
    state, folder = operator.snapshot(), operator.state._backend._latest.folder

    def restore(restored: Any) -> None:
        restored.restore(state)
        restored.restore_native([folder], range(128))

    again = Running(join_of("full"), backend=choice_of("rocksdb"), before_open=restore)
    again.feed(1, [(1, 3, 0, 20), (3, 4, 0, 20)])
    assert sorted(row[0] for row in again.watermark(9)) == [*range(0, 20, 2)]
    sent = again.watermark(19)
    assert [row[5] for row in sent if row[0] == 1] == [2, 3], "the row of before comes first"
    assert len(sent) == 11 and again.entries() == [0, 0]
    assert again.watermark(MAX_WATERMARK) == []
    for each in (first, again):
        each.harness.close()
