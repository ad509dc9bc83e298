"""Documents of JSON as values; what is expected was recorded with PyFlink 2.3, by JSON_STRING of each."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.local_jobs import changes_in

DOCUMENT = """'{"a":{"b":[10,20]}}'"""


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def rows(t_env: TableEnvironment, query: str) -> list[Any]:
    return [row for _, row in changes_in(planned_rows(t_env._session, t_env.sql_query(query)._relation))]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("""PARSE_JSON('{"a":1,"b":[1,2.5,"x",null,true]}')""", '{"a":1,"b":[1,2.5,"x",null,true]}'),
        ("""PARSE_JSON('{"b":1,"a":2}')""", '{"a":2,"b":1}'),
        ("PARSE_JSON('[ 1 , 2 ]')", "[1,2]"),
        ("PARSE_JSON('null')", "null"),
        ("PARSE_JSON('1e3')", "1000.0"),
        ("PARSE_JSON('1e-7')", "1.0E-7"),
        ("PARSE_JSON('1E400')", "Infinity"),
        ("PARSE_JSON('1.50')", "1.5"),
        ("PARSE_JSON('1.0')", "1"),
        ("PARSE_JSON('-0')", "0"),
        ("PARSE_JSON('0.00000001')", "0.00000001"),
        ("PARSE_JSON('12345678901234567890')", "12345678901234567890"),
        ("PARSE_JSON('0.1234567890123456789012345678901234567890')", "0.12345678901234568"),
        ("PARSE_JSON('123456789012345678901234567890123456789012')", "1.2345678901234568E41"),
        (r"""PARSE_JSON('"a\"b\u00e9/\n"')""", r'"a\"bé/\n"'),
        ("PARSE_JSON(CAST(NULL AS STRING))", None),
        ("""TRY_PARSE_JSON('{"a":1,"a":2}')""", None),
        ("""TRY_PARSE_JSON('{"a":1,"a":2}', TRUE)""", '{"a":2}'),
        ("TRY_PARSE_JSON('1 2')", "1"),
        *(
            (f"TRY_PARSE_JSON('{text}')", None)
            for text in ("", " ", '{"a":1', "{a:1}", "NaN", "[1,]", "01", "tru", "1x")
        ),
        (f"PARSE_JSON({DOCUMENT})['a']", '{"b":[10,20]}'),
        (f"PARSE_JSON({DOCUMENT})['a']['b'][1]", "10"),
        (f"PARSE_JSON({DOCUMENT})['a']['b'][3]", None),
        (f"PARSE_JSON({DOCUMENT})['x']", None),
        ("PARSE_JSON('[1]')[0]", None),
        ("PARSE_JSON('[null]')[1]", "null"),
    ],
)
def test_documents_and_their_parts(t_env: TableEnvironment, expression: str, text: str | None) -> None:
    assert rows(t_env, f"SELECT JSON_STRING({expression})") == [(text,)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("PARSE_JSON('1') = PARSE_JSON('1')", True),
        ("PARSE_JSON('1') = PARSE_JSON('1.0')", False),
        ("""PARSE_JSON('{"a":1,"b":2}') = PARSE_JSON('{"b":2,"a":1}')""", False),
        ("PARSE_JSON('1') <> PARSE_JSON('2')", True),
        ("TYPEOF(PARSE_JSON('[1]')[1])", "VARIANT"),
        ("TYPEOF(PARSE_JSON('1'))", "VARIANT NOT NULL"),
        ("PARSE_JSON('null') IS NULL", False),
        ("COALESCE(TRY_PARSE_JSON('x'), PARSE_JSON('1')) IS NULL", False),
    ],
)
def test_what_is_asked_of_documents(t_env: TableEnvironment, expression: str, value: Any) -> None:
    assert rows(t_env, f"SELECT {expression}") == [(value,)]


@pytest.mark.parametrize(
    "expression",
    ["CAST(PARSE_JSON('1') AS INT)", "CAST(1 AS VARIANT)", "PARSE_JSON('1') + 1", "PARSE_JSON('1') < PARSE_JSON('2')"],
)
def test_what_flink_does_not_have_either(t_env: TableEnvironment, expression: str) -> None:
    with pytest.raises(SqlValidationError):
        t_env.sql_query(f"SELECT {expression}")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("""PARSE_JSON('{"a":1,"a":2}')""", "Failed to parse json string: .*VARIANT_DUPLICATE_KEY"),
        ("PARSE_JSON('')", "Failed to parse json string"),
        ("PARSE_JSON('[1]')['a']", "String key access on variant requires an object variant"),
        ("PARSE_JSON('1')[1]", "Integer index access on variant requires an array variant"),
    ],
)
def test_what_fails(t_env: TableEnvironment, expression: str, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        rows(t_env, f"SELECT JSON_STRING({expression})")


def test_groups_of_documents(t_env: TableEnvironment) -> None:
    strings = """(VALUES ('{"a":1,"b":2}'), ('{"b":2,"a":1}'), ('{"a": 1, "b": 2}')) AS q (k)"""
    result_rows = rows(
        t_env, f"SELECT JSON_STRING(j), COUNT(*) FROM (SELECT PARSE_JSON(k) AS j FROM {strings}) GROUP BY j"
    )
    assert sorted(result_rows) == [('{"a":1,"b":2}', 1)] * 3 + [('{"a":1,"b":2}', 2)]


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("IS_ALPHA", ["'abc'", "'äß'", "'NaN'"], ["'ab1'", "''", "' '", "12", "1.5", "CAST(NULL AS STRING)"]),
        ("IS_DIGIT", ["'12'", "'٣'", "12"], ["'1.5'", "'-3'", "''", "1.5", "CAST(1.5 AS DOUBLE)", "CAST(NULL AS INT)"]),
        (
            "IS_DECIMAL",
            [
                "'12'",
                "'1.5'",
                "'-3'",
                "'1e5'",
                "'٣'",
                "12",
                "CAST(1.5 AS DOUBLE)",
                "'NaN'",
                "'1d'",
                "'+4'",
                "' 1'",
                "'1.'",
            ],
            ["'abc'", "''", "' '", "1.5", "'0x1'", "'.'", "CAST(NULL AS STRING)"],
        ),
    ],
)
def test_strings_of_letters_and_digits(t_env: TableEnvironment, name: str, yes: list[str], no: list[str]) -> None:
    (result_rows,) = rows(t_env, "SELECT " + ", ".join(f"{name}({each})" for each in [*yes, *no]))
    assert result_rows == (True,) * len(yes) + (False,) * len(no)
