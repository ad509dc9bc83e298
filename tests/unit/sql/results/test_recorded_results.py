"""Results are printed as PyFlink printed them; `tests/unit/table/reference/record.py` recorded them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from funke.engine.sql.results.table_print import ResultColumns, listing_lines, query_lines
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes as D
from funke.engine.types.row import Row, RowKind

RECORDED = json.loads((Path(__file__).parents[2] / "table" / "reference" / "results.json").read_text())
PAIR = D.ROW([D.FIELD("EXPR$0", D.INT()), D.FIELD("EXPR$1", D.STRING())])
MONTHS, DAYS = D.INTERVAL(D.YEAR(), D.MONTH()), D.INTERVAL(D.DAY(), D.SECOND())
# By the query's name: columns, and rows.
RESULTS: dict[str, tuple[dict[str, DataType], list[Any]]] = {
    "numbers": (
        {
            "t": D.TINYINT(False),
            "s": D.SMALLINT(False),
            "i": D.INT(False),
            "b": D.BIGINT(False),
            "d": D.DECIMAL(10, 2),
            "dbl": D.DOUBLE(False),
            "f": D.FLOAT(False),
            "x": D.BOOLEAN(False),
        },
        [Row(1, 2, 3, 4, Decimal("1.5"), 1.5, 1.1, True)],
    ),
    "nulls": (
        {"t": D.TINYINT(), "b": D.BOOLEAN(), "i": D.INT(), "s": D.STRING(), "d": D.DECIMAL(3, 1)},
        [Row(None, None, None, None, None)],
    ),
    "texts": (
        {"s": D.CHAR(44), "c": D.CHAR(5), "v": D.VARCHAR(3), "b": D.BINARY(2), "w": D.CHAR(2)},
        [Row("a long string that is longer than the column", "ab   ", "abc", b"\n\xff", "漢字")],
    ),
    "times": (
        {"d": D.DATE(), "t": D.TIME(), "ts": D.TIMESTAMP(3), "ts0": D.TIMESTAMP(0), "ltz": D.TIMESTAMP_LTZ(3)},
        [
            Row(
                date(2020, 1, 2),
                time(3, 4, 5),
                datetime(2020, 1, 2, 3, 4, 5, 123_000),
                datetime(2020, 1, 2, 3, 4, 5),
                datetime(1970, 1, 1, tzinfo=UTC),
            )
        ],
    ),
    "collections": (
        {"a": D.ARRAY(D.INT()), "m": D.MAP(D.STRING(), D.INT()), "r": PAIR, "n": D.ARRAY(D.INT())},
        [Row([1, 2], {"k": 1}, Row(1, "x"), [None])],
    ),
    "intervals": ({"ym": MONTHS, "ds": DAYS}, [Row(14, 93_784_000)]),
    "long name": ({"a_column_with_a_name_of_forty_characters": D.INT(False)}, [Row(1)]),
    "two rows": ({"id": D.INT(False), "name": D.CHAR(1, False)}, [Row(1, "a"), Row(2, "b")]),
    "nothing": ({"id": D.INT(False)}, []),
}
COUNTS = {"name": D.CHAR(1, False), "n": D.BIGINT(False)}
CHANGES = [Row("a", 1), Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)]
DESCRIBED = {"name": D.STRING(), "type": D.STRING(), "null": D.BOOLEAN()} | dict.fromkeys(
    ("key", "extras", "watermark"), D.STRING()
)
LISTS: dict[str, tuple[dict[str, DataType], list[Any]]] = {
    "show catalogs": ({"catalog name": D.STRING()}, [("default_catalog",)]),
    "show tables": ({"table name": D.STRING()}, []),
    "show tables again": ({"table name": D.STRING()}, [("t",)]),
    "describe": (
        DESCRIBED,
        [
            ("id", "INT", False, "PRI(id)", None, None),
            ("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts` - INTERVAL '5' SECOND"),
            ("p", "TIMESTAMP_LTZ(3) *PROCTIME*", False, None, "AS PROCTIME()", None),
        ],
    ),
}


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize("name", RESULTS)
def test_query(name: str, mode: str) -> None:
    columns, rows = RESULTS[name]

    printed = query_lines(result_columns(columns), rows, is_streaming=mode == "streaming")

    assert list(printed) == RECORDED[mode][name].splitlines()


def test_changes() -> None:
    columns = result_columns(COUNTS)

    assert list(query_lines(columns, CHANGES, is_streaming=True)) == RECORDED["streaming"]["changes"].splitlines()
    assert list(query_lines(columns, CHANGES[2:], is_streaming=False)) == RECORDED["batch"]["changes"].splitlines()


@pytest.mark.parametrize("name", LISTS)
def test_list(name: str) -> None:
    columns, rows = LISTS[name]

    assert list(listing_lines(result_columns(columns), rows)) == RECORDED["streaming"][name].splitlines()


def result_columns(columns: dict[str, DataType]) -> ResultColumns:
    return ResultColumns(tuple(columns), tuple(columns.values()), UTC)
