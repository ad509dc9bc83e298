"""Columns that are computed of others, and rows that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundFunction
from funke.engine.sql.binding.relations import Calculation, Column, Scan
from funke.engine.sql.functions import evaluation
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.types.logical.atomic_types import IntType
from funke.engine.types.logical.collection_types import ArrayType
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factories_of
from tests.harness.sql_changelogs import RunningQuery, batch_of, bound_query

INT = IntType()


def test_what_occurs_twice_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    plain = evaluation.column_function

    def counted(call: Any) -> Any:
        evaluate = plain(call)

        def noted(columns: Any, length: int) -> Any:
            calls.append(call.function.name)
            return evaluate(columns, length)

        return noted

    monkeypatch.setattr("funke.engine.sql.binding.expressions.column_function", counted)
    text = "SELECT UPPER(item), CHAR_LENGTH(UPPER(item)) FROM t WHERE UPPER(item) <> 'BEER'"
    query = RunningQuery(bound_query(text, item="STRING"))
    assert query.feed([("+I", ("beer",)), ("+I", (None,)), ("+I", ("rubber",))]) == [("+I", ("RUBBER", 6))]
    assert sorted(calls) == ["<>", "char_length", "upper"]


def test_constants_that_cannot_be_hashed_are_constants_like_others() -> None:
    number, numbers = BoundColumn(INT, 0, "n"), BoundConstant(ArrayType(INT), [1, 2])
    call = bind(FUNCTIONS["array_contains"], [numbers.as_argument(), number.as_argument()])
    contains = BoundFunction(call.result, call, (numbers, number))
    columns = (Column("n", INT),)
    relation = Calculation((Column("c", call.result),), Scan(columns, None), (contains,), contains)
    query = RunningQuery(relation)
    assert query.feed([("+I", (2,)), ("+I", (3,))]) == [("+I", (True,))]


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("SELECT a, b FROM t", ["a", "b"], (1, "x")),
        ("SELECT a AS b, b AS a FROM t", ["b", "a"], (1, "x")),
        ("SELECT b, b AS c, a FROM t", ["b", "c", "a"], ("x", "x", 1)),
    ],
)
def test_columns_that_are_only_chosen_keep_their_arrays(text: str, names: list[str], expected: tuple[Any, ...]) -> None:
    relation = bound_query(text, a="INT", b="STRING")
    batch = batch_of([("-U", (1, "x")), ("+U", (1, "x"))], bound_query("SELECT * FROM t", a="INT", b="STRING").columns)
    harness = OperatorHarness(ColumnOperator(factories_of(relation)[0]), keeps_columns=True)
    harness.operator.process_columns(batch)
    (sent,) = harness.elements()
    assert sent.data.schema.names == names and [each.name for each in relation.columns] == names
    assert [tuple(row.values()) for row in sent.data.to_pylist()] == [expected, expected]
    assert sent.kinds.tolist() == batch.kinds.tolist()
    addresses = {column.buffers()[1].address for column in batch.data.columns}
    assert {column.buffers()[1].address for column in sent.data.columns} == addresses
