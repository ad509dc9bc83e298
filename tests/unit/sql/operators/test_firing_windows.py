"""Windows that tell results before and after their ends: the changes are those of a model that goes row by row."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.plan.aggregates.group_window_aggregate import Firing, GroupWindowAggregate
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.sql.window_kinds import HoppingWindows, TumblingWindows, Windows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind
from funke.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from tests.harness.backends import choice_of
from tests.harness.local_jobs import changes_in
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import rows_of
from tests.unit.sql.operators.test_window_aggregate import INPUTS, aggregation, batch_of, harness_of

SIGNS = {RowKind.INSERT: "+I", RowKind.UPDATE_BEFORE: "-U", RowKind.UPDATE_AFTER: "+U", RowKind.DELETE: "-D"}
TUMBLE, HOP = TumblingWindows(10), HoppingWindows(10, 5)
# Early and late with every row, some time after the first one, with the same delay and with different ones.
FIRINGS = [
    Firing(early_ms=0),
    Firing(early_ms=3),
    Firing(late_ms=0, lateness_ms=12),
    Firing(late_ms=4, lateness_ms=12),
    Firing(early_ms=0, late_ms=0, lateness_ms=12),
    Firing(early_ms=3, late_ms=4, lateness_ms=12),
    Firing(early_ms=4, late_ms=4, lateness_ms=12),
]


@dataclass
class Pane:
    """What a key has in a window."""

    values: list[Any] = field(default_factory=list)
    last_result: Any = None
    timers: dict[int, int] = field(default_factory=dict)
    has_ended: bool = False


class Model:
    """Flink's triggers: the timer of a delay stands under that delay, so that early and late may share it."""

    def __init__(self, windows: TumblingWindows | HoppingWindows, firing: Firing) -> None:
        self._windows, self._firing = windows, firing
        self._watermark, self._now = -1000, 0
        self._panes: dict[tuple[int, Any], Pane] = {}
        self.changes: list[Any] = []

    def row(self, key: Any, time: int, value: Any) -> None:
        windows = self._windows
        step = windows.slide_ms if isinstance(windows, HoppingWindows) else windows.size_ms
        end = time // step * step + windows.size_ms
        while end > time:
            if end - 1 + self._firing.lateness_ms > self._watermark:
                self._take_in(key, end, value)
            end -= step

    def _take_in(self, key: Any, end: int, value: Any) -> None:
        pane = self._panes.setdefault((end, key), Pane())
        pane.values.append(value)
        is_late = end - 1 <= self._watermark
        delay = self._firing.late_ms if is_late else self._firing.early_ms
        if delay == 0 or (is_late and not pane.has_ended):
            self._tell(end, key)
        elif delay is not None:
            pane.timers.setdefault(delay, self._now + delay)

    def watermark(self, reached: int) -> None:
        for end, key in sorted(self._panes, key=lambda each: each[0]):
            if self._watermark < end - 1 <= reached:
                self._tell(end, key)
                self._panes[end, key].has_ended = bool(self._firing.late_ms)
        self._watermark = reached
        for end, key in list(self._panes):
            if end - 1 + self._firing.lateness_ms <= reached:
                del self._panes[end, key]

    def clock(self, now: int) -> None:
        while self._now < now:
            self._now += 1
            for (end, key), pane in sorted(self._panes.items(), key=lambda each: each[0][0]):
                delay = self._firing.late_ms if pane.has_ended else self._firing.early_ms
                if delay and pane.timers.get(delay) == self._now:
                    pane.timers[delay] += delay
                    self._tell(end, key)

    def _tell(self, end: int, key: Any) -> None:
        pane = self._panes[end, key]
        numbers = [each for each in pane.values if each is not None]
        now = (key, len(pane.values), sum(numbers) if numbers else None, max(numbers, default=None))
        if pane.last_result != now:
            window = (end - self._windows.size_ms, end, end - 1)
            self.changes += [("+I", (*now, *window))] if pane.last_result is None else []
            self.changes += (
                [] if pane.last_result is None else [("-U", (*pane.last_result, *window)), ("+U", (*now, *window))]
            )
        pane.last_result = now


