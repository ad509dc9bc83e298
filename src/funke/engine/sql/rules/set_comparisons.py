"""The plans of INTERSECT and EXCEPT: rows are counted, in streams looked up on the other side, as in Flink."""

from __future__ import annotations

from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    Calculation,
    Column,
    Relation,
    UnionAll,
    with_inputs,
)
from funke.engine.sql.binding.grouped_queries import distinct_rows
from funke.engine.sql.binding.set_operations import SetComparison
from funke.engine.sql.binding.subqueries.correlations import Correlation
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction, bind_aggregate
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.aggregates.extremes import MAX
from funke.engine.sql.functions.aggregates.sums import SUM
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import Argument, Function, bind
from funke.engine.sql.plan.correlate import REPEATED
from funke.engine.sql.plan.joins.semi_join import SemiJoin
from funke.engine.sql.plan.lower import lower
from funke.engine.types.logical import ArrayType, BigIntType, BooleanType, DataType

__all__ = ["with_set_comparisons"]

# What says on which side a row is.
Marks = tuple[object, ...]

_TRUTH, _MARK = BooleanType(False), BooleanType()
_COUNT = BigIntType(False)
# So many elements that a row is repeated for each of them.
_COPIES = Function((REPEATED,), "integer", ArrayType(_TRUTH, False), lambda number: [True] * number)


def with_set_comparisons(relation: Relation, is_streaming: bool) -> Relation:
    """Replaces comparisons of sets by nodes that jobs can run."""
    changed = with_inputs(relation, lambda each: with_set_comparisons(each, is_streaming))
    if not isinstance(changed, SetComparison):
        return changed
    if changed.is_all:
        return lower(_in_both(changed) if changed.is_in_both else _more_often(changed))
    return lower(_looked_up(changed) if is_streaming else _compared(changed))


def _in_both(comparison: SetComparison) -> Relation:
    """Each row as often as it is on both sides."""
    # INTERSECT ALL: the smaller of both counts. The columns have the names of Flink's plan.
    marks = (Column("vcol_left_marker", _MARK), Column("vcol_right_marker", _MARK))
    counts = (Column("vcol_left_cnt", _COUNT), Column("vcol_right_cnt", _COUNT))
    counted = _counted(comparison, marks, ((True, None), (None, True)), COUNT, counts)
    left, right = _results(comparison, counts)
    one = BoundConstant(_COUNT, 1)
    condition = _call("and", _call(">=", left, one), _call(">=", right, one))
    return _repeated(comparison.columns, counted, _call("if", _call(">", left, right), right, left), "$f0", condition)


def _more_often(comparison: SetComparison) -> Relation:
    """Each row as often as it is on the left side, less as often as it is on the right side."""
    # EXCEPT ALL: 1 for each row of the left side, -1 for each of the right side; the sum says how often to repeat.
    total = (Column("sum_vcol_marker", _COUNT),)
    counted = _counted(comparison, (Column("vcol_marker", _COUNT),), ((1,), (-1,)), SUM, total)
    (times,) = _results(comparison, total)
    condition = _call(">", times, BoundConstant(_COUNT, 0))
    return _repeated(comparison.columns, counted, times, times.name, condition)


def _repeated(
    columns: tuple[Column, ...], counted: Relation, times: BoundExpression, name: str, condition: BoundExpression
) -> Relation:
    some = Calculation((Column(name, _COUNT), *columns), counted, (times, *_same(columns)), condition)
    call = bind(_COPIES, [Argument(_COUNT)])
    copies = BoundFunction(call.result, call, (BoundColumn(_COUNT, 0, name),))
    repeated = Correlation((*some.columns, Column("copy", _TRUTH)), some, None, (copies,))
    return Calculation(columns, repeated, _same(columns, 1))


def _looked_up(comparison: SetComparison) -> Relation:
    """The rows of the left side that are, or are not, on the right side; each of them once."""
    # In streams a semi join keeps two numbers for each row; an aggregate would emit every change of the marks.
    left, right = map(lower, comparison.inputs)
    return distinct_rows(SemiJoin(comparison.columns, left, right, not comparison.is_in_both))


def _compared(comparison: SetComparison) -> Relation:
    """The result of a batch, in which each row knows on which sides it is."""
    marks = (Column("in_left", _TRUTH), Column("in_right", _TRUTH))
    counted = _counted(comparison, marks, ((True, False), (False, True)), MAX, marks)
    in_left, in_right = _results(comparison, marks)
    condition = _call("and", in_left, in_right if comparison.is_in_both else _call("not", in_right))
    return Calculation(comparison.columns, counted, _same(comparison.columns), condition)


def _counted(
    comparison: SetComparison,
    marks: tuple[Column, ...],
    values: tuple[Marks, Marks],
    function: AggregateFunction,
    results: tuple[Column, ...],
) -> Aggregation:
    """An aggregate of the marks of each row, those of the left and of the right side."""
    number = len(comparison.columns)
    call = bind_aggregate(function, [Argument(marks[0].type)], may_be_empty=False)
    aggregates = tuple(BoundAggregate(call, (number + index,)) for index in range(len(marks)))
    sides = _sides(comparison, marks, values)
    return Aggregation((*comparison.columns, *results), sides, tuple(range(number)), aggregates)


def _results(comparison: SetComparison, results: tuple[Column, ...]) -> tuple[BoundColumn, ...]:
    return _same(results, len(comparison.columns))


def _sides(comparison: SetComparison, marks: tuple[Column, ...], values: tuple[Marks, Marks]) -> UnionAll:
    """The rows of both sides, with what tells them apart."""
    columns = (*comparison.columns, *marks)
    return UnionAll(columns, tuple(_marked(each, columns, own) for each, own in zip(comparison.inputs, values)))


def _marked(relation: Relation, columns: tuple[Column, ...], values: Marks) -> Relation:
    own = relation.columns
    constants = (BoundConstant(_type_of(each), each) for each in values)
    return Calculation(columns, relation, (*_same(own), *constants))


def _type_of(value: object) -> DataType:
    if value is None:
        return _MARK
    return _TRUTH if isinstance(value, bool) else _COUNT


def _same(columns: tuple[Column, ...], first: int = 0) -> tuple[BoundColumn, ...]:
    return tuple(BoundColumn(each.type, first + index, each.name) for index, each in enumerate(columns))


def _call(name: str, *arguments: BoundExpression) -> BoundExpression:
    call = bind(FUNCTIONS[name], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)
