"""Gives UNION, INTERSECT and EXCEPT their meaning."""

from __future__ import annotations

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction
from funke.engine.sql.binding.grouped_queries import distinct_rows
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Calculation, Column, Relation, UnionAll
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.extremes import MAX
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import Argument, bind
from funke.engine.sql.syntax.queries import SetOperation
from funke.engine.types.logical.atomic_types import BooleanType

__all__ = ["of_relations", "words_of"]

_TRUTH = BooleanType(False)


def words_of(query: SetOperation) -> str:
    """The operation as it is written."""
    return f"{query.kind.upper()} ALL" if query.is_all else query.kind.upper()


def of_relations(query: SetOperation, columns: tuple[Column, ...], left: Relation, right: Relation) -> Relation:
    """The operation on two relations whose types are those of the columns."""
    if query.kind == "union":
        union = UnionAll(columns, (left, right))
        return union if query.is_all else distinct_rows(union)
    if query.is_all:
        raise UnsupportedFeatureError(f"{words_of(query)} in SQL")
    return _compared(columns, left, right, is_in_both=query.kind == "intersect")


def _compared(columns: tuple[Column, ...], left: Relation, right: Relation, is_in_both: bool) -> Relation:
    """The rows of the left side that are, or are not, on the right side: each one knows where it is."""
    marked = (*columns, Column("is_left", _TRUTH), Column("is_right", _TRUTH))
    sides = (_marked(left, marked, is_left=True), _marked(right, marked, is_left=False))
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
    same = tuple(BoundColumn(each.type, place, each.name) for place, each in enumerate(columns))
    return Calculation(columns, counted, same, condition)


def _marked(relation: Relation, columns: tuple[Column, ...], is_left: bool) -> Relation:
    same = (BoundColumn(each.type, place, each.name) for place, each in enumerate(relation.columns))
    marks = (BoundConstant(_TRUTH, is_left), BoundConstant(_TRUTH, not is_left))
    return Calculation(columns, relation, (*same, *marks))


def _call(name: str, *arguments: BoundExpression) -> BoundExpression:
    call = bind(FUNCTIONS[name], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)
