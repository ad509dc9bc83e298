"""Which columns of a query are time: plain references stay what they are, computed values are none."""

from __future__ import annotations

import pytest

from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.table.types import DataTypes

ROWTIME, PROCTIME = TimeAttribute.ROWTIME, TimeAttribute.PROCTIME
STAMP = DataTypes.TIMESTAMP(3)
CLICKS = Scan(
    (
        Column("user", DataTypes.STRING()),
        Column("ts", STAMP, ROWTIME),
        Column("pt", DataTypes.TIMESTAMP_LTZ(3).not_null(), PROCTIME),
        Column("plain", STAMP),
    ),
    None,
)
TABLES: dict[tuple[str, ...], Relation] = {("clicks",): CLICKS}


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("SELECT * FROM clicks", [None, ROWTIME, PROCTIME, None]),
        ("SELECT c.ts AS t FROM clicks AS c WHERE c.ts > TIMESTAMP '2020-01-01 00:00:00'", [ROWTIME]),
        ("SELECT t FROM (SELECT ts AS t FROM clicks)", [ROWTIME]),
        ("SELECT b FROM clicks AS c (a, b, c, d)", [ROWTIME]),
        ("WITH t (a, b, c, d) AS (SELECT * FROM clicks) SELECT b, c FROM t", [ROWTIME, PROCTIME]),
        ("SELECT ts + INTERVAL '1' SECOND, CAST(ts AS TIMESTAMP(3)), COALESCE(ts) FROM clicks", [None, None, None]),
        ("SELECT PROCTIME() AS p FROM clicks", [PROCTIME]),
        ("SELECT ts, pt FROM clicks UNION ALL SELECT ts, pt FROM clicks", [ROWTIME, PROCTIME]),
        ("SELECT ts, pt FROM clicks UNION ALL SELECT plain, pt FROM clicks", [None, PROCTIME]),
        ("SELECT plain, pt FROM clicks UNION ALL SELECT ts, CURRENT_TIMESTAMP FROM clicks", [None, None]),
    ],
)
def test_time_attributes(text: str, times: list[TimeAttribute | None]) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    relation = QueryBinder(TABLES.get).bind(statement.query)
    assert [column.time for column in relation.columns] == times
