"""Leaves out what nobody looks at: columns of calculations, and aggregates.

It is more than thrift: an aggregation whose results do not change sends nothing, so that a result which nobody sees
would show in the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction
from funke.engine.sql.binding.relations import (
    Aggregation,
    BoundAggregate,
    Calculation,
    Expansion,
    Relation,
    UnionAll,
)

__all__ = ["without_unused"]

# From the place of a column to its place now.
Places = Mapping[int, int]


def without_unused(relation: Relation) -> Relation:
    """The same rows and columns, of which nothing else is computed."""
    return _only(relation, range(len(relation.columns)))


def _only(relation: Relation, needed: Iterable[int]) -> Relation:
    """A relation with these columns, in this order."""
    wanted = list(needed)
    pruned, places = _pruned(relation, frozenset(wanted))
    if [places[each] for each in wanted] == list(range(len(pruned.columns))):
        return pruned
    columns = tuple(relation.columns[each] for each in wanted)
    same = (BoundColumn(each.type, places[place], each.name, each.time) for place, each in zip(wanted, columns))
    return Calculation(columns, pruned, tuple(same))


def _pruned(relation: Relation, needed: frozenset[int]) -> tuple[Relation, Places]:
    if isinstance(relation, Calculation):
        return _calculation(relation, needed)
    if isinstance(relation, Aggregation):
        return _aggregation(relation, needed)
    if isinstance(relation, UnionAll):
        return _union(relation, needed)
    if isinstance(relation, Expansion):
        return _expansion(relation, needed)
    return relation, _same(relation)


def _same(relation: Relation) -> Places:
    return {place: place for place in range(len(relation.columns))}


def _kept(needed: frozenset[int]) -> list[int]:
    # A batch without columns has no rows.
    return sorted(needed or {0})


def _calculation(calculation: Calculation, needed: frozenset[int]) -> tuple[Relation, Places]:
    kept = _kept(needed)
    expressions = [calculation.expressions[place] for place in kept]
    conditions = [] if calculation.condition is None else [calculation.condition]
    source, places = _pruned(calculation.input, _columns_in([*expressions, *conditions]))
    condition = None if calculation.condition is None else _moved(calculation.condition, places)
    columns = tuple(calculation.columns[place] for place in kept)
    made = replace(
        calculation,
        columns=columns,
        input=source,
        expressions=tuple(_moved(each, places) for each in expressions),
        condition=condition,
    )
    return made, {place: number for number, place in enumerate(kept)}


def _aggregation(aggregation: Aggregation, needed: frozenset[int]) -> tuple[Relation, Places]:
    first = len(aggregation.keys)
    kept = [number for number in range(len(aggregation.aggregates)) if first + number in needed]
    if not kept and not first:
        kept = [0]
    aggregates = [aggregation.aggregates[number] for number in kept]
    used = {place for each in aggregates for place in each.arguments if place >= 0}
    used |= {each.condition for each in aggregates if each.condition is not None}
    source, places = _pruned(aggregation.input, frozenset(used | set(aggregation.keys)))
    shown = [*range(first), *(first + number for number in kept)]
    made = replace(
        aggregation,
        columns=tuple(aggregation.columns[place] for place in shown),
        input=source,
        keys=tuple(places[key] for key in aggregation.keys),
        aggregates=tuple(_moved_aggregate(each, places) for each in aggregates),
    )
    return made, {place: number for number, place in enumerate(shown)}


def _union(union: UnionAll, needed: frozenset[int]) -> tuple[Relation, Places]:
    kept = _kept(needed)
    inputs = tuple(_only(each, kept) for each in union.inputs)
    columns = tuple(union.columns[place] for place in kept)
    return replace(union, columns=columns, inputs=inputs), {place: number for number, place in enumerate(kept)}


def _expansion(expansion: Expansion, needed: frozenset[int]) -> tuple[Relation, Places]:
    kept = _kept(needed)
    projections = [[expressions[place] for place in kept] for expressions in expansion.projections]
    used = _columns_in(each for expressions in projections for each in expressions)
    source, places = _pruned(expansion.input, used)
    made = replace(
        expansion,
        columns=tuple(expansion.columns[place] for place in kept),
        input=source,
        projections=tuple(tuple(_moved(each, places) for each in expressions) for expressions in projections),
    )
    return made, {place: number for number, place in enumerate(kept)}


def _columns_in(expressions: Iterable[BoundExpression]) -> frozenset[int]:
    found: set[int] = set()
    for each in expressions:
        if isinstance(each, BoundColumn):
            found.add(each.index)
        elif isinstance(each, BoundFunction):
            found |= _columns_in(each.arguments)
    return frozenset(found)


def _moved(expression: BoundExpression, places: Places) -> BoundExpression:
    if isinstance(expression, BoundColumn):
        return replace(expression, index=places[expression.index])
    if isinstance(expression, BoundFunction):
        return replace(expression, arguments=tuple(_moved(each, places) for each in expression.arguments))
    return expression


def _moved_aggregate(aggregate: BoundAggregate, places: Places) -> BoundAggregate:
    arguments = tuple(place if place < 0 else places[place] for place in aggregate.arguments)
    condition = None if aggregate.condition is None else places[aggregate.condition]
    return replace(aggregate, arguments=arguments, condition=condition)
