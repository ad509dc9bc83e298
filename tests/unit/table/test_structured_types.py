"""Structured values: rows with the name of a class; types, texts and rejections were recorded with PyFlink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.results.value_text import value_text
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.sql_text import from_sql_text, to_full_sql_text, to_sql_text
from funke.table import EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import col, object_of
from tests.harness.local_jobs import changes_in

BOB = "OBJECT_OF('com.x.User', 'name', 'Bob', 'age', 25)"


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def only_row(table: Table) -> tuple[Any, ...]:
    ((_, row),) = changes_in(planned_rows(table._t_env._session, table._relation), is_batch=False)
    return row


@pytest.mark.parametrize(
    ("expression", "data_type", "value"),
    [
        (BOB, "STRUCTURED<'com.x.User', `name` CHAR(3) NOT NULL, `age` INT NOT NULL>", ("Bob", 25)),
        (f"{BOB}.name", "CHAR(3)", "Bob"),
        (f"OBJECT_UPDATE({BOB}, 'age', 30).age", "INT", 30),
        (f"CAST({BOB} AS STRING)", "STRING", "(name=Bob, age=25)"),
        (f"CAST({BOB} AS ROW<a STRING, b BIGINT>)", "ROW<`a` STRING, `b` BIGINT>", ("Bob", 25)),
        ("OBJECT_OF('com.x.User', 'a', 1) = OBJECT_OF('com.x.User', 'a', 1)", None, True),
    ],
)
def test_values(t_env: TableEnvironment, expression: str, data_type: str | None, value: Any) -> None:
    table = t_env.sql_query(f"SELECT {expression}")
    assert only_row(table) == (value,)
    if data_type is not None:
        assert to_sql_text(table._relation.columns[0].type) == data_type


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (BOB, "(name=Bob, age=25)"),
        (f"OBJECT_UPDATE({BOB}, 'age', 30, 'name', 'Al')", "(name=Al, age=30)"),
        (f"OBJECT_UPDATE({BOB}, 'age', 'x')", "(name=Bob, age=x)"),
        ("OBJECT_OF('com.x.User')", "()"),
        ("OBJECT_OF('com.x.User', 'a', CAST(NULL AS INT))", "(a=NULL)"),
    ],
)
def test_values_are_printed_with_names(t_env: TableEnvironment, expression: str, text: str) -> None:
    table = t_env.sql_query(f"SELECT {expression}")
    assert value_text(only_row(table)[0], table._relation.columns[0].type) == text


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            f"OBJECT_UPDATE({BOB}, 'agex', 30)",
            r"'agex' at position 2 .* Available attributes: \[name, age",
        ),
        ("OBJECT_OF('com.x.User', 'name', 1, 'name', 2)", "The field name 'name' at position 4 is repeated"),
        ("OBJECT_OF('com.x.User', 'name')", "OBJECT_OF"),
    ],
)
def test_what_is_rejected(t_env: TableEnvironment, expression: str, message: str) -> None:
    with pytest.raises(FunkeError, match=message):
        t_env.sql_query(f"SELECT {expression}")


def test_tables_have_structured_columns(t_env: TableEnvironment) -> None:
    t_env.execute_sql("""
        CREATE TABLE users (u STRUCTURED<'com.x.User', name STRING, age INT NOT NULL>) WITH ('connector' = 'blackhole')
    """)
    with t_env.execute_sql("DESCRIBE users").collect() as rows:
        assert next(iter(rows))[1] == "STRUCTURED<'com.x.User', `name` STRING, `age` INT NOT NULL>"
    with t_env.execute_sql("SHOW CREATE TABLE users").collect() as rows:
        assert "`u` STRUCTURED<'com.x.User', `name` VARCHAR(2147483647), `age` INT NOT NULL>" in next(iter(rows))[0]


def test_types_are_distinguished_by_their_class() -> None:
    strings = ("STRUCTURED<'a', `f` INT>", "STRUCTURED<'b', `f` INT>", "ROW<`f` INT>")
    types = [from_sql_text(each) for each in strings]
    assert [to_full_sql_text(each) for each in types] == list(strings)
    assert len({to_sql_text(each) for each in types}) == 3 and types[0] != types[1] and types[0] != types[2]


def test_expressions_make_them(t_env: TableEnvironment) -> None:
    created = t_env.from_elements([(1, "a")], ["i", "n"]).select(
        object_of("com.x.User", "name", col("n"), "age", col("i"))
    )
    assert only_row(created) == (("a", 1),)
