"""Aggregates of windows: on columns the same as row by row, however the input is cut and dealt out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.functions.table_functions import DelegatingPandasAggregateFunction
from funke.engine.operators.time.watermark_patience import WATERMARK_MISSING
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import BoundAggregate, Column
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.catalog import find_aggregate
from funke.engine.sql.functions.function import Argument
from funke.engine.sql.functions.users.user_aggregates import as_aggregate
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.windows.slices.window_aggregate import WindowAggregateOperator
from funke.engine.sql.plan.aggregates.window_aggregate import WindowAggregate
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.node import PlanNode
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.sql.window_kinds import CumulativeWindows, HoppingWindows, SessionWindows, TumblingWindows, Windows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.column_hash import groups_of_columns
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.row import RowKind
from funke.table import AggregateFunction, FunctionContext
from funke.table.types import DataTypes
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of, rows_of
from tests.unit.sql.operators.window_model import WindowModel

STAMP = DataTypes.TIMESTAMP(3)
INPUTS = (
    Column("key", DataTypes.STRING()),
    Column("ts", STAMP, TimeAttribute.ROWTIME),
    Column("v", DataTypes.BIGINT()),
)
RESULTS = (
    Column("key", DataTypes.STRING()),
    Column("n", DataTypes.BIGINT().not_null()),
    Column("total", DataTypes.BIGINT()),
    Column("most", DataTypes.BIGINT()),
    Column("window_start", STAMP.not_null()),
    Column("window_end", STAMP.not_null()),
    Column("window_time", STAMP.not_null(), TimeAttribute.ROWTIME),
)


def use(name: str, *indexes: int) -> BoundAggregate:
    function = find_aggregate(name)
    assert function is not None
    return BoundAggregate(bind_aggregate(function, [Argument(INPUTS[each].type) for each in indexes]), indexes)


def aggregation(windows: Windows, is_event_time: bool = True) -> WindowAggregate:
    uses = (use("count"), use("sum", 2), use("max", 2))
    return WindowAggregate(RESULTS, rows_of(INPUTS), (0,), uses, windows, WindowTime(1, is_event_time))


def batch_of(rows: list[tuple[Any, int, Any]]) -> ColumnBatch:
    keys, times, values = zip(*rows) if rows else ((), (), ())
    arrays = [pa.array(keys, pa.string()), pa.array(times, pa.timestamp("ms")), pa.array(values, pa.int64())]
    return ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema_of(INPUTS)))


def results_of(harness: OperatorHarness) -> list[tuple[Any, ...]]:
    results = []
    for element in harness.recorder.elements:
        if isinstance(element, ColumnBatch):
            lists = [
                (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
                for column in element.data.columns
            ]
            results += zip(*lists)
    return results


def harness_of(spec: PlanNode, **options: Any) -> OperatorHarness:
    return OperatorHarness(ColumnOperator(factory_of(spec)), keeps_columns=True, **options)


WINDOWS = [
    TumblingWindows(10),
    TumblingWindows(10, offset_ms=3),
    HoppingWindows(10, 5),
    HoppingWindows(12, 5, offset_ms=1),
    HoppingWindows(3, 7),
    CumulativeWindows(12, 4),
    CumulativeWindows(12, 3, offset_ms=2),
    SessionWindows(4),
]
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(-40, 60), st.one_of(st.none(), st.integers(-9, 9))),
    max_size=25,
)
# Batches, each with the watermark that follows it.
INPUT = st.lists(st.tuples(ROWS, st.integers(-50, 70)), max_size=6)


IN_MEMORY = ("hashmap", "hashmap")


@pytest.mark.parametrize(
    ("windows", "is_partial", "backends"),
    [
        *((each, False, IN_MEMORY) for each in WINDOWS),
        (WINDOWS[2], True, IN_MEMORY),
        (WINDOWS[4], True, IN_MEMORY),
        # The second one goes on with the state of the first.
        (WINDOWS[2], True, ("rocksdb", "rocksdb")),
        (WINDOWS[3], False, ("rocksdb-without-cache", "hashmap")),
        (WINDOWS[5], False, ("hashmap", "rocksdb-without-cache")),
        (WINDOWS[7], False, ("rocksdb-without-cache", "rocksdb")),
        (WINDOWS[7], False, ("rocksdb", "hashmap")),
        (WINDOWS[7], False, ("hashmap", "rocksdb")),
    ],
    ids=str,
)
@settings(max_examples=12, deadline=None)
@given(batches=INPUT, cut=st.integers(1, 30), parallelism=st.sampled_from([1, 2]), restart=st.booleans())
def test_windows_are_those_of_a_row_by_row_model(
    windows: Windows,
    is_partial: bool,
    backends: tuple[str, str],
    batches: list[Any],
    cut: int,
    parallelism: int,
    restart: bool,
) -> None:
    first, second = map(choice_of, backends)
    model, relation = WindowModel(windows), aggregation(windows)
    spec = relation.phases()[-1] if is_partial else relation
    first_step = harness_of(relation.phases()[0]) if is_partial else None
    results: list[tuple[Any, ...]] = []
    subtasks = [harness_of(spec, parallelism=parallelism, subtask=each, backend=first) for each in range(parallelism)]
    watermark = -100
    for index, (rows, reached) in enumerate(batches):
        for row in rows:
            model.row(*row)
        for start in range(0, len(rows), cut):
            for subtask, part in enumerate(dealt(rows[start : start + cut], parallelism)):
                for each in entries_of(first_step, part):
                    subtasks[subtask].operator.process_columns(each)
        watermark = max(watermark, reached)
        model.watermark(watermark)
        for each in subtasks:
            each.watermark(watermark)
        if restart and index == 1:
            results += [row for each in subtasks for row in results_of(each)]
            snapshots = [each.snapshot() for each in subtasks]
            for each in subtasks:
                each.close()
            parallelism = 3 - parallelism
            subtasks = [
                harness_of(spec, parallelism=parallelism, subtask=each, restored=snapshots, backend=second)
                for each in range(parallelism)
            ]
    model.watermark(1 << 60)
    for each in subtasks:
        each.end_input()
        results += results_of(each)
    expected = [
        (key, len(values), sum_of(values), max((v for v in values if v is not None), default=None), start, end, end - 1)
        for key, start, end, values in model.results
    ]
    assert sorted(results, key=str) == sorted(expected, key=str)
    if not restart:
        assert sum(each.operator.metrics()["numLateRecordsDropped"] for each in subtasks) == model.late
    for each in subtasks:
        each.close()


@pytest.mark.parametrize("windows", [WINDOWS[2], WINDOWS[7]], ids=str)
def test_files_of_a_backend_are_found_by_the_ends_beside_them(windows: Windows) -> None:
    spec, backend = aggregation(windows), choice_of("rocksdb")
    rows = [("a", 1, 1), ("b", 2, 5), ("a", 7, 2), (None, 30, 3)]
    first = harness_of(spec, backend=backend)
    first.operator.process_columns(batch_of(rows))
    first.operator.prepare_snapshot(1)
    assert first.operator.native_files()
    second = harness_of(spec, backend=backend)
    operator, state = second.operator, first.operator
    assert isinstance(operator, WindowAggregateOperator) and isinstance(state, WindowAggregateOperator)
    operator.restore_native([state._state._backend._latest.folder], range(128))  # type: ignore[union-attr]
    operator.restore(state.snapshot())
    expected = harness_of(spec)
    expected.operator.process_columns(batch_of(rows))
    for each in (second, expected):
        each.end_input()
    assert sorted(results_of(second), key=str) == sorted(results_of(expected), key=str) != []
    for each in (first, second):
        each.close()


def entries_of(first_step: OperatorHarness | None, rows: list[Any]) -> list[ColumnBatch]:
    """Rows as they are, or what the first of two steps makes of them."""
    if first_step is None:
        return [batch_of(rows)]
    first_step.operator.process_columns(batch_of(rows))
    return first_step.elements()


def sum_of(values: list[Any]) -> Any:
    present = [each for each in values if each is not None]
    return sum(present) if present else None


def dealt(rows: list[Any], parallelism: int) -> list[list[Any]]:
    """Rows by the subtask of their key."""
    if not rows:
        return [[] for _ in range(parallelism)]
    groups = groups_of_columns([pa.array([row[0] for row in rows], pa.string())], [Types.STRING()], KeyGroups(128))
    parts: list[list[Any]] = [[] for _ in range(parallelism)]
    for row, group in zip(rows, groups.tolist()):
        parts[group * parallelism // 128].append(row)
    return parts


@pytest.mark.parametrize(
    ("windows", "wakeup", "results"),
    [
        (TumblingWindows(10), 110, [("a", 2, 3, 2, 100, 110, 109), ("b", 1, 5, 5, 100, 110, 109)]),
        (
            HoppingWindows(10, 5),
            105,
            [
                ("a", 1, 1, 1, 95, 105, 104),
                ("b", 1, 5, 5, 95, 105, 104),
                ("a", 2, 3, 2, 100, 110, 109),
                ("b", 1, 5, 5, 100, 110, 109),
                ("a", 1, 2, 2, 105, 115, 114),
            ],
        ),
        (SessionWindows(4), 108, [("b", 1, 5, 5, 104, 108, 107), ("a", 2, 3, 2, 104, 111, 110)]),
    ],
    ids=str,
)
def test_windows_of_the_clock(windows: Windows, wakeup: int, results: list[tuple[Any, ...]]) -> None:
    harness = harness_of(aggregation(windows, is_event_time=False))
    harness.set_processing_time(104)
    harness.operator.process_columns(batch_of([("a", 0, 1), ("b", 0, 5)]))
    assert harness.operator.next_wakeup_ms() == wakeup
    for now in (105, 107, 108, 110, 111, 130):
        harness.set_processing_time(now)
        if now == 107:
            harness.operator.process_columns(batch_of([("a", 0, 2)]))
        harness.watermark(1 << 50)
    assert results_of(harness) == results
    assert harness.operator.next_wakeup_ms() is None
    assert harness.operator.metrics()["numLateRecordsDropped"] == 0


@pytest.mark.parametrize("windows", [TumblingWindows(10), SessionWindows(10)])
def test_rows_can_be_taken_back(windows: Windows) -> None:
    spec = replace(aggregation(windows), input=rows_of(INPUTS, ALL_KINDS))
    harness = harness_of(spec)
    rows = [("a", 1, 7), ("b", 2, 3), ("a", 1, 7), ("a", 1, 4), ("b", 2, 3)]
    kinds = [RowKind.INSERT, RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]
    batch = batch_of(rows)
    harness.operator.process_columns(ColumnBatch(batch.data, None, np.array([kind.value for kind in kinds], np.int8)))
    harness.watermark(100)
    assert [row[:4] for row in results_of(harness)] == [("a", 1, 4, 4)]


def test_a_row_without_time_is_dropped_and_counted() -> None:
    harness = harness_of(aggregation(TumblingWindows(10)))
    harness.operator.process_columns(batch_of([("a", None, 1), ("a", 3, 2)]))  # type: ignore[list-item]
    harness.watermark(100)
    assert [row[:3] for row in results_of(harness)] == [("a", 1, 2)]
    assert harness.operator.metrics()["numNullRowTimeRecordsDropped"] == 1


def test_windows_of_instants_begin_at_local_midnight() -> None:
    day = 86_400_000
    zone = ZoneInfo("Asia/Shanghai")
    spec = replace(aggregation(TumblingWindows(day)), time=WindowTime(1, True, zone))
    harness = harness_of(spec)
    harness.operator.process_columns(batch_of([("a", day - 1, 1), ("a", day * 2 // 3 - 1, 2)]))
    harness.watermark(day * 2 // 3 - 2)
    assert results_of(harness) == []
    harness.watermark(day * 2 // 3 - 1)
    assert results_of(harness) == [("a", 1, 2, 2, 0, day, day * 2 // 3 - 1)]
    harness.watermark(2 * day)
    assert results_of(harness)[1:] == [("a", 1, 1, 1, day, 2 * day, day * 5 // 3 - 1)]


class Joined(AggregateFunction[Any, Any]):
    """Has no merge, and must be opened."""

    word = ""

    def open(self, function_context: FunctionContext) -> None:
        self.word = "+"

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(str(args[0]))

    def get_value(self, accumulator: Any) -> Any:
        return self.word.join(accumulator)


@pytest.mark.parametrize(
    ("function", "is_pandas", "result_type", "expected"),
    [
        (Joined(), False, DataTypes.STRING(), ["1+2", "1+2+4", "4"]),
        (
            DelegatingPandasAggregateFunction(lambda values: values.mean()),
            True,
            DataTypes.DOUBLE(),
            [1.5, 7 / 3, 4.0],
        ),
    ],
    ids=["no merge", "pandas"],
)
def test_functions_of_users_that_cannot_be_put_together(
    function: Any, is_pandas: bool, result_type: Any, expected: list[Any]
) -> None:
    user = UserFunction("mine", "aggregate", function, None, (result_type,), is_pandas=is_pandas)
    bound = bind_aggregate(as_aggregate(user), [Argument(INPUTS[2].type)])
    columns = (RESULTS[0], Column("u", result_type), *RESULTS[-3:])
    uses = (BoundAggregate(bound, (2,)),)
    windows = WindowAggregate(columns, rows_of(INPUTS), (0,), uses, HoppingWindows(10, 5), WindowTime(1, True))
    assert windows.phases() == (windows,)
    harness = harness_of(windows)
    for row in [("a", 1, 1), ("a", 3, 2), ("a", 7, 4)]:
        harness.operator.process_columns(batch_of([row]))
    harness.end_input()
    assert [row[1] for row in results_of(harness)] == expected
    harness.close()


def test_windows_without_a_watermark_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    """As those of streams: after ten seconds in the log, and by a metric that `funke status` reads."""
    harness = harness_of(aggregation(TumblingWindows(5)))
    for second in range(0, 30, 5):
        harness.set_processing_time(second * 1000)
        harness.operator.process_columns(batch_of([("a", 1, 1)]))
        assert (WATERMARK_MISSING in harness.operator.metrics()) is (second >= 10)
    (record,) = caplog.records
    assert "the windows of operator 'operator' cannot fire: 3 records have come in the last 10 s" in record.message
    assert "'table.exec.source.idle-timeout'" in record.message
    harness.watermark(3)
    assert WATERMARK_MISSING not in harness.operator.metrics()
