"""Window table functions: their columns and types, how their windows lie, and what is rejected."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Calculation, Column, Relation, Scan
from funke.engine.sql.binding.windows.window_relations import WindowTable
from funke.engine.sql.functions.function import Session
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.sql.window_kinds import CumulativeWindows, HoppingWindows, SessionWindows, TumblingWindows, Windows
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table.types import DataTypes

CLICKS = Scan(
    (
        Column("id", DataTypes.INT()),
        Column("ts", DataTypes.TIMESTAMP(3), TimeAttribute.ROWTIME),
        Column("pt", DataTypes.TIMESTAMP_LTZ(3).not_null(), TimeAttribute.PROCTIME),
        Column("plain", DataTypes.TIMESTAMP(3)),
    ),
    None,
)
TABLES: dict[tuple[str, ...], Relation] = {("clicks",): CLICKS}


def bound(text: str, zone: str = "UTC") -> Relation:
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    return QueryBinder(TABLES.get, Session(ZoneInfo(zone))).bind(statement.query)


def table_of(text: str, zone: str = "UTC") -> WindowTable:
    relation = bound(f"SELECT * FROM {text}", zone)
    assert isinstance(relation, Calculation)
    assert isinstance(relation.input, WindowTable)
    return relation.input


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))", TumblingWindows(5_000)),
        (
            "TUMBLE(DATA => TABLE clicks, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' DAY, "
            "`OFFSET` => INTERVAL '8' HOUR)",
            TumblingWindows(86_400_000, offset_ms=28_800_000),
        ),
        (
            "TABLE(HOP((SELECT * FROM clicks WHERE id > 1), DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '5' SECOND))",
            HoppingWindows(5_000, 1_000),
        ),
        (
            "TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(pt), INTERVAL '1' MINUTE, INTERVAL '1' HOUR))",
            CumulativeWindows(3_600_000, 60_000),
        ),
        (
            "TABLE(SESSION(TABLE clicks PARTITION BY id, DESCRIPTOR(ts), INTERVAL '9' SECOND))",
            SessionWindows(9_000),
        ),
    ],
)
def test_windows_lie_as_they_were_described(text: str, windows: Windows) -> None:
    assert table_of(text).windows == replace(windows, is_table_function=True)


def test_rows_get_the_bounds_of_their_windows() -> None:
    table = table_of("TABLE(SESSION(TABLE clicks PARTITION BY id, DESCRIPTOR(ts), INTERVAL '9' SECOND))")
    assert [(column.name, to_sql_text(column.type), column.time) for column in table.columns[-3:]] == [
        ("window_start", "TIMESTAMP(3) NOT NULL", None),
        ("window_end", "TIMESTAMP(3) NOT NULL", None),
        ("window_time", "TIMESTAMP(3) NOT NULL", TimeAttribute.ROWTIME),
    ]
    assert table.columns[1].time is TimeAttribute.ROWTIME
    assert table.partition_by == (0,)
    assert table.time.zone is None


def test_windows_of_processing_time_lie_in_the_zone_of_the_session() -> None:
    table = table_of("TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(pt), INTERVAL '5' SECOND))", "Asia/Shanghai")
    assert (table.time.column, table.time.is_event_time, table.time.zone) == (2, False, ZoneInfo("Asia/Shanghai"))
    assert to_sql_text(table.columns[-1].type) == "TIMESTAMP_LTZ(3) NOT NULL"
    assert table.columns[-1].time is TimeAttribute.PROCTIME


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TUMBLE(TABLE clicks, DESCRIPTOR(nope), INTERVAL '5' SECOND)", "Unknown identifier 'nope'"),
        (
            "TUMBLE(TABLE clicks, DESCRIPTOR(plain), INTERVAL '5' SECOND)",
            r"The window function requires the timecol is a time attribute type, but is TIMESTAMP\(3\).",
        ),
        (
            "TUMBLE(TABLE clicks, DESCRIPTOR(id), INTERVAL '5' SECOND)",
            "requires the timecol to be TIMESTAMP or TIMESTAMP_LTZ, but is INT",
        ),
        ("TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' MONTH)", "MONTH and YEAR time unit are not supported yet"),
        (
            "TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '0' SECOND)",
            "TUMBLE table function based aggregate requires size to be positive, but got 0 ms.",
        ),
        (
            "CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '5' SECOND)",
            "requires maxSize must be an integral multiple of step, but got maxSize 5000 ms and step 2000 ms.",
        ),
    ],
)
def test_what_is_rejected(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        table_of(f"TABLE({text})")
