"""The first rows of each window; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.errors import FunkeError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Column, Relation, SortKey
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.windows import window_rank
from funke.engine.sql.plan.ranks.window_rank import WindowDeduplicate, WindowRank
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from tests.harness import plan_nodes
from tests.harness.backends import choice_of
from tests.harness.local_jobs import changes_in
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_changelogs import folded
from tests.unit.sql.operators.test_window_aggregate import dealt

RECORDED = json.loads((Path(__file__).parent / "reference_window_ranks.json").read_text())
ANSWERED = [each for each in RECORDED["cases"] if "changes" in each]
IN_WINDOWS = [each for each in ANSWERED if "Window" in each["plan"][1]]
OTHERS = [each for each in ANSWERED if each not in IN_WINDOWS]
IN_BATCHES = [
    each
    for each in IN_WINDOWS
    # Whose clock is another.
    if "pt DESC" not in each["query"]
]
REJECTED = [each for each in RECORDED["cases"] if "refused" in each]


def environment(folder: Path, settings: EnvironmentSettings) -> TableEnvironment:
    (folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    tables = TableEnvironment.create(settings)
    tables.execute_sql(f"""
        CREATE TABLE t (
            k STRING, ts TIMESTAMP(3), v INT, pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}')
    """)
    return tables


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    return environment(tmp_path_factory.mktemp("ranks"), EnvironmentSettings.in_streaming_mode())


@pytest.fixture(scope="module")
def batch_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    return environment(tmp_path_factory.mktemp("ranks"), EnvironmentSettings.in_batch_mode())


def planned(t_env: TableEnvironment, query: str) -> Relation:
    return planned_rows(t_env._session, t_env.sql_query(query)._relation)


def changes(t_env: TableEnvironment, query: str) -> list[Any]:
    sent = changes_in(planned(t_env, query), is_batch=False)
    return [[sign, [str(each) for each in row]] for sign, row in sent]


def in_order_of_keys(actual: list[Any], query: str) -> list[Any]:
    """Of one window Flink sends keys in any order; rows of one key keep theirs."""
    key = 4 if "window_time" in query.partition(" FROM")[0] else 3
    return sorted(actual, key=lambda each: each[1][:key]) if "k ORDER" in query else actual


@pytest.mark.parametrize("case", IN_WINDOWS, ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    query = case["query"]
    sent = changes(t_env, query)
    assert {sign for sign, _ in sent} == {"+I"}
    assert in_order_of_keys(sent, query) == in_order_of_keys(case["changes"], query)


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case["query"])
def test_what_has_no_windows_changes_as_rows_come(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    """Windows by their starts alone, and those of the older functions."""
    sent = changes(t_env, case["query"])
    assert {sign for sign, _ in sent} - {"+I"}
    kept = [(sign, tuple(row)) for sign, row in sent]
    assert sorted(folded(kept)) == sorted(folded([(sign, tuple(row)) for sign, row in case["changes"]]))


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case["query"])
def test_what_flink_rejects(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    expected = case["refused"].split("Exception: ", 1)[1]
    if expected.startswith("Processing time"):
        # Windows of the clock tell their first rows as they change.
        assert "-U" in {sign for sign, _ in changes(t_env, case["query"])}
        return
    if expected.startswith("RANK()"):
        expected = "RANK() on streaming table is not supported"
    with pytest.raises(FunkeError, match=re.escape(expected[:60])):
        t_env.explain_sql(case["query"])


@pytest.mark.parametrize("case", IN_WINDOWS, ids=lambda case: case["query"])
def test_plans_say_what_flink_says(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    match, expected = (
        re.findall(r"Window(?:Rank|Deduplicate)\(.*?(?:orderBy|order)=\[[^\]]*\]", text)
        for text in (t_env.explain_sql(case["query"]).split("Execution Plan")[1], "\n".join(case["plan"]))
    )
    assert match == expected != []


def test_files_take_the_first_rows_of_windows(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.execute_sql(f"""
        CREATE TEMPORARY TABLE s (s TIMESTAMP(3), e TIMESTAMP(3), k STRING, c BIGINT)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    query = next(each["query"] for each in OTHERS if "TUMBLE_START" in each["query"])
    with pytest.raises(FunkeError, match=r"doesn't support consuming update and delete changes.* node Rank\(strategy="):
        t_env.explain_sql(f"INSERT INTO s SELECT window_start, window_end, k, c FROM ({query})")
    of_windows = next(each["query"] for each in IN_WINDOWS if " k, c, rn FROM" in each["query"])
    plan = t_env.explain_sql(f"INSERT INTO s SELECT window_start, window_end, k, c FROM ({of_windows})")
    assert "WindowRank(window=[HOP(" in plan