def changes_of(harness: OperatorHarness) -> list[Any]:
    results = []
    for each in harness.elements():
        if isinstance(each, ColumnBatch):
            lists = [
                (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
                for column in each.data.columns
            ]
            kinds = np.zeros(len(each), np.int8) if each.kinds is None else each.kinds
            results += [(SIGNS[RowKind(kind)], row) for kind, row in zip(kinds.tolist(), zip(*lists))]
    return results


def spec_of(windows: Windows, firing: Firing) -> GroupWindowAggregate:
    return GroupWindowAggregate(**vars(aggregation(windows)), firing=firing)


ROW = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 30), st.none() | st.integers(-3, 3))
STEPS = st.lists(st.tuples(st.lists(ROW, max_size=6), st.integers(-5, 40), st.integers(0, 5)), max_size=6)


@pytest.mark.parametrize("windows", [TUMBLE, HOP], ids=str)
@settings(max_examples=16, deadline=None)
@given(
    firing=st.sampled_from(FIRINGS),
    steps=STEPS,
    size=st.integers(1, 6),
    backend=st.sampled_from(["hashmap", "hashmap", "rocksdb"]),
    restart=st.booleans(),
)
def test_changes_are_those_of_a_row_by_row_model(
    windows: Windows, firing: Firing, steps: list[Any], size: int, backend: str, restart: bool
) -> None:
    model, harness = Model(windows, firing), harness_of(spec_of(windows, firing), backend=choice_of(backend))
    watermark = now = 0
    for rows, ahead, later in steps:
        for start in range(0, len(rows), size):
            harness.operator.process_columns(batch_of(rows[start : start + size]))
        for row in rows:
            model.row(*row)
        # Rows have an order; windows and timers of the same time have none.
        assert changes_of(harness) == model.changes
        watermark = max(watermark, ahead)
        harness.watermark(watermark)
        model.changes.clear()
        model.watermark(watermark)
        assert sorted(changes_of(harness), key=str) == sorted(model.changes, key=str)
        if restart:
            snapshot = harness.snapshot()
            harness.close()
            options: Any = {"restored": [snapshot], "backend": choice_of("hashmap"), "clock": harness.clock}
            harness = harness_of(spec_of(windows, firing), **options)
        model.changes.clear()
        for _ in range(later):
            now += 1
            harness.set_processing_time(now)
        model.clock(now)
        assert sorted(changes_of(harness), key=str) == sorted(model.changes, key=str)
        model.changes.clear()
    harness.end_input()
    model.watermark(1 << 60)
    assert sorted(changes_of(harness), key=str) == sorted(model.changes, key=str)
    assert harness.operator.next_wakeup_ms() is None
    harness.close()


def test_windows_of_the_clock_tell_early_and_once_at_their_ends() -> None:
    spec = GroupWindowAggregate(**vars(aggregation(TUMBLE, False)), firing=Firing(early_ms=4))
    harness = harness_of(spec)
    harness.set_processing_time(101)
    harness.operator.process_columns(batch_of([("a", 0, 1), ("a", 0, 2)]))
    harness.set_processing_time(104)
    assert changes_of(harness) == []
    harness.set_processing_time(105)
    assert changes_of(harness) == [("+I", ("a", 2, 3, 2, 100, 110, 109))]
    harness.operator.process_columns(batch_of([("a", 0, 5)]))
    harness.set_processing_time(110)
    window = (100, 110, 109)
    assert changes_of(harness) == [("-U", ("a", 2, 3, 2, *window)), ("+U", ("a", 3, 8, 5, *window))]
    assert harness.operator.next_wakeup_ms() is None


