"""Joins of the Table API: columns, plans and rejections are those of PyFlink 2.3, where they were recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.expressions import col, lit

RECORDED = json.loads((Path(__file__).parent / "reference_joins.json").read_text())
# Joins that the reference shows or answers otherwise, and why.
KNOWN = {
    r"\.(sum|max)\.alias\(": "Flink's plan has the names of aggregates before they were renamed",
    r"n\.select\(col\('a'\)\.alias": "Flink's plan has the name of a column before it was renamed",
    r"== col\('e'\)\)$|col\('b'\) == col\('f'\)": "Flink's words for arguments of functions; ours are those of SQL",
    r"\(r, \"": "PyFlink 2.3 does not take conditions as texts",
    r"left_outer_join\(r, .*'keyed'": "Flink asks for ON CONFLICT; Funke says in the log what it does without",
}
CASES = [each for each in RECORDED["cases"] if not any(re.search(pattern, each["join"]) for pattern in KNOWN)]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for each in RECORDED["tables"]:
        t_env.execute_sql(each)
    return {"col": col, "lit": lit, **{name: t_env.from_path(name) for name in ("l", "r", "n", "k")}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["join"])
def test_joins_are_those_of_flink(names: dict[str, Any], case: dict[str, Any]) -> None:
    if "said" in case:
        with pytest.raises(FunkeError) as raised:
            eval(case["join"], dict(names)).explain()
        assert str(raised.value).splitlines()[0] == case["said"]
        return
    joined = eval(case["join"], dict(names))
    plan = joined.explain().split("== Optimized Physical Plan ==")[1].split("\n== ")[0]
    assert re.findall(r"\bJoin\(.*", plan) == case["joins"]
    if "columns" in case:
        assert joined.get_schema().get_field_names() == case["columns"]


def test_a_condition_may_be_a_text(names: dict[str, Any]) -> None:
    joined = names["l"].left_outer_join(names["r"], "a = d && c > 1")
    assert "Join(joinType=[LeftOuterJoin], where=[((a = d) AND (c > 1))]" in joined.explain()


@pytest.mark.parametrize("kind", ["right", "full"])
def test_outer_joins_need_a_condition(names: dict[str, Any], kind: str) -> None:
    with pytest.raises(FunkeError, match=f"a {kind} outer join needs a condition"):
        getattr(names["l"], f"{kind}_outer_join")(names["r"], None)
