"""Objects of classes, which are rows with a name; what is expected was recorded with PyFlink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import SqlParserError, SqlValidationError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.sql_text import from_sql_text, to_full_sql_text, to_sql_text
from funke.table import EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import lit, object_of
from tests.harness.local_jobs import changes_in

USER = "OBJECT_OF('com.example.User', 'name', 'Bob', 'age', 25)"
TYPE = "STRUCTURED<'com.example.User', `name` CHAR(3) NOT NULL, `age` INT NOT NULL>"


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def rows(table: Table) -> list[Any]:
    return [row for _, row in changes_in(planned_rows(table._t_env._session, table._relation))]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"TYPEOF({USER})", TYPE),
        (f"{USER}.name", "Bob"),
        (f"CAST({USER} AS STRING)", "(name=Bob, age=25)"),
        ("CAST(OBJECT_OF('A', 'b', CAST(NULL AS INT)) AS STRING)", "(b=NULL)"),
        ("CAST(OBJECT_OF('A') AS STRING)", "()"),
        ("CAST(OBJECT_OF('A', 'r', ROW(1, 'x'), 'o', OBJECT_OF('B', 'b', TRUE)) AS STRING)", "(r=(1, x), o=(b=TRUE))"),
        ("OBJECT_OF('A', 'a b', OBJECT_OF('B', 'c', 1)).`a b`.c", 1),
        (f"CAST({USER} AS ROW<x STRING, y BIGINT>)", ("Bob", 25)),
        ("CAST(CAST(ROW(1, 2) AS STRUCTURED<'A', x STRING, y BIGINT>) AS STRING)", "(x=1, y=2)"),
        (f"{USER} = {USER}", True),
        (f"{USER} IS NULL", False),
        (f"CAST(OBJECT_UPDATE({USER}, 'name', 'Alice', 'age', 'x') AS STRING)", "(name=Alice, age=x)"),
        (f"OBJECT_UPDATE({USER}) = {USER}", True),
        (f"TYPEOF(OBJECT_UPDATE({USER}, 'age', CAST(3 AS BIGINT)))", TYPE.replace("INT", "BIGINT")),
        ("OBJECT_UPDATE(CAST(NULL AS STRUCTURED<'A', b INT>), 'b', 1)", None),
        (f"JSON_STRING({USER})", '{"age":25,"name":"Bob"}'),
        (
            "JSON_STRING(CAST(ROW(2, MAP['b', 1, 'a', 2]) AS ROW<b INT, a MAP<STRING, INT>>))",
            '{"a":{"a":2,"b":1},"b":2}',
        ),
        ("JSON_OBJECT('x' VALUE JSON_OBJECT('d' VALUE 1, 'c' VALUE 2), 'a' VALUE 1)", '{"a":1,"x":{"c":2,"d":1}}'),
        ("""JSON_QUERY('{"a":{"c":1,"b":2}}', '$.a')""", '{"b":2,"c":1}'),
    ],
)
def test_objects_and_their_parts(t_env: TableEnvironment, expression: str, value: Any) -> None:
    assert rows(t_env.sql_query(f"SELECT {expression}")) == [(value,)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("OBJECT_OF('A', 'b')", "Cannot apply 'OBJECT_OF'"),
        ("OBJECT_OF('A', 'b', 1, 'b', 2)", "The field name 'b' at position 4 is repeated"),
        ("OBJECT_OF('A', 1, 1)", "The field key at position 2 must be a non-nullable character string, but was INT"),
        ("OBJECT_OF('A', CAST(NULL AS STRING), 1)", "The field key at position 2 must be a non-nullable .* literal"),
        ("OBJECT_OF(CAST(NULL AS STRING), 'b', 1)", "must be a non-nullable character string literal representing"),
        ("OBJECT_OF('1a', 'b', 1)", "Invalid class name '1a'"),
        (f"OBJECT_UPDATE({USER}, 'x', 1)", r"The field name 'x' at position 2 .* Available attributes: \[name, age\]"),
        ("OBJECT_UPDATE(ROW(1), 'x', 1)", "The first argument must be a structured type, but was ROW"),
        (f"{USER} < {USER}", "Cannot apply '<'"),
        (f"{USER} = OBJECT_OF('com.example.Other', 'name', 'Bob', 'age', 25)", "Cannot apply '='"),
        (f"{USER} = ROW('Bob', 25)", "Cannot apply '='"),
    ],
)
def test_what_is_rejected(t_env: TableEnvironment, expression: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        t_env.sql_query(f"SELECT {expression}")


def test_tables_of_objects(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE users (u STRUCTURED<'com.example.User', name STRING 'who', age INT NOT NULL>) "
        "WITH ('connector' = 'blackhole')"
    )
    (statement,) = next(t_env.execute_sql("SHOW CREATE TABLE users").collect())
    assert "`u` STRUCTURED<'com.example.User', `name` VARCHAR(2147483647), `age` INT NOT NULL>" in statement
    for expression in (USER, "ROW('Bob', 25)", "OBJECT_OF('com.example.Other', 'name', 'Bob', 'age', 25)"):
        assert "users" in t_env.explain_sql(f"INSERT INTO users SELECT {expression}")
    for written in ("STRUCTURED<com.example.User, name STRING>", "STRUCTURED('a', x INT)"):
        with pytest.raises(SqlParserError):
            t_env.execute_sql(f"CREATE TABLE wrong (u {written}) WITH ('connector' = 'blackhole')")


@pytest.mark.parametrize("text", [TYPE, "STRUCTURED<'A'>", "ARRAY<STRUCTURED<'A', `b` STRING> NOT NULL>"])
def test_the_text_of_the_type(text: str) -> None:
    assert to_sql_text(from_sql_text(text)) == text
    assert from_sql_text(to_full_sql_text(from_sql_text(text))) == from_sql_text(text)


def test_groups_and_results(t_env: TableEnvironment) -> None:
    objects = "(SELECT OBJECT_OF('User', 'name', k) AS u FROM (VALUES ('a'), ('b'), ('a')) AS t (k))"
    result_rows = rows(t_env.sql_query(f"SELECT CAST(u AS STRING), COUNT(*) FROM {objects} GROUP BY u"))
    assert dict(result_rows) == {"(name=a)": 2, "(name=b)": 1}
    changed = object_of("User", "name", "Bob", "age", 1).object_update("age", lit(2))
    assert rows(t_env.from_elements([(1,)], ["x"]).select(changed)) == [(("Bob", 2),)]
