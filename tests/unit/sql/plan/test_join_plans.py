"""Joins are planned as in Flink: kinds, conditions, columns, input specs, exchanges and changes; recorded with 2.3."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from funke.table import EnvironmentSettings, ExplainDetail, TableEnvironment

RECORDED = json.loads((Path(__file__).parent / "reference_join_plans.json").read_text())
# Queries that Flink plans otherwise, and why.
KNOWN = {
    r"DISTINCT c.city FROM orders": "Flink groups one side before the join too",
    r"(LEFT|RIGHT|FULL) JOIN .* AND o.id = 5": "Flink writes the type of a constant, and joins by one",
}
PLANS = {query: plan for query, plan in RECORDED["plans"].items() if not any(re.search(each, query) for each in KNOWN)}


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for each in RECORDED["tables"]:
        environment.execute_sql(each)
    return environment


@pytest.mark.parametrize("query", PLANS)
def test_plans_are_those_of_flink(t_env: TableEnvironment, query: str) -> None:
    plan = t_env.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
    physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0].strip()
    assert list(join_lines(physical.splitlines())) == list(join_lines(PLANS[query]))


@pytest.mark.parametrize("query", RECORDED["multi_joins"])
def test_chains_are_planned_as_those_of_flink(t_env: TableEnvironment, query: str) -> None:
    option = "table.optimizer.multi-join.enabled"
    t_env.get_config().set(option, "true")
    try:
        plan = t_env.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
    finally:
        t_env.get_config().set(option, "false")
    physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0].strip()
    assert list(join_lines(physical.splitlines())) == list(join_lines(RECORDED["multi_joins"][query]))


def join_lines(plan: Iterable[str]) -> Iterable[str]:
    """Joins and exchanges; who explains a query looks at no rows before updates in Flink."""
    for line in plan:
        text = re.sub(r"^[ :+-]*", "", line)
        if text.startswith(("Join(", "MultiJoin(", "Exchange(")):
            # Columns that are computed for an aggregation have a number here.
            yield re.sub(r"\b(?!EXPR)(\w+)\$\d+", r"\1", text.replace("UB,", ""))
