"""OVER windows in batch mode give the rows of PyFlink 2.3, by slots and by the steps of Spark's tasks.

`differential/sql/record_over.py` has recorded them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.spark_plans import spark_frames
from funke.engine.sql.spark_plans.carried_columns import from_carried
from funke.engine.sql.spark_plans.task_code import PlanSettings
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import udaf
from tests.differential.sql.recorded_form import plain
from tests.harness.local_frames import LocalSpark
from tests.harness.local_jobs import changes_in, rows_of

RECORDED = json.loads((Path(__file__).parent / "reference_over.json").read_text())
_BY_KEY = "OVER (PARTITION BY k ORDER BY id)"
_GARBAGE = "its type says NOT NULL, so that the NULL of a row is read as -1 or as no text"
# Queries that Flink answers otherwise, and why.
KNOWN = {
    f"SELECT id, LAG(v, 1, -1) {_BY_KEY}, LEAD(v, 1, -1) {_BY_KEY} FROM t": _GARBAGE,
    "SELECT id, LAG(s, 1, 'none') OVER (ORDER BY id DESC), LEAD(s, 2, 'none') OVER (ORDER BY id DESC) FROM t": _GARBAGE,
    f"SELECT id, LAG(v, 1, id) {_BY_KEY}, LEAD(b, 1, 0) {_BY_KEY} FROM t": _GARBAGE,
    f"SELECT id, STDDEV_POP(v) {_BY_KEY}, VAR_SAMP(v) {_BY_KEY} FROM t": "it divides integers on the way",
    "SELECT id, COUNT(*) OVER (ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) FROM t": (
        "a NULL in front of them keeps all other rows out of its frames"
    ),
}
CASES = [each for each in RECORDED["cases"] if "rows" in each and each["query"] not in KNOWN]
# What cannot be done there can be done here: distinct values, filters, distances of times, aggregates in named windows.
REJECTED = [
    each
    for each in RECORDED["cases"]
    if "refused" in each
    and not any(word in each["query"] for word in ("DISTINCT", "FILTER", "ts ", "(ORDER BY MAX(id)"))
]


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    folder = tmp_path_factory.mktemp("over")
    (folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    schema = ", ".join(f"`{name}` {each}" for name, each in RECORDED["columns"].items())
    environment.execute_sql(
        f"CREATE TABLE t ({schema}) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}')"
    )
    return environment


def planned(t_env: TableEnvironment, query: str, mode: str) -> Any:
    t_env.get_config().set("funke.table.batch-plan", mode)
    return planned_rows(t_env._session, t_env.sql_query(query)._relation)


def by_slots(relation: Any) -> list[Any]:
    return [row for _, row in changes_in(relation)]


def by_spark(plan: Any) -> list[Any]:
    spark: Any = LocalSpark()
    frame: Any = spark_frames.frame_of(spark, plan.input, PlanSettings())
    return [row for each in frame.table.to_batches() for row in rows_of(from_carried(each, plan.columns), plan)]


def in_recorded_form(rows: list[Any]) -> list[Any]:
    return without_last_digits(sorted(([plain(each) for each in row] for row in rows), key=repr))


def without_last_digits(value: Any) -> Any:
    """Fractions up to the digits in which ways to compute a variance differ."""
    if isinstance(value, list):
        return [without_last_digits(each) for each in value]
    return f"{float(value['float']):.13g}" if isinstance(value, dict) and "float" in value else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"])
def test_rows_are_those_of_flink(
    t_env: TableEnvironment, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Frames without Spark have no form for what it computes by itself.
    monkeypatch.setattr(spark_frames, "has_twin", lambda aggregate: False)
    monkeypatch.setattr(spark_frames, "expression_twin", lambda *arguments: None)
    relation = planned(t_env, case["query"], "slots")
    assert [to_sql_text(each.type) for each in relation.columns] == case["types"]
    assert in_recorded_form(by_slots(relation)) == without_last_digits(case["rows"])
    # The first rows are a window of Spark's own.
    if "r <= 2" not in case["query"]:
        assert in_recorded_form(by_spark(planned(t_env, case["query"], "spark"))) == without_last_digits(case["rows"])


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case["query"])
def test_what_flink_rejects_is_rejected(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    with pytest.raises(FunkeError) as rejection:
        planned(t_env, case["query"], "slots")
    # A job that fails later says why too late.
    if "NTILE(0)" not in case["query"]:
        assert case["refused"].rpartition("Exception: ")[2] in str(rejection.value)


OWN = {
    # NULLs are rows like others; what stands for rows that are not there does not stand for them.
    "LAG(v, 1, -1) OVER (PARTITION BY k ORDER BY id)": [-1, -1, 5, -1, None, 5, -1, 3, 1, 3, 7, None],
    "LEAD(s, 2, 'none') OVER (ORDER BY id)": [None, "z", "x", "y", "w", "q", "", "x", "v", "u", "none", "none"],
    "COUNT(*) OVER (ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING)": [
        7,
        0,
        5,
        7,
        2,
        2,
        9,
        5,
        2,
        0,
        9,
        11,
    ],
    "COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '4' SECOND PRECEDING AND INTERVAL '1' SECOND FOLLOWING)": [
        2,
        2,
        4,
        4,
        3,
        3,
        1,
        3,
        3,
        3,
        3,
        1,
    ],
    "COUNT(DISTINCT v) OVER (PARTITION BY k ORDER BY id)": [1, 0, 2, 1, 1, 2, 1, 2, 2, 2, 1, 3],
    "SUM(v) FILTER (WHERE id > 3) OVER (PARTITION BY k)": [12, 1, 12, 6, 1, 6, 14, 12, 1, 12, 14, 12],
    "COUNT(*) OVER (ORDER BY b RANGE BETWEEN 7 PRECEDING AND CURRENT ROW)": [6, 1, 1, 2, 5, 1, 3, 4, 7, 2, 1, 6],
}


@pytest.mark.parametrize("call", OWN)
def test_rows_where_flink_has_none_or_wrong_ones(t_env: TableEnvironment, call: str) -> None:
    result = by_slots(planned(t_env, f"SELECT id, {call} FROM t", "slots"))
    assert [value for _, value in sorted(result)] == OWN[call]


@pytest.mark.parametrize("query", ["SELECT id, RANK() OVER (PARTITION BY k ORDER BY v DESC), SUM(v) OVER () FROM t"])
def test_plans_name_each_window(t_env: TableEnvironment, query: str) -> None:
    plan = t_env.explain_sql(query)
    assert (
        "OverAggregate(partitionBy=[k], orderBy=[v DESC], window#0=[RANK(*) AS w0$o0 RANGE BETWEEN UNBOUNDED PRECEDING "
        "AND CURRENT ROW], select=[id, k, v, w0$o0])"
    ) in plan
    assert "window#0=[SUM(v) AS w0$o0 RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING]" in plan


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (
            "SUM(v) OVER (ORDER BY v RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW)",
            "of the kind of its order",
        ),
        ("SUM(v) OVER (ORDER BY ts RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)", "constant lengths of time"),
        ("SUM(v) OVER (ORDER BY v ROWS BETWEEN id PRECEDING AND CURRENT ROW)", "a constant number of rows"),
        (
            "SUM(v) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)",
            "Upper frame boundary cannot be PRECEDING",
        ),
        ("NTILE(id) OVER (ORDER BY v)", "a constant number of parts"),
    ],
)
def test_what_is_rejected_otherwise(t_env: TableEnvironment, call: str, reason: str) -> None:
    with pytest.raises(FunkeError, match=reason):
        planned(t_env, f"SELECT {call} FROM t", "slots")


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean(values: Any) -> Any:
    return values.mean()


def test_functions_of_pandas_see_the_rows_of_a_frame(t_env: TableEnvironment) -> None:
    t_env.create_temporary_function("mean", mean)
    query = "SELECT id, mean(id) OVER (ORDER BY id ROWS 1 PRECEDING), mean(id) OVER () FROM t"
    results = sorted(by_slots(planned(t_env, query, "slots")))
    assert results == [(each, max(each - 0.5, 1), 6.5) for each in range(1, 13)]
    assert sorted(by_spark(planned(t_env, query, "spark"))) == results


def test_streams_have_one_window() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_view("t", t_env.from_elements([(1, 2)], ["id", "v"]))
    with pytest.raises(FunkeError, match="All aggregates must be computed on the same window"):
        t_env.sql_query("SELECT SUM(v) OVER (ORDER BY v), SUM(v) OVER (ORDER BY id) FROM t")


def test_named_windows_may_be_by_aggregates(t_env: TableEnvironment) -> None:
    query = "SELECT k, SUM(SUM(v)) OVER {} AS a, COUNT(*) OVER {} AS b FROM t GROUP BY k"
    named = planned(t_env, f"{query.format('w', 'w')} WINDOW w AS (ORDER BY MAX(id))", "slots")
    inline = planned(t_env, query.format(*["(ORDER BY MAX(id))"] * 2), "slots")
    assert sorted(by_slots(named), key=repr) == sorted(by_slots(inline), key=repr) != []
