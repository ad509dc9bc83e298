"""Results are printed in PyFlink's layout."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from funke.engine.sql.results.display_width import display_width, truncated
from funke.engine.sql.results.table_print import ResultColumns, listing_lines, query_lines
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.row import Row, RowKind

COLUMNS = ResultColumns(("id", "name"), (DataTypes.INT(), DataTypes.STRING()))
CHANGES = [
    Row(1, "ann"),
    Row.of_kind(RowKind.UPDATE_BEFORE, 1, "ann"),
    Row.of_kind(RowKind.UPDATE_AFTER, 1, None),
    Row.of_kind(RowKind.DELETE, 1, "a long string that is longer than the column"),
]


def test_a_stream_shows_what_each_row_does() -> None:
    assert list(query_lines(COLUMNS, CHANGES, is_streaming=True)) == [
        "+----+-------------+--------------------------------+",
        "| op |          id |                           name |",
        "+----+-------------+--------------------------------+",
        "| +I |           1 |                            ann |",
        "| -U |           1 |                            ann |",
        "| +U |           1 |                         <NULL> |",
        "| -D |           1 | a long string that is longe... |",
        "+----+-------------+--------------------------------+",
        "4 rows in set",
    ]


def test_a_batch_shows_rows_only() -> None:
    assert list(query_lines(COLUMNS, CHANGES[:1], is_streaming=False)) == [
        "+-------------+--------------------------------+",
        "|          id |                           name |",
        "+-------------+--------------------------------+",
        "|           1 |                            ann |",
        "+-------------+--------------------------------+",
        "1 row in set",
    ]


@pytest.mark.parametrize("is_streaming", [True, False])
def test_nothing(is_streaming: bool) -> None:
    assert list(query_lines(COLUMNS, [], is_streaming)) == ["Empty set"]
    assert list(listing_lines(COLUMNS, [])) == ["Empty set"]


def test_rows_are_shown_when_they_come() -> None:
    def endless() -> Iterator[Row]:
        yield Row(1, "ann")
        raise AssertionError("the second row was asked for before the first was shown")

    lines = query_lines(COLUMNS, endless(), is_streaming=True)

    assert [next(lines) for _ in range(4)][-1] == "| +I |           1 |                            ann |"


def test_lists_are_as_wide_as_their_values_and_null_is_empty() -> None:
    columns = ResultColumns(("name", "type", "key"), (DataTypes.STRING(),) * 3)

    assert list(listing_lines(columns, [("a", "TIMESTAMP_LTZ(3) *PROCTIME*", None), ("b", "INT", "PRI(b)")])) == [
        "+------+-----------------------------+--------+",
        "| name |                        type |    key |",
        "+------+-----------------------------+--------+",
        "|    a | TIMESTAMP_LTZ(3) *PROCTIME* |        |",
        "|    b |                         INT | PRI(b) |",
        "+------+-----------------------------+--------+",
        "2 rows in set",
    ]


@pytest.mark.parametrize(
    ("data_type", "width"),
    [
        (DataTypes.BOOLEAN(), 6),
        (DataTypes.INT(), 11),
        (DataTypes.BIGINT(), 20),
        (DataTypes.DATE(), 10),
        (DataTypes.DECIMAL(10, 2), 12),
        (DataTypes.TIMESTAMP(3), 23),
        (DataTypes.DOUBLE(), 30),
        (DataTypes.STRING(), 30),
        (DataTypes.ARRAY(DataTypes.INT()), 30),
        (DataTypes.BYTES(), 30),
    ],
)
def test_the_type_of_a_column_decides_its_width(data_type: DataType, width: int) -> None:
    border = next(query_lines(ResultColumns(("a",), (data_type,)), [Row(None)], is_streaming=False))

    assert border == f"+{'-' * (width + 2)}+"


def test_a_long_name_widens_its_column() -> None:
    lines = list(query_lines(ResultColumns(("n" * 40,), (DataTypes.INT(),)), [Row(7)], is_streaming=False))

    assert lines[1] == f"| {'n' * 40} |"
    assert lines[3] == f"| {'7':>40} |"


def test_wide_characters_take_two_columns() -> None:
    assert display_width("漢字a") == 5
    assert truncated("漢字漢字", 7) == "漢字..."
    assert truncated("漢字漢字", 6) == "漢..."
    assert truncated("漢字漢字", 8) == "漢字漢字"


@pytest.mark.parametrize(("precision", "width"), [(0, 19), (1, 23), (3, 23), (4, 26), (6, 26), (7, 29), (9, 29)])
def test_the_width_of_timestamps(precision: int, width: int) -> None:
    columns = ResultColumns(("at",), (DataTypes.TIMESTAMP(precision),))
    assert next(iter(query_lines(columns, [Row(None)], is_streaming=True))) == f"+----+-{'-' * width}-+"
