"""Types mean on Funke what they mean on the reference, in every spelling and wherever they may be written.

`sql/record_types.py` has recorded them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table import EnvironmentSettings, Schema, Table, TableDescriptor, TableEnvironment
from funke.table.udf import udf
from tests.differential.sql.recorded_form import read_lines

RECORDED = read_lines("sql_types.jsonl.gz")
# In which ways a spelling has another meaning here, or none, and why.
_EMPTY = "a value without any length says nothing, and the reference refuses to read it"
_UNITS = "CAST(5 AS INTERVAL DAY) needs the units, so the type keeps them; the reference cannot give intervals"
_NULLS = "elements may be NULL; the reference gives 0 for CAST(ARRAY[1, NULL] AS INT ARRAY)"
_REMARKS = "what a field means is shown, not '...'"
_LENIENT = "only names that end a field need quotes"
_DIGITS = "the digits of years count for years alone, as in DataTypes.INTERVAL"
_NO_VALUES = "there are no values of it"
KNOWN_DIFFERENCES: tuple[tuple[str, str, str], ...] = (
    ("column|cast|try_cast", r"\w+\(0\)", _EMPTY),
    ("cast|try_cast", r"(?i)interval .*", _UNITS),
    ("cast|try_cast", r"(?i).* (array|multiset)", _NULLS),
    ("schema|function", r"(?i)row<.*'.*'>", _REMARKS),
    ("schema|function", r"ROW<date STRING>|ROW<name STRING, type INT, year INT>", _LENIENT),
    ("schema|function", r"INTERVAL YEAR\(3\) TO MONTH", _DIGITS),
    ("schema|function", r"DESCRIPTOR", _NO_VALUES),
    ("function", r"NULL", _NO_VALUES),
)


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def types_of(table: Table) -> list[str]:
    return [to_sql_text(each) for each in table.get_resolved_schema().get_column_data_types()]


def described(t_env: TableEnvironment) -> list[str]:
    with t_env.execute_sql("DESCRIBE t").collect() as rows:
        return [f"{row[1]}{'' if row[2] else ' NOT NULL'}" for row in rows]


def of_column(t_env: TableEnvironment, text: str) -> list[str]:
    try:
        t_env.execute_sql(f"CREATE TABLE t (c {text}) WITH ('connector' = 'print')")
        return described(t_env)
    finally:
        t_env.execute_sql("DROP TABLE IF EXISTS t")


def of_cast(t_env: TableEnvironment, text: str) -> list[str]:
    return types_of(t_env.sql_query(f"SELECT CAST(NULL AS {text})"))


def of_try_cast(t_env: TableEnvironment, text: str) -> list[str]:
    return types_of(t_env.sql_query(f"SELECT TRY_CAST(NULL AS {text})"))


def of_schema(t_env: TableEnvironment, text: str) -> list[str]:
    schema = Schema.new_builder().column("c", text).build()
    try:
        t_env.create_table("t", TableDescriptor.for_connector("print").schema(schema).build())
        return described(t_env)
    finally:
        t_env.execute_sql("DROP TABLE IF EXISTS t")


def of_function(t_env: TableEnvironment, text: str) -> list[str]:
    function: Any = udf(lambda each: each, result_type=text)
    return types_of(t_env.sql_query("SELECT 1 AS n").select(function(1)))


WAYS: dict[str, Callable[[TableEnvironment, str], list[str]]] = {
    "column": of_column,
    "cast": of_cast,
    "try_cast": of_try_cast,
    "schema": of_schema,
    "function": of_function,
}


def outcome(t_env: TableEnvironment, way: str, text: str) -> Any:
    try:
        return WAYS[way](t_env, text)
    except FunkeError as error:
        return {"why": str(error)}


def is_known_to_differ(way: str, text: str) -> bool:
    return any(re.fullmatch(ways, way) and re.fullmatch(strings, text) for ways, strings, _ in KNOWN_DIFFERENCES)


@pytest.mark.parametrize("way", WAYS)
def test_types_are_those_of_the_reference(t_env: TableEnvironment, way: str) -> None:
    different = []
    for each in RECORDED:
        if is_known_to_differ(way, each["s"]):
            continue
        actual, expected = outcome(t_env, way, each["s"]), each[way]
        is_same = isinstance(actual, dict) if isinstance(expected, dict) else actual == expected
        if not is_same:
            different.append(f"{each['s']!r}\n  wanted {expected}\n  found  {actual}")
    assert not different, "\n".join(different)
