"""Interval joins and window joins of whole queries; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from funke.engine.sql.binding.joins.regular_joins import Join, JoinKind
from funke.engine.sql.plan.explain_text import PREFIX
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.expressions import col, lit
from funke.table.window import Tumble
from tests.harness.local_jobs import changes_in
from tests.harness.sql_changelogs import folded

RECORDED = json.loads((Path(__file__).parent / "reference_time_joins.json").read_text())
ANSWERED = [each for each in RECORDED["cases"] if "changes" in each]
REJECTED = [each for each in RECORDED["cases"] if "refused" in each]
JOIN = re.compile(r"(?:IntervalJoin|WindowJoin|(?<!\w)Join)\(.*\)")


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, rows in (("a", "a"), ("b", "b"), ("strict", "b"), ("instants", "b")):
        folder = tmp_path_factory.mktemp(name)
        zone = "Z" if name == "instants" else ""
        lines = [json.dumps({**row, "ts": row["ts"] + zone}) for row in RECORDED["rows"][rows]]
        (folder / "rows.json").write_text("\n".join(lines))
        kind = {"strict": "TIMESTAMP(3) NOT NULL", "instants": "TIMESTAMP_LTZ(3)"}.get(name, "TIMESTAMP(3)")
        environment.execute_sql(f"""
            CREATE TABLE {name} (k STRING, {"v" if name == "a" else "w"} INT, ts {kind}, pt AS PROCTIME(),
                WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
            ) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}')
        """)
    return environment


def rows(changes: list[Any]) -> Counter[Any]:
    """The rows that are there in the end."""
    return Counter(map(tuple, folded([(sign, tuple(row)) for sign, row in changes])))


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    """Inputs come in any order: of a regular join, which takes rows back, the result is compared."""
    plan = planned_rows(t_env._session, t_env.sql_query(case["query"])._relation)
    changes = [[sign, [str(each) for each in row]] for sign, row in changes_in(plan, is_batch=False)]
    assert rows(changes) == rows(case["changes"])
    if "IntervalJoin(" in str(case["plan"]) or "WindowJoin(" in str(case["plan"]):
        assert sorted(changes) == case["changes"]


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case["query"])
def test_plans_say_what_flink_says(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    """Below a rank Flink keeps columns that nobody reads."""
    columns = "|, select=.*" if "ROW_NUMBER" in case["query"] else ""
    match, expected = (
        [re.sub(rf", changelogMode=\[[^]]*\]|(?<=:)INTERVAL \w+{columns}", "", each) for each in JOIN.findall(text)]
        for text in (
            t_env.explain_sql(case["query"]).split("== Optimized Physical Plan ==")[1].split("\n== ")[0],
            "\n".join(case["plan"]),
        )
    )
    assert match == expected != []


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case["query"])
def test_what_flink_rejects(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=re.escape(case["refused"])):
        t_env.explain_sql(case["query"])


@pytest.mark.parametrize(("kind", "test"), [("semi", " EXISTS (SELECT"), ("anti", " NOT EXISTS (SELECT")])
def test_windows_with_matches_and_without(t_env: TableEnvironment, kind: JoinKind, test: str) -> None:
    """As sub-queries become joins, here made of an inner one."""
    case = next(each for each in ANSWERED if test in each["query"])
    more = " AND v < w" if " AND v < w" in case["query"] else ""
    tumble = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    text = (
        f"SELECT * FROM (SELECT k, v, window_start, window_end FROM {tumble.format('a')}) AS L "
        f"JOIN (SELECT k, w, window_start, window_end FROM {tumble.format('b')}) AS R "
        f"ON L.k = R.k AND L.window_start = R.window_start AND L.window_end = R.window_end{more}"
    )
    relation: Any = t_env.sql_query(text)._relation
    while not isinstance(relation, Join):
        relation = relation.input
    plan = planned_rows(t_env._session, replace(relation, kind=kind, columns=relation.left.columns))
    assert plan.title(PREFIX).split(", where")[0] in "\n".join(case["plan"])  # type: ignore[attr-defined]
    changes = [[sign, [str(each) for each in row[:2]]] for sign, row in changes_in(plan, is_batch=False)]
    assert sorted(changes) == case["changes"]


def test_where_behind_a_join_of_the_table_api_bounds_it(t_env: TableEnvironment) -> None:
    """The result keeps its times, so that windows can follow."""
    left = t_env.from_path("a").select(col("k"), col("v"), col("ts"))
    right = t_env.from_path("b").select(col("k").alias("l"), col("w"), col("ts").alias("us"))
    is_near = (col("ts") >= col("us") - lit(4).seconds) & (col("ts") <= col("us") + lit(2).seconds)
    joined = left.join(right).where((col("k") == col("l")) & is_near)
    case = next(each for each in ANSWERED if "IntervalJoin" in str(each["plan"]) and "INNER" in each["query"])
    plan = planned_rows(t_env._session, joined.select(col("k"), col("v"), col("w"))._relation)
    changes = [[sign, [str(each) for each in row]] for sign, row in changes_in(plan, is_batch=False)]
    assert sorted(changes) == case["changes"]
    windows = joined.window(Tumble.over(lit(10).seconds).on(col("us")).alias("x")).group_by(col("x"))
    text = windows.select(col("x").start, col("w").sum).explain()
    assert "WindowAggregate(window=[TUMBLE(time_col=[us]" in text and "IntervalJoin(" in text


def test_a_third_bound_from_outside_is_rejected_if_times_go_on(t_env: TableEnvironment) -> None:
    """It makes the join a regular one, whose result has no times."""
    pairs = "SELECT a.ts, b.ts AS us FROM a, b WHERE a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '4' SECOND AND b.ts"
    text = f"SELECT ts, us FROM ({pairs}) WHERE ts > us - INTERVAL '2' SECOND"
    assert "IntervalJoin" not in t_env.explain_sql(text)
    with pytest.raises(Exception, match="The window function requires the timecol is a time attribute type"):
        t_env.explain_sql(f"SELECT * FROM TABLE(TUMBLE(({text}), DESCRIPTOR(ts), INTERVAL '5' SECOND))")
