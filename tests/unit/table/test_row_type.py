"""Row types: their fields, and the tuples that rows become inside a table."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from funke.common import Row, RowKind
from funke.table.types import DataTypes, RowField, RowType

DAY = datetime.date(1970, 1, 3)
TYPED = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT(), "a number"), DataTypes.FIELD("b", DataTypes.DATE())])
PLAIN = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())])


class Thing:
    """An object with attributes."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        self.b = b


def test_fields_are_found() -> None:
    assert TYPED["a"] is TYPED[0] is TYPED.fields[0]
    assert TYPED[1:] == DataTypes.ROW([DataTypes.FIELD("b", DataTypes.DATE())])
    assert (len(TYPED), [each.name for each in TYPED]) == (2, TYPED.field_names())
    assert TYPED.field_types() == [DataTypes.INT(), DataTypes.DATE()]
    with pytest.raises(KeyError, match="none named c"):
        TYPED["c"]
    with pytest.raises(IndexError, match="position 2"):
        TYPED[2]
    with pytest.raises(TypeError, match="by name, position or slice"):
        TYPED[1.0]  # type: ignore[call-overload]


def test_strings() -> None:
    assert repr(TYPED) == "RowType(RowField(a, IntType(true), a number),RowField(b, DateType(true), ...))"
    assert (str(TYPED), str(TYPED["a"])) == ("ROW", "RowField(a, INT)")


def test_fields_are_added_to_this_type_and_to_no_other() -> None:
    fields = [DataTypes.FIELD("a", DataTypes.INT())]
    row_type = DataTypes.ROW(fields)

    assert row_type.add("b", DataTypes.STRING()) is row_type
    assert row_type == PLAIN
    assert RowType().add(RowField("a", DataTypes.INT())) == DataTypes.ROW(fields)
    assert DataTypes.ROW().fields == []
    with pytest.raises(ValueError, match="'c' has no data type"):
        row_type.add("c")


def test_fields_compare_with_their_descriptions() -> None:
    assert TYPED["a"] == RowField("a", DataTypes.INT(), "a number")
    assert TYPED["a"] != RowField("a", DataTypes.INT())


@pytest.mark.parametrize(
    ("row", "stored"),
    [
        (None, None),
        (Row(b=DAY, a=1), (0, 1, 2)),
        (Row.of_kind(RowKind.DELETE, 1, DAY), (3, 1, 2)),
        ((1, DAY), (0, 1, 2)),
        ([1, None], (0, 1, None)),
        ({"b": DAY}, (0, None, 2)),
        (Thing(1, DAY), (0, 1, 2)),
    ],
)
def test_a_row_becomes_its_kind_and_its_values(row: Any, stored: Any) -> None:
    assert TYPED.to_sql_type(row) == stored


@pytest.mark.parametrize(
    ("row", "stored"),
    [
        (Row(b="x", a=1), (0, 1, "x")),
        (Row.of_kind(RowKind.UPDATE_AFTER, 1, "x"), (2, 1, "x")),
        ((1, "x"), (0, 1, "x")),
        ({"a": 1}, (0, 1, None)),
        (Thing(1, "x"), (0, 1, "x")),
    ],
)
def test_values_that_need_no_conversion_stay(row: Any, stored: Any) -> None:
    assert PLAIN.to_sql_type(row) == stored


def test_what_is_no_row_is_rejected() -> None:
    with pytest.raises(ValueError, match="5 is not a row"):
        TYPED.to_sql_type(5)


def test_values_become_a_row() -> None:
    assert TYPED.from_sql_type((1, 2)) == Row(a=1, b=DAY)
    assert PLAIN.from_sql_type([1, "x"]) == Row(a=1, b="x")
    assert TYPED.from_sql_type(None) is None
    assert TYPED.from_sql_type(Row(1)) == Row(1)
