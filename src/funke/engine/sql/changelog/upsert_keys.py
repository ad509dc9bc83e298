"""The columns by which the rows of a relation are told apart: an update with the same values replaces the row.

Rows with the same values of such a key also come from one place, so that nobody overtakes anybody. A relation may have
several keys; that of one row at most has no columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.lookup_joins import LookupJoin
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, WindowRank
from funke.engine.sql.binding.relations import Aggregation, Calculation, Limit, Relation, Scan, Sort
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.stream_orders import TemporalSort
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.window_relations import OverAggregation, SortedAggregation, WindowAggregation
from funke.engine.types.logical.casts import is_injective_cast

__all__ = ["UpsertKeys", "primary_key_of", "smallest_key", "unique_keys_of", "upsert_key_of", "upsert_keys_of"]

UpsertKeys = frozenset[frozenset[int]]
_NONE: UpsertKeys = frozenset()


def upsert_keys_of(relation: Relation) -> UpsertKeys:
    """All keys that are known."""
    rule = _RULES.get(type(relation))
    return _NONE if rule is None else rule(relation)


def unique_keys_of(relation: Relation) -> UpsertKeys:
    """The columns that tell rows apart, also if rows with the same values of them come from several places."""
    if isinstance(relation, SemiJoin):
        return unique_keys_of(relation.sides[0])
    if isinstance(relation, Calculation):
        return _through(relation, unique_keys_of(relation.input))
    return upsert_keys_of(relation)


def upsert_key_of(relation: Relation) -> tuple[int, ...] | None:
    """The key with the fewest columns; None if there is none."""
    return smallest_key(upsert_keys_of(relation))


def smallest_key(keys: UpsertKeys) -> tuple[int, ...] | None:
    """The key with the fewest columns, of several the first ones; None if there is none."""
    return min((tuple(sorted(each)) for each in keys), key=lambda each: (len(each), each), default=None)


def primary_key_of(scan: Scan) -> tuple[int, ...] | None:
    """The columns of a table's primary key, if all of them are read."""
    names = [column.name for column in scan.columns]
    if not scan.primary_key or not {*scan.primary_key} <= {*names}:
        return None
    return tuple(map(names.index, scan.primary_key))


def _one(places: Iterable[int]) -> UpsertKeys:
    return frozenset({frozenset(places)})


def _of_scan(scan: Scan) -> UpsertKeys:
    key = primary_key_of(scan)
    return _NONE if key is None else _one(key)


def _of_windows(aggregation: WindowAggregation) -> UpsertKeys:
    """Windows are told apart by their start, or by their end; cumulating ones have the same start."""
    keys, start = range(len(aggregation.keys)), len(aggregation.columns) - 3
    if aggregation.windows is None:
        return _one((*keys, start, start + 1))
    by_end = _one((*keys, start + 1))
    return by_end if aggregation.windows.kind == "cumulate" else by_end | _one((*keys, start))


def _of_rank(rank: Rank) -> UpsertKeys:
    """One row of each key; or a number of each key, and what tells rows of the input apart."""
    if rank.first == rank.last:
        return _one(rank.keys)
    numbers = _one((*rank.keys, len(rank.columns) - 1)) if rank.has_number else _NONE
    return numbers | _at(rank.input, rank.keys)


def _of_window_rank(rank: WindowRank) -> UpsertKeys:
    keys = (*rank.keys, *rank.window_columns)
    if rank.first == rank.last:
        return _one(keys)
    numbers = _one((*keys, len(rank.columns) - 1)) if rank.has_number else _NONE
    return numbers | _at(rank.input, rank.keys)


def _at(relation: Relation, places: Iterable[int]) -> UpsertKeys:
    """The keys of rows that travel by the values of these columns: others may come from two places."""
    needed = frozenset(places)
    return frozenset(each for each in upsert_keys_of(relation) if each >= needed)


def _of_calculation(calculation: Calculation) -> UpsertKeys:
    return _through(calculation, upsert_keys_of(calculation.input))


def _through(calculation: Calculation, keys: UpsertKeys) -> UpsertKeys:
    """The keys all of whose columns are handed on; one that is so several times makes several keys."""
    places: dict[int, list[int]] = {}
    for place, expression in enumerate(calculation.expressions):
        source = _handed_on(expression)
        if source is not None:
            places.setdefault(source, []).append(place)
    return frozenset(frozenset(each) for key in keys for each in product(*(places.get(column, ()) for column in key)))


def _handed_on(expression: BoundExpression) -> int | None:
    """The column that an expression is, or is a cast of that keeps different values different."""
    if isinstance(expression, BoundColumn):
        return expression.index
    if not isinstance(expression, BoundFunction) or expression.call.function.name != "cast":
        return None
    argument = expression.arguments[0]
    is_kept = isinstance(argument, BoundColumn) and is_injective_cast(argument.type, expression.type)
    return argument.index if is_kept and isinstance(argument, BoundColumn) else None


def _of_lookup(join: LookupJoin) -> UpsertKeys:
    return upsert_keys_of(join.input) if join.is_unique else _NONE


def _of_versions(join: TemporalJoin) -> UpsertKeys:
    """A row has one version, so that the keys of the left side stay; what is equal may stand in their place."""
    left, right = join.input.inputs
    assert isinstance(left, Calculation) and isinstance(right, Calculation)
    equal = [(left.expressions[place], right.expressions[place]) for place in join.keys]
    own = [one.index for one, _ in equal if isinstance(one, BoundColumn)]
    keys = _at(left.input, own) if len(own) == len(equal) else _NONE
    if join.keeps_all:
        return keys
    for one, other in equal:
        if isinstance(one, BoundColumn) and isinstance(other, BoundColumn):
            keys |= {each - {one.index} | {join.left_width + other.index} for each in keys}
    return keys


def _of_input(relation: Any) -> UpsertKeys:
    return upsert_keys_of(relation.input)


_RULES: dict[type[Relation], Callable[[Any], UpsertKeys]] = {
    Scan: _of_scan,
    Aggregation: lambda aggregation: _one(range(len(aggregation.keys))),
    WindowAggregation: _of_windows,
    OverAggregation: lambda over: _at(over.input, over.partition_by),
    SortedAggregation: lambda over: _at(over.input, over.partition_by),
    Rank: _of_rank,
    WindowRank: _of_window_rank,
    Deduplication: lambda relation: _one(relation.keys),
    Normalization: lambda relation: _one(relation.keys),
    Calculation: _of_calculation,
    LookupJoin: _of_lookup,
    TemporalJoin: _of_versions,
    SemiJoin: lambda join: _at(join.sides[0], join.keys),
    FinalRows: _of_input,
    Limit: _of_input,
    NotNulls: _of_input,
    Sort: _of_input,
    TemporalSort: _of_input,
    WatermarkAssigner: _of_input,
}
