"""Columns that are computed of others, and rows that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundFunction
from funke.engine.sql.binding.relations import Calculation, Column, Scan
from funke.engine.sql.functions import evaluation
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.types.logical.atomic_types import IntType
from funke.engine.types.logical.collection_types import ArrayType
from tests.harness.sql_changelogs import RunningQuery, bound_query

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
