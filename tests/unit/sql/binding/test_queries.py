"""Queries and what they mean: columns, types, values, and errors with their places."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Calculation, Column, Constants, Relation, UnionAll
from funke.engine.sql.functions.values import from_values, to_value, to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table.types import DataTypes

INT, TEXT = DataTypes.INT(), DataTypes.STRING()
ORDERS = Constants(
    (Column("id", INT), Column("item", TEXT), Column("price", DataTypes.DECIMAL(10, 2))),
    ((1, "beer", 3), (2, None, 5), (3, "rubber", None)),
)
TABLES: dict[tuple[str, ...], Relation] = {("orders",): ORDERS}


def bound(text: str) -> Relation:
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    return QueryBinder(TABLES.get).bind(statement.query)


def rows_of(relation: Relation) -> list[tuple[Any, ...]]:
    """What a relation gives, computed batch by batch without a job."""
    if isinstance(relation, Constants):
        return list(relation.rows)
    if isinstance(relation, UnionAll):
        return [row for each in relation.inputs for row in rows_of(each)]
    assert isinstance(relation, Calculation)
    rows = rows_of(relation.input)
    columns = [from_values(list(values), column.type) for values, column in zip(zip(*rows), relation.input.columns)]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema_of(relation.input.columns))
    if relation.condition is not None:
        mask = column_of(relation.condition)(batch)
        batch = batch.filter(pa.repeat(mask, len(batch)) if isinstance(mask, pa.Scalar) else mask)
    results = [column_of(expression)(batch) for expression in relation.expressions]
    lists = [
        [to_value(column, each.type)] * len(batch) if isinstance(column, pa.Scalar) else to_values(column, each.type)
        for column, each in zip(results, relation.columns)
    ]
    return list(zip(*lists))


@pytest.mark.parametrize(
    ("text", "types", "rows"),
    [
        ("SELECT 1", {"EXPR$0": "INT NOT NULL"}, [(1,)]),
        ("SELECT id, id AS id FROM orders", {"id": "INT", "id0": "INT"}, [(1, 1), (2, 2), (3, 3)]),
        ("SELECT o.id + 1 FROM orders AS o WHERE o.id > 1", {"EXPR$0": "INT"}, [(3,), (4,)]),
        ("SELECT id FROM orders WHERE item IS NULL OR id = 3", {"id": "INT"}, [(2,), (3,)]),
        ("SELECT id FROM orders WHERE price > 4", {"id": "INT"}, [(2,)]),
        (
            "SELECT CASE WHEN id = 1 THEN 'one' ELSE 'more' END AS word FROM orders",
            {"word": "VARCHAR(4) NOT NULL"},
            [("one",), ("more",), ("more",)],
        ),
        ("SELECT CAST(id AS BIGINT) AS b FROM orders WHERE id = 1", {"b": "BIGINT"}, [(1,)]),
        ("SELECT id FROM orders WHERE (id, item) NOT IN ((2, 'x'), (9, 'y'))", {"id": "INT"}, [(1,), (3,)]),
        ("SELECT +id AS i, TRUNCATE(12.345, -1) AS n FROM orders", {"i": "INT", "n": "DECIMAL(3, 0) NOT NULL"}, None),
        ("SELECT x FROM (SELECT id AS x FROM orders) WHERE x < 2", {"x": "INT"}, [(1,)]),
        ("SELECT a FROM orders AS t (a, b, c) WHERE a = 2", {"a": "INT"}, [(2,)]),
        ("WITH t (a) AS (SELECT id FROM orders) SELECT a FROM t WHERE a >= 3", {"a": "INT"}, [(3,)]),
        ("VALUES (1, 'a'), (2, 'bc')", {"EXPR$0": "INT NOT NULL", "EXPR$1": "VARCHAR(2) NOT NULL"}, None),
        ("VALUES (1e0), (0.1), (2)", {"EXPR$0": "DOUBLE NOT NULL"}, [(1.0,), (0.1,), (2.0,)]),
        ("SELECT id FROM orders UNION ALL VALUES (7)", {"id": "INT"}, [(1,), (2,), (3,), (7,)]),
    ],
)
def test_what_queries_mean(text: str, types: dict[str, str], rows: list[tuple[Any, ...]] | None) -> None:
    relation = bound(text)
    assert {column.name: to_sql_text(column.type) for column in relation.columns} == types
    if rows is not None:
        assert rows_of(relation) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT x FROM orders", "At line 1, column 8: Column 'x' not found in any table"),
        ("SELECT ID FROM orders", "Column 'ID' not found in any table; did you mean 'id'"),
        ("SELECT o.x FROM orders AS o", "Column 'x' not found in table 'o'"),
        ("SELECT p.id FROM orders", "Table 'p' not found"),
        ("SELECT id\nFROM nothing", "From line 2, column 6 to line 2, column 12: Object 'nothing' not found"),
        ("SELECT nofunction(id) FROM orders", "No match found for function signature nofunction(<NUMERIC>)"),
        ("SELECT id FROM orders WHERE id", "WHERE clause must be a condition"),
        ("SELECT a FROM orders AS t (a, b)", "List of column aliases must have same degree as table"),
    ],
)
def test_what_has_no_meaning(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError) as rejected:
        bound(text)
    assert message in str(rejected.value)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CASE WHEN id = 1 THEN 0 WHEN id = 2 THEN 10 / (id - 1) ELSE 12 / (id - 1) END", [0, 10, 6]),
        ("CASE WHEN item = 'beer' THEN 1 WHEN item IS NULL THEN CAST(NULL AS INT) ELSE 6 / (id - 1) END", [1, None, 3]),
        ("CASE WHEN id = 2 THEN item WHEN id = 3 THEN 'x' END", [None, None, "x"]),
        ("CASE id WHEN 1 THEN 10 / id END", [10, None, None]),
        ("IF(id > 1, 6 / (id - 1), -1)", [-1, 6, 3]),
        ("id > 1 AND 6 / (id - 1) > 3", [False, True, False]),
        ("id = 1 OR 6 / (id - 1) > 3", [True, True, False]),
        ("CAST(NULL AS BOOLEAN) OR 6 / id > 4", [True, None, None]),
        ("COALESCE(CAST(price AS INT), 9 / (id - 3 + 1))", [3, 5, 9]),
        ("CASE WHEN id > 0 THEN id ELSE 1 / 0 END", [1, 2, 3]),
    ],
)
def test_what_is_not_needed_is_not_computed(expression: str, expected: list[Any]) -> None:
    assert rows_of(bound(f"SELECT {expression} FROM orders")) == [(each,) for each in expected]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("JSON_OBJECT('a' VALUE JSON_ARRAY(id))", '{"a":[1]}'),
        ("JSON_OBJECT('a' VALUE JSON('{\"b\": 1}'))", '{"a":{"b":1}}'),
        ("JSON_ARRAY(JSON('[1, 2]'), JSON('null'), JSON(CAST(NULL AS STRING)))", "[[1,2],null]"),
        ("JSON_ARRAY('[1]')", '["[1]"]'),
    ],
)
def test_json_within_json(expression: str, expected: str) -> None:
    assert rows_of(bound(f"SELECT {expression} FROM orders"))[0] == (expected,)
