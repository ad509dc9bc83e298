"""Projection and filter on columns: values, nulls, and what stays beside the columns."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.graph.column_expressions import (
    And,
    Arithmetic,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Not,
    Or,
)
from funke.engine.graph.operations import ProjectColumns
from funke.engine.operators.table.column_functions import columns_in
from funke.engine.operators.table.project import projected_type
from funke.engine.types import RowKind, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.operator_location import OperatorLocation
from tests.harness.operator_harness import OperatorHarness, Recorder, Watermark

A, B = Column("a"), Column("b")


def run(operation: ProjectColumns, batch: ColumnBatch) -> list[Any]:
    """What comes out."""
    operator, receiver = OperatorHarness(operation).operator, Recorder(takes_columns=True)
    operator.output.connect(receiver, OperatorLocation("receiver"))
    operator.process_columns(batch)
    return receiver.elements


def evaluate(expression: Expression, **columns: Any) -> list[Any]:
    (batch,) = run(ProjectColumns((("x", expression),)), ColumnBatch(pa.record_batch(columns)))
    values: list[Any] = batch.data.column("x").to_pylist()
    return values


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (A, [7, -7, None]),
        (Literal(5), [5, 5, 5]),
        (Literal(None, Types.LONG()), [None, None, None]),
        (Literal("x"), ["x", "x", "x"]),
        (Arithmetic("+", A, Literal(1)), [8, -6, None]),
        (Arithmetic("-", A, B), [5, -9, None]),
        (Arithmetic("*", A, B), [14, -14, None]),
        (Arithmetic("/", A, B), [3, -3, None]),
        (Comparison("=", A, Literal(7)), [True, False, None]),
        (Comparison("<>", A, Literal(7)), [False, True, None]),
        (Comparison("<", A, B), [False, True, None]),
        (Comparison("<=", A, Literal(7)), [True, True, None]),
        (Comparison(">", A, B), [True, False, None]),
        (Comparison(">=", A, Literal(-7)), [True, True, None]),
        (IsNull(A), [False, False, True]),
        (Not(Comparison(">", A, B)), [False, True, None]),
        (And(Comparison(">", A, B), Literal(False)), [False, False, False]),
        (And(Comparison(">", A, B), Literal(True)), [True, False, None]),
        (Or(Comparison(">", A, B), Literal(True)), [True, True, True]),
        (Or(Comparison(">", A, B), Not(IsNull(A))), [True, True, None]),
    ],
    ids=str,
)
def test_expressions(expression: Expression, expected: list[Any]) -> None:
    assert evaluate(expression, a=pa.array([7, -7, None]), b=pa.array([2, 2, 2])) == expected


def test_integers_wrap_around_as_in_java() -> None:
    assert evaluate(Arithmetic("+", A, Literal(1)), a=pa.array([2**63 - 1])) == [-(2**63)]


def test_numbers_are_widened_and_typed_literals_are_not() -> None:
    narrow = pa.array([2**31 - 1], pa.int32())
    assert evaluate(Arithmetic("+", A, Literal(1)), a=narrow) == [2**31]
    assert evaluate(Arithmetic("+", A, Literal(1, Types.INT())), a=narrow) == [-(2**31)]


def test_dates_and_strings_compare() -> None:
    day = datetime.date(2024, 2, 29)
    assert evaluate(Comparison(">=", A, Literal(day)), a=pa.array([day, datetime.date(2024, 1, 1)])) == [True, False]
    assert evaluate(Comparison("<", A, Literal("b")), a=pa.array(["a", "b"])) == [True, False]


def test_rows_for_which_the_condition_is_false_or_null_are_dropped_with_all_that_belongs_to_them() -> None:
    data = pa.record_batch({"a": pa.array([1, 5, None, 7]), "b": ["p", "q", "r", "s"], "unread": [0, 0, 0, 0]})
    kinds = np.array([0, 3, 0, 2], np.int8)
    operation = ProjectColumns((("name", B), ("twice", Arithmetic("*", A, Literal(2)))), Comparison(">", A, Literal(4)))
    (batch,) = run(operation, ColumnBatch(data, np.array([10, 20, 30, 40]), kinds))
    assert batch.data.to_pydict() == {"name": ["q", "s"], "twice": [10, 14]}
    assert batch.timestamps.tolist() == [20, 40]
    assert [RowKind(kind) for kind in batch.kinds] == [RowKind.DELETE, RowKind.UPDATE_AFTER]


@pytest.mark.parametrize(("condition", "rows"), [(Literal(True), 3), (Literal(False), 0), (Literal(None), 0)], ids=str)
def test_a_condition_that_looks_at_no_column(condition: Expression, rows: int) -> None:
    results = run(ProjectColumns((("a", A),), condition), ColumnBatch(pa.record_batch({"a": [1, 2, 3]})))
    assert sum(map(len, results)) == rows


def test_a_projection_may_read_no_column_at_all() -> None:
    operation = ProjectColumns((("one", Literal(1)),), Comparison(">", A, Literal(1)))
    (batch,) = run(operation, ColumnBatch(pa.record_batch({"b": ["x", "y"], "a": [1, 2]})))
    assert batch.data.to_pydict() == {"one": [1]}


def test_what_is_dropped_is_not_computed() -> None:
    by_zero = ProjectColumns((("x", Arithmetic("/", Literal(10), A)),), Comparison("<>", A, Literal(0)))
    (batch,) = run(by_zero, ColumnBatch(pa.record_batch({"a": [0, 5]})))
    assert batch.data.to_pydict() == {"x": [2]}
    with pytest.raises(pa.ArrowInvalid, match="divide by zero"):
        run(ProjectColumns(by_zero.columns), ColumnBatch(pa.record_batch({"a": [0, 5]})))


@settings(max_examples=50)
@given(some.lists(some.tuples(some.integers(-3, 3) | some.none(), some.integers(-3, 3) | some.none())))
def test_the_same_rows_as_in_python(rows: list[tuple[int | None, int | None]]) -> None:
    condition = Or(And(Comparison(">", A, Literal(0)), Not(Comparison("=", A, B))), IsNull(B))
    data = pa.record_batch(
        {"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.int64())}
    )
    projected = run(ProjectColumns((("a", A), ("sum", Arithmetic("+", A, B))), condition), ColumnBatch(data))
    kept = [(a, b) for a, b in rows if b is None or (a is not None and a > 0 and a != b)]
    expected = [{"a": a, "sum": None if a is None or b is None else a + b} for a, b in kept]
    assert [row for batch in projected for row in batch.data.to_pylist()] == expected


def test_watermarks_pass_and_records_are_counted() -> None:
    harness = OperatorHarness(ProjectColumns((("a", A),), Comparison(">", A, Literal(1))))
    harness.operator.process_columns(ColumnBatch(pa.record_batch({"a": [1, 2]})))
    harness.operator.process_watermark(9)
    assert harness.recorder.elements[-1] == Watermark(9)
    metrics = harness.operator.metrics()
    assert (metrics["numRecordsIn"], metrics["numRecordsOut"]) == (2, 1)


def test_the_type_of_what_comes_out() -> None:
    row_type = Types.ROW_NAMED(["a", "b", "at"], [Types.INT(), Types.STRING(), Types.INSTANT()])
    operation = ProjectColumns((("at", Column("at")), ("more", Arithmetic("+", A, Literal(1))), ("is", IsNull(B))))
    projected = projected_type(operation, row_type)
    assert projected.get_field_names() == ["at", "more", "is"]
    assert projected.get_field_types() == [Types.INSTANT(), Types.LONG(), Types.BOOLEAN()]


def test_the_columns_that_an_expression_reads() -> None:
    assert columns_in(And(Comparison("=", A, Literal(1)), Not(IsNull(B)))) == {"a", "b"}


def test_an_expression_that_nobody_compiles_is_rejected() -> None:
    class Odd(Expression):
        pass

    with pytest.raises(UnsupportedFeatureError, match="Odd"):
        OperatorHarness(ProjectColumns((("x", Odd()),)))
