"""Gives UNION, INTERSECT and EXCEPT their meaning."""

from __future__ import annotations

from funke.engine.sql.binding.correlations import Correlation
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction
from funke.engine.sql.binding.grouped_queries import distinct_rows
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Calculation, Column, Relation, UnionAll
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.extremes import MAX
from funke.engine.sql.functions.aggregates.sums import SUM
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import Argument, Function, bind
from funke.engine.sql.syntax.queries import SetOperation
from funke.engine.types.logical.atomic_types import BigIntType, BooleanType
from funke.engine.types.logical.collection_types import ArrayType

__all__ = ["of_relations", "words_of"]

_TRUTH = BooleanType(False)
_COUNT = BigIntType(False)
_SUM = bind_aggregate(SUM, [Argument(_COUNT)], may_be_empty=False)
# So many elements that a row is repeated for each of them.
_COPIES = Function(("$copies",), "integer", ArrayType(_TRUTH, False), lambda number: [True] * number)


def words_of(query: SetOperation) -> str:
    """The operation as it is written."""
    return f"{query.kind.upper()} ALL" if query.is_all else query.kind.upper()


def of_relations(query: SetOperation, columns: tuple[Column, ...], left: Relation, right: Relation) -> Relation:
    """The operation on two relations whose types are those of the columns."""
    if query.kind == "union":
        union = UnionAll(columns, (left, right))
        return union if query.is_all else distinct_rows(union)
    compare = _counted if query.is_all else _compared
    return compare(columns, left, right, is_in_both=query.kind == "intersect")


def _counted(columns: tuple[Column, ...], left: Relation, right: Relation, is_in_both: bool) -> Relation:
    """The rows of the left side, each as often as it is on both sides, or more often than on the right side."""
    counts = (Column("is_left", _COUNT), Column("is_right", _COUNT))
    sides = (_marked(left, columns, (1, 0)), _marked(right, columns, (0, 1)))
    number = len(columns)
    sums = tuple(BoundAggregate(_SUM, (place,)) for place in (number, number + 1))
    counted = Aggregation((*columns, *counts), UnionAll((*columns, *counts), sides), tuple(range(number)), sums)
    in_left, in_right = (BoundColumn(_COUNT, number + place, each.name) for place, each in enumerate(counts))
    times = _call("least", in_left, in_right) if is_in_both else _call("-", in_left, in_right)
    copies = Column("copies", _COUNT)
    same = _same(columns)
    some = Calculation((*columns, copies), counted, (*same, times), _call(">", times, BoundConstant(_COUNT, 0)))
    call = bind(_COPIES, [Argument(_COUNT)])
    made = BoundFunction(call.result, call, (BoundColumn(_COUNT, number, copies.name),))
    repeated = Correlation((*some.columns, Column("copy", _TRUTH)), some, None, (made,))
    return Calculation(columns, repeated, same)


def _compared(columns: tuple[Column, ...], left: Relation, right: Relation, is_in_both: bool) -> Relation:
    """The rows of the left side that are, or are not, on the right side: each one knows where it is."""
    marked = (*columns, Column("is_left", _TRUTH), Column("is_right", _TRUTH))
    sides = (_marked(left, columns, (True, False)), _marked(right, columns, (False, True)))
    # Whether it is there, not how often: what does not change is not sent.
    is_there = bind_aggregate(MAX, [Argument(_TRUTH)], may_be_empty=False)
    number = len(columns)
    flags = tuple(BoundAggregate(is_there, (place,)) for place in (number, number + 1))
    counted = Aggregation(
        (*columns, Column("in_left", _TRUTH), Column("in_right", _TRUTH)),
        UnionAll(marked, sides),
        tuple(range(number)),
        flags,
    )
    in_left: BoundExpression = BoundColumn(_TRUTH, number, "in_left")
    in_right: BoundExpression = BoundColumn(_TRUTH, number + 1, "in_right")
    condition = _call("and", in_left, in_right if is_in_both else _call("not", in_right))
    return Calculation(columns, counted, _same(columns), condition)


def _marked(relation: Relation, columns: tuple[Column, ...], marks: tuple[int, int]) -> Relation:
    """The rows of one side, with what says that they are on the left and on the right one."""
    data_type = _TRUTH if isinstance(marks[0], bool) else _COUNT
    named = (Column("is_left", data_type), Column("is_right", data_type))
    constants = (BoundConstant(data_type, each) for each in marks)
    return Calculation((*columns, *named), relation, (*_same(relation.columns), *constants))


def _same(columns: tuple[Column, ...]) -> tuple[BoundColumn, ...]:
    return tuple(BoundColumn(each.type, place, each.name) for place, each in enumerate(columns))


def _call(name: str, *arguments: BoundExpression) -> BoundExpression:
    call = bind(FUNCTIONS[name], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)
