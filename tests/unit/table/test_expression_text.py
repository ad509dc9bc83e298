"""`str(expression)`, and the texts of schemas and their kin, are PyFlink's; `reference/record.py` recorded them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from funke.table import DataTypes
from funke.table.expressions import col
from funke.table.udf import udf
from tests.unit.table.reference.expression_sources import SCHEMAS, SOURCES

REFERENCE = Path(__file__).parent / "reference"
EXPRESSIONS = json.loads((REFERENCE / "expressions.json").read_text())
OBJECTS = json.loads((REFERENCE / "objects.json").read_text())
# PyFlink itself fails at these, before or inside its gateway.
BROKEN_IN_PYFLINK = {
    "a.array_distinct()": "ARRAY_DISTINCT(a)",
    "a.array_reverse()": "ARRAY_REVERSE(a)",
    "a.array_slice(1)": "ARRAY_SLICE(a, 1)",
    "a.array_slice(1,2)": "ARRAY_SLICE(a, 1, 2)",
    "a.array_sort()": "ARRAY_SORT(a)",
    "a.array_sort(True)": "ARRAY_SORT(a, true)",
    "a.array_sort(False,True)": "ARRAY_SORT(a, false, true)",
    "a.array_concat(b)": "ARRAY_CONCAT(a, b)",
    "a.array_join('-')": "ARRAY_JOIN(a, '-')",
    "a.array_join('-','x')": "ARRAY_JOIN(a, '-', 'x')",
    "a.map_union(b)": "MAP_UNION(a, b)",
    "lit(date(2020, 1, 2))": "2020-01-02",
    "lit(time(1, 2, 3))": "01:02:03",
    "lit(datetime(2020, 1, 2, 3, 4, 5))": "2020-01-02T03:04:05",
    "object_of('com.Some', 'x', 1)": "OBJECT_OF('com.Some', 'x', 1)",
    "a.object_update('x', 1)": "OBJECT_UPDATE(a, 'x', 1)",
    "descriptor('x', 'y')": "DESCRIPTOR(`x`, `y`)",
    "json_object()": "JSON_OBJECT(NULL)",
    "json_object(JsonOnNull.ABSENT, 'k', a)": "JSON_OBJECT(ABSENT, 'k', a)",
    "json_array()": "JSON_ARRAY(ABSENT)",
    "json_array(JsonOnNull.NULL, 1, a)": "JSON_ARRAY(NULL, 1, a)",
}
# Options of a descriptor stand in the order of Java's hashes there, sorted here.
UNORDERED = {"descriptor", "descriptor with format", "descriptor with key format"}
# PyFlink fails at making a key or at showing a view; Hive's dialect is rejected here.
OTHERWISE = {"resolved schema of columns", "constraint", "catalog view", "config set"}


def test_every_source_was_recorded() -> None:
    assert set(SOURCES) == set(EXPRESSIONS)
    assert set(SCHEMAS) == set(OBJECTS)


@pytest.mark.parametrize("source", [source for source in SOURCES if source not in BROKEN_IN_PYFLINK])
def test_expression(source: str, names: dict[str, Any]) -> None:
    assert text_of(source, names) == expected(EXPRESSIONS[source])


@pytest.mark.parametrize("source", BROKEN_IN_PYFLINK)
def test_expression_that_pyflink_cannot_make(source: str, names: dict[str, Any]) -> None:
    assert EXPRESSIONS[source].startswith("! ")
    assert text_of(source, names) == BROKEN_IN_PYFLINK[source]


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in UNORDERED | OTHERWISE])
def test_object(name: str, names: dict[str, Any]) -> None:
    assert text_of(SCHEMAS[name], names) == expected(OBJECTS[name])


@pytest.mark.parametrize("name", sorted(UNORDERED))
def test_descriptor(name: str, names: dict[str, Any]) -> None:
    assert sorted(lines(text_of(SCHEMAS[name], names))) == sorted(lines(OBJECTS[name]))


def lines(text: str) -> Iterator[str]:
    return (line.removesuffix(",") for line in text.splitlines())


def expected(recorded: str) -> str:
    """Return a recorded text; of an error its message, which here has no class of Java's before it."""
    if not recorded.startswith("! "):
        return recorded
    return "! " + recorded.partition("Exception: ")[2]


def text_of(source: str, names: dict[str, Any]) -> str:
    try:
        return str(eval(source, names))
    except Exception as error:
        return f"! {error}".splitlines()[0]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    outcomes: dict[str, Any] = {}
    for module in ("common", "table", "table.expression", "table.expressions", "table.catalog"):
        imported = import_module(f"funke.{module}")
        outcomes.update({name: getattr(imported, name) for name in dir(imported) if not name.startswith("_")})
    add = udf(lambda x, y: x + y, result_type=DataTypes.BIGINT(), name="add")
    outcomes.update(Decimal=Decimal, date=date, datetime=datetime, time=time, timedelta=timedelta, abs=abs)
    return outcomes | {"a": col("a"), "b": col("b"), "add": add}