@pytest.mark.parametrize("case", IN_BATCHES, ids=lambda each: each["query"])
def test_a_batch_has_the_same_rows(t_env: TableEnvironment, batch_env: TableEnvironment, case: dict[str, Any]) -> None:
    """Of a stream that has no late rows."""
    results = []
    for each in (t_env, batch_env):
        each.get_config().set("funke.table.batch-plan", "slots")
        watermark = "WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE"
        each.execute_sql(f"CREATE TEMPORARY TABLE IF NOT EXISTS patient ({watermark}) LIKE t (OVERWRITING WATERMARKS)")
        query = case["query"].replace("TABLE t", "TABLE patient")
        results.append(folded(changes_in(planned(each, query), is_batch=each is batch_env)))
    assert results[0] == results[1] != []


# The operator

INPUTS = (
    Column("key", DataTypes.STRING()),
    Column("start", DataTypes.TIMESTAMP(3)),
    Column("end", DataTypes.TIMESTAMP(3)),
    Column("d", DataTypes.DOUBLE()),
    Column("n", DataTypes.BIGINT()),
)
NUMBER = Column("rn", DataTypes.BIGINT().not_null())
TIME = WindowTime(2, True)
ROWS_IN = plan_nodes.rows_of(INPUTS)
SPECS = {
    "numbers": WindowRank((*INPUTS, NUMBER), ROWS_IN, (0,), (1, 2), TIME, (SortKey(3, False, False),), 1, 2, True),
    "second and third": WindowRank(INPUTS, ROWS_IN, (0,), (1, 2), TIME, (SortKey(3),), 2, 3),
    "first of equal ones": WindowRank(INPUTS, ROWS_IN, (0,), (1, 2), TIME, (SortKey(3),), 1, 1),
    "last of equal ones": WindowDeduplicate(
        INPUTS, ROWS_IN, (0,), (1, 2), TIME, (SortKey(3, False, False),), 1, 1, is_deduplication=True
    ),
}
VALUES = [None, -1.5, 0.0, 2.5, float("nan")]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.sampled_from([0, 10]), st.sampled_from([20, 30]), st.sampled_from(VALUES)
    ),
    max_size=20,
)
# Batches, each with the watermark that follows it.
INPUT = st.lists(st.tuples(ROWS, st.integers(0, 35)), max_size=5)


class RowByRow:
    """The first rows of windows as their definition has them."""

    def __init__(self, spec: WindowRank) -> None:
        self._spec = spec
        self._open: dict[Any, list[Any]] = defaultdict(list)
        self._watermark = -1
        self.results: list[Any] = []
        self.late = 0

    def row(self, row: Any) -> None:
        if row[2] - 1 <= self._watermark:
            self.late += 1
        else:
            self._open[row[:3]].append(row)

    def watermark(self, watermark: int) -> None:
        self._watermark = watermark
        for window in [each for each in self._open if each[2] - 1 <= watermark]:
            rows = self._open.pop(window)
            rows = sorted(rows[::-1] if self._spec.keeps_last else rows, key=self._index)
            numbered = list(enumerate(rows, 1))[self._spec.first - 1 : self._spec.last]
            self.results += [(*row, number) if self._spec.has_number else row for number, row in numbered]

    def _index(self, row: Any) -> Any:
        # Rising: NULL, numbers, NaN; falling the other way round.
        value, direction = VALUES.index(row[3]), 1 if self._spec.order[0].is_ascending else -1
        return direction * value


def batch_of(rows: list[Any]) -> ColumnBatch:
    schema = schema_of(INPUTS)
    columns = list(zip(*rows)) if rows else [()] * len(INPUTS)
    return ColumnBatch(
        pa.RecordBatch.from_arrays([pa.array(each, field.type) for each, field in zip(columns, schema)], schema=schema)
    )


