"""GROUP BY and aggregates: types, and what Flink rejects, with its words."""

from __future__ import annotations

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text

TYPES = {"id": "INT NOT NULL", "name": "CHAR(1)", "price": "DECIMAL(10, 2)", "d": "DOUBLE NOT NULL"}
TABLE = Scan(tuple(Column(name, from_sql_text(each)) for name, each in TYPES.items()), None, ("t",))


def bound(text: str) -> Relation:
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    return QueryBinder({("t",): TABLE}.get).bind(statement.query)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT id + 1, COUNT(*) FROM t GROUP BY id", {"EXPR$0": "INT NOT NULL", "EXPR$1": "BIGINT NOT NULL"}),
        ("SELECT SUM(d) AS s, MAX(id) FROM t GROUP BY id", {"s": "DOUBLE NOT NULL", "EXPR$1": "INT NOT NULL"}),
        ("SELECT SUM(d) AS s, AVG(price) AS a FROM t", {"s": "DOUBLE", "a": "DECIMAL(38, 6)"}),
        ("SELECT SUM(d) FILTER (WHERE id > 1) AS s FROM t GROUP BY id", {"s": "DOUBLE"}),
        (
            "SELECT UPPER(name) AS u, COUNT(*) + 1 AS c FROM t GROUP BY UPPER(name)",
            {"u": "CHAR(1)", "c": "BIGINT NOT NULL"},
        ),
        ("SELECT id, GROUPING(id) AS g FROM t GROUP BY ROLLUP (id)", {"id": "INT", "g": "BIGINT NOT NULL"}),
        ("SELECT id, GROUPING(id) AS g FROM t GROUP BY id", {"id": "INT NOT NULL", "g": "BIGINT NOT NULL"}),
        ("SELECT DISTINCT name, id FROM t", {"name": "CHAR(1)", "id": "INT NOT NULL"}),
        ("SELECT COUNT(id) AS c FROM t", {"c": "BIGINT NOT NULL"}),
        ("SELECT id FROM t UNION SELECT 7", {"id": "INT NOT NULL"}),
        ("SELECT id FROM t EXCEPT SELECT id FROM t", {"id": "INT NOT NULL"}),
        ("SELECT 1 AS a FROM t GROUP BY 1 + 1", {"a": "INT NOT NULL"}),
        ("SELECT id IN (SELECT 1 UNION ALL SELECT 2) AS i FROM t", {"i": "BOOLEAN NOT NULL"}),
        ("SELECT id FROM t WHERE EXISTS (SELECT 1) AND id NOT IN (VALUES 3)", {"id": "INT NOT NULL"}),
        ("SELECT (SELECT 7) AS seven FROM t", {"seven": "INT"}),
        ("SELECT t.id FROM t GROUP BY id", {"id": "INT NOT NULL"}),
    ],
)
def test_types(text: str, types: dict[str, str]) -> None:
    assert {column.name: to_sql_text(column.type) for column in bound(text).columns} == types


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT id, name, COUNT(*) FROM t GROUP BY id",
            "line 1, column 12 to line 1, column 15: Expression 'name' is not being grouped",
        ),
        (
            "SELECT COUNT(*), id + 1 FROM t",
            "line 1, column 18 to line 1, column 19: Expression 'id' is not being grouped",
        ),
        ("SELECT * FROM t GROUP BY id", "line 1, column 8: Expression 't.name' is not being grouped"),
        (
            "SELECT SUM(COUNT(*)) FROM t",
            "line 1, column 8 to line 1, column 20: Aggregate expressions cannot be nested",
        ),
        (
            "SELECT id FROM t WHERE COUNT(*) > 1",
            "column 24 to line 1, column 31: Aggregate expression is illegal in WHERE clause",
        ),
        (
            "SELECT id FROM t GROUP BY COUNT(*)",
            "column 27 to line 1, column 34: Aggregate expression is illegal in GROUP BY clause",
        ),
        ("SELECT id FROM t GROUP BY 1", "column 8 to line 1, column 9: Expression 'id' is not being grouped"),
        ("SELECT id AS x FROM t GROUP BY x", "column 32: Column 'x' not found in any table"),
        (
            "SELECT COUNT(*) FROM t HAVING id > 1",
            "column 31 to line 1, column 32: Expression 'id' is not being grouped",
        ),
        ("SELECT id FROM t GROUP BY id HAVING COUNT(*)", "HAVING clause must be a condition"),
        (
            "SELECT SUM(name) FROM t",
            "column 8 to line 1, column 16: Cannot apply 'SUM' to arguments of type 'SUM(<CHAR(1)>)'",
        ),
        ("SELECT SUM(id, id) FROM t", "Invalid number of arguments to function 'SUM'. Was expecting 1 arguments"),
        ("SELECT AVG(*) FROM t", "column 12: Unknown identifier '*'"),
        (
            "SELECT SUM(id) FILTER (WHERE name) FROM t",
            "column 30 to line 1, column 33: FILTER clause must be a condition",
        ),
        ("SELECT SUM(id) FILTER (WHERE COUNT(*) > 1) FROM t", "FILTER must not contain aggregate expression"),
        (
            "SELECT GROUPING(id) FROM t",
            "column 8 to line 1, column 19: GROUPING operator may only occur in an aggregate query",
        ),
        (
            "SELECT GROUPING(name) FROM t GROUP BY id",
            "column 17 to line 1, column 20: Argument to GROUPING operator must be a grouped expression",
        ),
        ("SELECT UPPER(DISTINCT name) FROM t", "DISTINCT/ALL not allowed with UPPER function"),
        (
            "SELECT UPPER(name) FILTER (WHERE id > 1) FROM t",
            "column 8 to line 1, column 18: FILTER must be applied to aggregate function",
        ),
        ("SELECT id FROM t UNION SELECT name, id FROM t", "Column count mismatch in UNION"),
        ("SELECT id FROM t INTERSECT SELECT name FROM t", "Type mismatch in column 1 of INTERSECT"),
    ],
)
def test_rejected(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError) as caught:
        bound(text)
    assert message in str(caught.value)
