"""Lookup joins in EXPLAIN, as PyFlink 2.3 prints them.

Recorded with a lookup connector of our own (`LookupTableSource` with projections, synchronous or asynchronous), since
the distribution has none. Recorded are the nodes of the optimized execution plan; columns that Flink replaces with a
constant that they are equal to are left out of the comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.case_connector import case_connector

RECORDED = json.loads((Path(__file__).parent / "recorded_lookup_joins.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tables() -> Iterator[TableEnvironment]:
    with case_connector():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for statement in RECORDED["tables"]:
            t_env.execute_sql(statement)
        yield t_env


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["query"][:60])
def test_as_recorded(tables: TableEnvironment, case: dict[str, Any]) -> None:
    config = tables.get_config()
    for key, value in case["settings"].items():
        config.set(key, value)
    try:
        plan = tables.explain_sql(case["query"]).split("== Optimized Execution Plan ==")[1]
    finally:
        for key in case["settings"]:
            config.get_configuration().remove_config(key)
    assert [line.strip(" +-") for line in plan.split("\n") if "LookupJoin(" in line] == case["nodes"]