def rows_of(harness: OperatorHarness) -> list[Any]:
    results: list[Any] = []
    for element in harness.elements():
        if isinstance(element, ColumnBatch):
            assert element.kinds is None
            stamped = (pa.types.is_timestamp(each.type) for each in element.data.columns)
            columns = [each.cast(pa.int64()) if is_time else each for each, is_time in zip(element.data, stamped)]
            results += zip(*(each.to_pylist() for each in columns))
    return results


def harness_of(spec: WindowRank, **options: Any) -> OperatorHarness:
    return OperatorHarness(ColumnOperator(plan_nodes.factory_of(spec)), keeps_columns=True, **options)


def by_window(rows: list[Any]) -> list[str]:
    """Rows as text, since NaN is not itself; those of a key and window keep their order."""
    return [repr(each) for each in sorted(rows, key=lambda row: repr(row[:3]))]


@pytest.mark.parametrize("most", [2, 4096])
@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=12, deadline=None)
@given(batches=INPUT, cut=st.integers(1, 20), parallelism=st.sampled_from([1, 2]), restart=st.integers(0, 5))
def test_first_rows_are_those_of_a_row_by_row_model(
    name: str, most: int, batches: list[Any], cut: int, parallelism: int, restart: int
) -> None:
    """However the input is cut and dealt out, wherever it goes on elsewhere, and however early others are forgotten."""
    spec, model = SPECS[name], RowByRow(SPECS[name])
    subtasks = [harness_of(spec, parallelism=parallelism, subtask=each) for each in range(parallelism)]
    results: list[Any] = []
    watermark, number, late = -1, 0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_rank, "_FEW_ROWS", most)
        for index, (drawn, reached) in enumerate(batches):
            rows = [(*each, number + at) for at, each in enumerate(drawn)]
            number += len(rows)
            for row in rows:
                model.row(row)
            for start in range(0, len(rows), cut):
                for subtask, part in enumerate(dealt(rows[start : start + cut], parallelism)):
                    subtasks[subtask].operator.process_columns(batch_of(part))
            if index == restart:
                results += [row for each in subtasks for row in rows_of(each)]
                late += sum(each.operator.metrics()["numLateRecordsDropped"] for each in subtasks)
                snapshots = [each.snapshot() for each in subtasks]
                for each in subtasks:
                    each.close()
                parallelism, backend = 3 - parallelism, choice_of("rocksdb" if cut % 2 else "hashmap")
                subtasks = [
                    harness_of(spec, parallelism=parallelism, subtask=each, restored=snapshots, backend=backend)
                    for each in range(parallelism)
                ]
            watermark = max(watermark, reached)
            model.watermark(watermark)
            for each in subtasks:
                each.watermark(watermark)
        model.watermark(1 << 60)
        for each in subtasks:
            each.end_input()
            results += rows_of(each)
            late += each.operator.metrics()["numLateRecordsDropped"]
            each.close()
    assert by_window(results) == by_window(model.results)
    assert late == model.late


def test_rows_behind_the_last_number_are_forgotten() -> None:
    harness = harness_of(SPECS["first of equal ones"])
    for start in range(0, 20_000, 1000):
        rows = [("a", 0, 10, float(each), each) for each in range(start, start + 1000)]
        harness.operator.process_columns(batch_of(rows))
    assert len(harness.operator._rows) <= 4096  # type: ignore[attr-defined]
    harness.watermark(9)
    assert rows_of(harness) == [("a", 0, 10, 0.0, 0)]


def test_windows_close_at_their_last_millisecond_in_the_order_of_their_ends() -> None:
    harness = harness_of(SPECS["numbers"])
    rows = [("b", 10, 20, 1.0, 1), ("b", 0, 10, 1.0, 2), ("a", 0, 10, 5.0, 3), ("b", 0, 10, 2.0, 4)]
    harness.operator.process_columns(batch_of(rows))
    harness.watermark(8)
    assert rows_of(harness) == []
    harness.watermark(25)
    result_rows = rows_of(harness)
    assert [(row[0], row[2], row[4], row[5]) for row in result_rows] == [
        ("b", 10, 4, 1),
        ("b", 10, 2, 2),
        ("a", 10, 3, 1),
        ("b", 20, 1, 1),
    ]
    harness.operator.process_columns(batch_of(rows[:1]))
    assert harness.operator.metrics()["numLateRecordsDropped"] == 1