def test_a_row_that_is_taken_back() -> None:
    """The last row of a window goes: so does what was told."""
    spec = replace(spec_of(TUMBLE, Firing(early_ms=0)), input=rows_of(INPUTS, ALL_KINDS))
    harness = harness_of(spec)
    rows = batch_of([("a", 1, 1), ("a", 2, 2), ("a", 1, 1), ("a", 2, 2), ("a", 3, 4)])
    kinds = np.array([0, 0, RowKind.DELETE.value, RowKind.DELETE.value, 0], np.int8)
    harness.operator.process_columns(ColumnBatch(rows.data, None, kinds))
    window = (0, 10, 9)
    assert changes_of(harness) == [
        ("+I", ("a", 1, 1, 1, *window)),
        ("-U", ("a", 1, 1, 1, *window)),
        ("+U", ("a", 2, 3, 2, *window)),
        ("-U", ("a", 2, 3, 2, *window)),
        ("+U", ("a", 1, 2, 2, *window)),
        ("-D", ("a", 1, 2, 2, *window)),
        ("+I", ("a", 1, 4, 4, *window)),
    ]


EARLY, LATE = ("table.exec.emit.early-fire.enabled", "true"), ("table.exec.emit.late-fire.enabled", "true")


@pytest.mark.parametrize(
    ("window", "options", "message"),
    [
        ("SESSION", [EARLY], "Session window doesn't support EMIT strategy currently."),
        ("TUMBLE", [EARLY], "Early-fire delay should not be null or negative value when"),
        ("TUMBLE", [LATE], "The 'AFTER WATERMARK' emit strategy requires set 'allow-lateness'"),
        ("TUMBLE", [LATE, ("table.exec.emit.allow-lateness", "1 s")], "Late-fire delay should not be null"),
        (
            "TUMBLE",
            [LATE, ("table.exec.state.ttl", "1 s"), ("table.exec.emit.late-fire.delay", "2 s")],
            r"Allow-lateness \[1000ms\] should not be smaller than Late-fire delay \[2000ms\]",
        ),
    ],
)
def test_what_makes_no_sense_is_rejected(window: str, options: list[tuple[str, str]], message: str) -> None:
    t_env = environment(options)
    with pytest.raises(TableException, match=message):
        t_env.explain_sql(f"SELECT COUNT(*) FROM t GROUP BY {window}(ts, INTERVAL '1' SECOND)")


def test_plans_tell_that_windows_tell_more() -> None:
    options = [EARLY, ("table.exec.emit.early-fire.delay", "5 s"), LATE, ("table.exec.emit.late-fire.delay", "0 ms")]
    t_env = environment([*options, ("table.exec.emit.allow-lateness", "1 min")])
    details = ExplainDetail.CHANGELOG_MODE
    plan = t_env.explain_sql("SELECT COUNT(*) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' SECOND)", details)
    assert "emit=[early delay 5000 millisecond, late no delay], changelogMode=[I,UB,UA])" in plan
    windows = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))"
    with pytest.raises(TableException, match="table function based aggregate doesn't support early-fire"):
        t_env.explain_sql(f"SELECT COUNT(*) FROM {windows} GROUP BY window_start, window_end")


def environment(options: list[tuple[str, str]]) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')")
    for key, value in options:
        t_env.get_config().set(key, value)
    return t_env


RECORDED = json.loads((Path(__file__).parent / "reference_firing.json").read_text())


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: f"{case['name']} {case['query'][:40]}")
def test_changes_are_those_of_flink(case: dict[str, Any], tmp_path: Path) -> None:
    """Recorded with PyFlink 2.3 and parallelism 1; keys of windows that end together come in any order."""
    lines = ({"k": key, "ts": time, "v": value} for key, time, value in RECORDED["rows"])
    (tmp_path / "t.json").write_text("\n".join(map(json.dumps, lines)))
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"""
        CREATE TABLE t (k STRING, ts TIMESTAMP(3), v INT, WATERMARK FOR ts AS ts)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    for key, value in case["options"].items():
        t_env.get_config().set(key, value)
    relation = planned_rows(t_env._session, t_env.sql_query(case["query"])._relation)
    changes = [[sign, [str(each) for each in row]] for sign, row in changes_in(relation, is_batch=False)]
    if case["options"].get("table.exec.emit.early-fire.delay") == "0 ms":
        assert changes == case["changes"]
    else:
        assert by_key(changes) == by_key(case["changes"])


def by_key(changes: list[Any]) -> list[Any]:
    return sorted(changes, key=lambda each: each[1][:2] if len(each[1]) > 2 else [])
