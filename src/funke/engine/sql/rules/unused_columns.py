"""Leaves out what nobody looks at: columns of calculations, and aggregates.

It is more than thrift: an aggregation whose results do not change sends nothing, so that a result which nobody sees
would show in the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from funke.engine.sql.binding.expressions import BoundColumn, columns_in, moved
from funke.engine.sql.binding.ranks import Deduplication, Rank, RankStrategy, WindowRank
from funke.engine.sql.binding.relations import (
    Aggregation,
    BoundAggregate,
    Calculation,
    Column,
    Expansion,
    Relation,
    UnionAll,
    with_inputs,
)
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.changelog.change_kinds import has_retractions
from funke.engine.sql.changelog.upsert_keys import upsert_key_of

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
    if isinstance(relation, Rank):
        return _rank(relation, needed)
    if isinstance(relation, WindowRank):
        return _window_rank(relation, needed)
    if isinstance(relation, Deduplication):
        return _deduplication(relation, needed)
    if isinstance(relation, WindowTable):
        return _window_table(relation, needed)
    if isinstance(relation, WindowAggregation):
        return _window_aggregation(relation, needed)
    if isinstance(relation, (OverAggregation, SortedAggregation)):
        return _over_aggregation(relation, needed)
    if isinstance(relation, PartitionAggregation):
        return _partition_aggregation(relation, needed)
    if isinstance(relation, SemiJoin):
        # Whole rows are compared.
        return with_inputs(relation, without_unused), _same(relation)
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
    source, places = _pruned(calculation.input, frozenset(columns_in([*expressions, *conditions])))
    condition = None if calculation.condition is None else moved(calculation.condition, places)
    columns = tuple(calculation.columns[place] for place in kept)
    made = replace(
        calculation,
        columns=columns,
        input=source,
        expressions=tuple(moved(each, places) for each in expressions),
        condition=condition,
    )
    return made, {place: number for number, place in enumerate(kept)}


def _aggregation(aggregation: Aggregation, needed: frozenset[int]) -> tuple[Relation, Places]:
    first = len(aggregation.keys)
    kept = [number for number in range(len(aggregation.aggregates)) if first + number in needed]
    if not kept and not first:
        kept = [0]
    aggregates = [aggregation.aggregates[number] for number in kept]
    source, places = _pruned(aggregation.input, frozenset(_used_by(aggregates) | set(aggregation.keys)))
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
    used = frozenset(columns_in(each for expressions in projections for each in expressions))
    source, places = _pruned(expansion.input, used)
    made = replace(
        expansion,
        columns=tuple(expansion.columns[place] for place in kept),
        input=source,
        projections=tuple(tuple(moved(each, places) for each in expressions) for expressions in projections),
    )
    return made, {place: number for number, place in enumerate(kept)}


def _rank(rank: Rank, needed: frozenset[int]) -> tuple[Relation, Places]:
    if rank.is_limit and rank.strategy is not RankStrategy.APPEND:
        # Whole rows tell which one goes.
        return replace(rank, input=without_unused(rank.input)), _same(rank)
    width = len(rank.input.columns)
    own = {place for place in needed if place < width}
    used = own | {*rank.keys, *rank.row_key} | {key.index for key in rank.order}
    source, places = _pruned(rank.input, frozenset(_kept(frozenset(used))))
    made = replace(
        rank,
        columns=(*source.columns, *rank.columns[width:]),
        input=source,
        keys=tuple(places[key] for key in rank.keys),
        order=tuple(replace(key, index=places[key.index]) for key in rank.order),
        row_key=tuple(places[key] for key in rank.row_key),
    )
    return made, {each: places[each] for each in used} | ({width: len(source.columns)} if rank.has_number else {})


def _window_rank(rank: WindowRank, needed: frozenset[int]) -> tuple[Relation, Places]:
    width = len(rank.input.columns)
    start, end = rank.window_columns
    own = {place for place in needed if place < width}
    used = own | {*rank.keys, start, end} | {key.index for key in rank.order}
    source, places = _pruned(rank.input, frozenset(used))
    made = replace(
        rank,
        columns=(*source.columns, *rank.columns[width:]),
        input=source,
        keys=tuple(places[key] for key in rank.keys),
        window_columns=(places[start], places[end]),
        order=tuple(replace(key, index=places[key.index]) for key in rank.order),
    )
    return made, {each: places[each] for each in used} | ({width: len(source.columns)} if rank.has_number else {})


def _deduplication(relation: Deduplication, needed: frozenset[int]) -> tuple[Relation, Places]:
    used = {*needed, *relation.keys} | (set() if relation.rowtime is None else {relation.rowtime})
    source, places = _pruned(relation.input, frozenset(used))
    made = replace(
        relation,
        columns=source.columns,
        input=source,
        keys=tuple(places[key] for key in relation.keys),
        rowtime=None if relation.rowtime is None else places[relation.rowtime],
    )
    return made, {each: places[each] for each in used}


def _window_table(table: WindowTable, needed: frozenset[int]) -> tuple[Relation, Places]:
    first = len(table.columns) - 3
    used = {place for place in needed if place < first} | {table.time.column, *(table.partition_by or ())}
    source, places = _pruned(table.input, frozenset(used))
    kept = sorted(used)
    made = replace(
        table,
        # Names may be others than those of the input, whose columns may be more than were asked for.
        columns=(*_named(source, {places[each]: table.columns[each] for each in kept}), *table.columns[first:]),
        input=source,
        time=replace(table.time, column=places[table.time.column]),
        partition_by=None if table.partition_by is None else tuple(places[each] for each in table.partition_by),
    )
    bounds = {first + number: len(source.columns) + number for number in range(3)}
    return made, {each: places[each] for each in kept} | bounds


def _named(source: Relation, columns: Mapping[int, Column]) -> list[Column]:
    return [columns.get(place, own) for place, own in enumerate(source.columns)]


def _window_aggregation(aggregation: WindowAggregation, needed: frozenset[int]) -> tuple[Relation, Places]:
    first, last = len(aggregation.keys), len(aggregation.columns)
    kept = [number for number in range(len(aggregation.aggregates)) if first + number in needed]
    aggregates = [aggregation.aggregates[number] for number in kept]
    carried = aggregation.window_columns or ()
    own_time = set() if carried else {aggregation.time.column}
    used = _used_by(aggregates) | {*aggregation.keys, *carried} | own_time
    source, places = _pruned(aggregation.input, frozenset(used))
    shown = [*range(first), *(first + number for number in kept), *range(last - 3, last)]
    made = replace(
        aggregation,
        columns=tuple(aggregation.columns[place] for place in shown),
        input=source,
        keys=tuple(places[key] for key in aggregation.keys),
        aggregates=tuple(_moved_aggregate(each, places) for each in aggregates),
        time=replace(aggregation.time, column=0 if carried else places[aggregation.time.column]),
        window_columns=(places[carried[0]], places[carried[1]]) if carried else None,
    )
    return made, {place: number for number, place in enumerate(shown)}


def _over_aggregation(over: OverAggregation | SortedAggregation, needed: frozenset[int]) -> tuple[Relation, Places]:
    first = len(over.input.columns)
    kept = [number for number in range(len(over.aggregates)) if first + number in needed]
    aggregates = [over.aggregates[number] for number in kept]
    used = {place for place in needed if place < first} | {*over.partition_by} | _used_by(aggregates) | _order_of(over)
    source, places = _pruned(over.input, frozenset(used))
    moved_order = (
        {"time": replace(over.time, column=places.get(over.time.column, 0))}
        if isinstance(over, OverAggregation)
        else {"order": replace(over.order, index=places[over.order.index])}
    )
    made = replace(
        over,
        columns=(*source.columns, *(over.columns[first + number] for number in kept)),
        input=source,
        partition_by=tuple(places[each] for each in over.partition_by),
        aggregates=tuple(_moved_aggregate(each, places) for each in aggregates),
        **moved_order,
    )
    results = {first + number: len(source.columns) + place for place, number in enumerate(kept)}
    return made, {each: places[each] for each in used} | results


def _order_of(over: OverAggregation | SortedAggregation) -> set[int]:
    """The columns by which rows stand, and by which those that go are found: a key, or all."""
    if isinstance(over, OverAggregation):
        return {over.time.column} if over.time.is_event_time else set()
    if not has_retractions(over.input):
        return {over.order.index}
    key = upsert_key_of(over.input)
    return {over.order.index, *(range(len(over.input.columns)) if key is None else key)}


def _partition_aggregation(relation: PartitionAggregation, needed: frozenset[int]) -> tuple[Relation, Places]:
    first = len(relation.input.columns)
    kept = [number for number in range(len(relation.calls)) if first + number in needed]
    calls = [relation.calls[number] for number in kept]
    used = {place for place in needed if place < first} | _used_by(each.aggregate for each in calls)
    used |= {*relation.partition_by} | {key.index for key in relation.order}
    source, places = _pruned(relation.input, frozenset(_kept(frozenset(used))))
    made = replace(
        relation,
        columns=(*source.columns, *(relation.columns[first + number] for number in kept)),
        input=source,
        partition_by=tuple(places[each] for each in relation.partition_by),
        order=tuple(replace(key, index=places[key.index]) for key in relation.order),
        calls=tuple(replace(each, aggregate=_moved_aggregate(each.aggregate, places)) for each in calls),
    )
    results = {first + number: len(source.columns) + place for place, number in enumerate(kept)}
    return made, {each: places[each] for each in used} | results


def _used_by(aggregates: Iterable[BoundAggregate]) -> set[int]:
    used: set[int] = set()
    for each in aggregates:
        used.update(place for place in each.arguments if place >= 0)
        if each.condition is not None:
            used.add(each.condition)
    return used


def _moved_aggregate(aggregate: BoundAggregate, places: Places) -> BoundAggregate:
    arguments = tuple(place if place < 0 else places[place] for place in aggregate.arguments)
    condition = None if aggregate.condition is None else places[aggregate.condition]
    return replace(aggregate, arguments=arguments, condition=condition)
