"""`row.*` and what the Table API has for it; names and types were recorded with PyFlink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table import EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import col, row
from tests.harness.local_jobs import changes_in


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    u = "ROW<a INT, b STRING NOT NULL, n ROW<x INT, y ROW<z STRING>>>"
    environment.execute_sql(f"""
        CREATE TEMPORARY VIEW t AS SELECT id, CAST(u AS {u}) AS u, CAST(w AS ROW<a INT, q BIGINT>) AS w, arr
        FROM (VALUES (1, ROW(2, 'b', ROW(3, ROW('z'))), ROW(4, 5), ARRAY[ROW(6)])) AS v (id, u, w, arr)
    """)
    environment.execute_sql("CREATE TEMPORARY VIEW p AS SELECT OBJECT_OF('Person', 'name', 'n', 'age', 1) AS s")
    return environment


U = {"a": "INT", "b": "STRING NOT NULL", "n": "ROW<`x` INT, `y` ROW<`z` STRING>>"}
SELECTED = {
    "u.* FROM t": U,
    "t.u.* FROM t": U,
    "u.* FROM (SELECT u FROM t)": U,
    "id, u.*, w.* FROM t": {"id": "INT NOT NULL", **U, "a0": "INT", "q": "BIGINT"},
    "u.n.* FROM t": {"x": "INT", "y": "ROW<`z` STRING>"},
    "t.u.n.y.* FROM t": {"z": "STRING"},
    "s.* FROM p": {"name": "CHAR(1)", "age": "INT"},
    "r.* FROM (SELECT ROW(1, 'a') AS r FROM t)": {"EXPR$0": "INT NOT NULL", "EXPR$1": "CHAR(1) NOT NULL"},
    "DISTINCT u.n.* FROM t": {"x": "INT", "y": "ROW<`z` STRING>"},
}
VALUES: dict[str, list[Any]] = {
    "t.u.n.y.* FROM t": [("z",)],
    "id, w.* FROM t": [(1, 4, 5)],
    "s.* FROM p": [("n", 1)],
}


def columns(table: Table) -> dict[str, str]:
    return {each.name: to_sql_text(each.type) for each in table._relation.columns}


@pytest.mark.parametrize("query", SELECTED)
def test_fields_become_columns(t_env: TableEnvironment, query: str) -> None:
    assert columns(t_env.sql_query(f"SELECT {query}")) == SELECTED[query]


@pytest.mark.parametrize("query", VALUES)
def test_their_values(t_env: TableEnvironment, query: str) -> None:
    plan = planned_rows(t_env._session, t_env.sql_query(f"SELECT {query}")._relation)
    assert [values for _, values in changes_in(plan)] == VALUES[query]


@pytest.mark.parametrize(
    ("name", "index"), [("id", "From line 1, column 8 to line 1, column 9"), ("q", "At line 1, column 8")]
)
def test_only_a_row_has_fields(t_env: TableEnvironment, name: str, index: str) -> None:
    with pytest.raises(SqlValidationError, match=f"{index}: Not a record type. The '\\*' operator requires a record"):
        t_env.sql_query(f"SELECT {name}.* FROM t")


FLATTENED = {
    "a column": ([col("u").flatten], ["u$a", "u$b", "u$n"]),
    "several": ([col("id"), col("u").flatten, col("w").flatten], ["id", "u$a", "u$b", "u$n", "w$a", "w$q"]),
    "a field": ([col("u").get("n").flatten], ["u$n$x", "u$n$y"]),
    "an element": ([col("arr").at(1).flatten], ["_c0"]),
    "a made row": ([row(col("id"), "x").flatten], ["_c0", "_c1"]),
    "no row": ([col("id").flatten], ["id"]),
    "one field": ([col("u").get("a"), col("u").get(1), col("w").get("a").alias("k")], ["u$a", "u$_1", "k"]),
    "a field of fields": ([col("u").get("n").get("y").get("z")], ["u$n$y$z"]),
    "a field of an element": ([col("arr").at(1).get(0)], ["_c0"]),
}


@pytest.mark.parametrize("name", FLATTENED)
def test_flatten_and_get(t_env: TableEnvironment, name: str) -> None:
    expressions, names = FLATTENED[name]
    assert list(columns(t_env.from_path("t").select(*expressions))) == names
