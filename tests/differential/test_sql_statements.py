"""Statements that the reference accepts have a meaning here; what it refuses is refused here, at the same place.

`sql/record_statements.py` has recorded what the reference says of them.
"""

from __future__ import annotations

import re

import pytest

from funke.engine.errors import FunkeError, SqlParserError
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import (
    CreateTable,
    Describe,
    Explain,
    Insert,
    QueryStatement,
    Show,
    StatementSet,
)
from funke.table import EnvironmentSettings, TableEnvironment
from tests.differential.sql.recorded_form import read_lines
from tests.differential.sql.statements import PRELUDE

RECORDED = read_lines("sql_statements.jsonl.gz")
LOCATION = re.compile(r"(From line \d+, column \d+ to line \d+, column \d+|[Aa]t line \d+, column \d+)")
# Statement -> why it is answered otherwise than by the reference.
_SESSION = "only a shell reads it without quotes"
_DEFINED = "the type is refused when the table is made; the reference refuses it when it is used"
KNOWN_DIFFERENCES: dict[str, str] = {
    "RESET a": _SESSION,
    "RESET ALL": _SESSION,
    "SET a = b": _SESSION,
    "SET a.b.c = 'd'": _SESSION,
    "SELECT default_database.orders.id FROM orders": "a column has no path of a database before its table",
    "INSERT INTO parted PARTITION (dt = '2024') SELECT id, item FROM orders": "print has no partitions here",
    "SELECT JSON_VALUE(id, '$.a') FROM orders": "only texts are JSON",
    "CREATE TABLE bad (a CHAR(0)) WITH ('connector' = 'print')": _DEFINED,
    "SELECT TUMBLE_PROCTIME(p, INTERVAL '1' HOUR) FROM orders GROUP BY TUMBLE(p, INTERVAL '1' HOUR)": (
        "the reference cannot compute it"
    ),
}
# What is refused with another place than by the reference, or with none: that of the whole call, query or statement.
ELSEWHERE = frozenset(
    """
SELECT UPPER(DISTINCT item) FROM orders
SELECT a FROM (SELECT id FROM orders) AS s (a, b)
WITH x (a, b) AS (SELECT id FROM orders) SELECT a FROM x
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(missing), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts)))
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), 5))
SELECT * FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
SELECT * FROM TABLE(NO_WINDOW(TABLE orders, DESCRIPTOR(ts)))
SELECT COUNT(*) FROM orders GROUP BY TUMBLE(id, INTERVAL '1' HOUR)
SELECT SUM(amount) OVER w FROM orders
SELECT COUNT(*) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM orders
SELECT t FROM orders CROSS JOIN UNNEST(tags) AS u (t, s)
SELECT id IN ('a', tags) FROM orders
SELECT COUNT(id, item, price, ok) + COUNT() FROM orders
INSERT INTO totals (missing) SELECT item FROM orders
INSERT INTO totals (item, item) SELECT item, item FROM orders
INSERT INTO totals (item) SELECT item, id FROM orders
INSERT INTO parted PARTITION (missing = '2024') SELECT id, item FROM orders
CREATE TABLE bad (a INT, PRIMARY KEY (missing) NOT ENFORCED) WITH ('connector' = 'print')
CREATE TABLE bad (a INT, WATERMARK FOR missing AS missing) WITH ('connector' = 'print')
CREATE TABLE bad LIKE missing
CREATE TABLE bad (a NO_TYPE) WITH ('connector' = 'print')
CREATE VIEW bad (a, a) AS SELECT id, item FROM orders
""".strip().splitlines()
)


def entries(of: str, is_accepted: bool) -> list[dict[str, str]]:
    return [each for each in RECORDED if each["of"] == of and ("why" not in each) is is_accepted]


def strings(of: str, is_accepted: bool) -> list[str]:
    return [each["s"] for each in entries(of, is_accepted) if each["s"] not in KNOWN_DIFFERENCES]


def environment() -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for each in PRELUDE:
        tables.execute_sql(each)
    return tables


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    """For statements that change nothing."""
    return environment()


def tried(t_env: TableEnvironment, text: str) -> str | None:
    """What a statement says before a job would have to run; None if it has a meaning."""
    try:
        (statement,) = parse(text)
        if isinstance(statement, (QueryStatement, Insert, StatementSet)):
            t_env.explain_sql(text)
        elif isinstance(statement, CreateTable) and statement.query is not None:
            t_env.explain_sql(text.partition(" AS ")[2])  # the statement itself would start a job
        elif isinstance(statement, (Show, Describe, Explain)):
            t_env.execute_sql(text)
        else:
            environment().execute_sql(text)
    except FunkeError as error:
        return str(error)
    return None


def position_in(message: str) -> str | None:
    match = LOCATION.search(message)
    return None if match is None else match[0].lower()


def test_there_are_enough_of_them() -> None:
    assert len(entries("grammar", True)) + len(entries("meaning", True)) >= 300
    assert len([each for each in entries("meaning", False) if position_in(each["why"])]) >= 100


def test_what_can_be_read() -> None:
    assert [text for text in strings("grammar", True) if len(parse(text)) != 1] == []


def test_what_cannot_be_read() -> None:
    different = []
    for each in entries("grammar", False):
        with pytest.raises(SqlParserError) as caught:
            parse(each["s"])
        if position_in(each["why"]) not in (None, f"at line {caught.value.line}, column {caught.value.column}"):
            different.append(f"{each['s']}\n  wanted {each['why']}\n  found  {caught.value}")
    assert not different, "\n".join(different)


def test_what_has_a_meaning(t_env: TableEnvironment) -> None:
    rejected = {text: why for text in strings("meaning", True) if (why := tried(t_env, text)) is not None}
    assert rejected == {}


def test_what_has_no_meaning(t_env: TableEnvironment) -> None:
    different = []
    for each in entries("meaning", False):
        why = "" if each["s"] in KNOWN_DIFFERENCES else tried(t_env, each["s"])
        has_position = each["s"] in KNOWN_DIFFERENCES or each["s"] in ELSEWHERE or position_in(each["why"]) is None
        if why is None or not (has_position or position_in(why) == position_in(each["why"])):
            different.append(f"{each['s']}\n  wanted {each['why']}\n  found  {why}")
    assert not different, "\n".join(different)


def test_known_differences_are_statements() -> None:
    assert {*KNOWN_DIFFERENCES, *ELSEWHERE} <= {each["s"] for each in RECORDED}
