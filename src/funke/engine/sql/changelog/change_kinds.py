"""The kinds of changes that a relation emits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.materialization import Materialization
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, WindowRank
from funke.engine.sql.binding.relations import Aggregation, Relation, Scan, inputs_of
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.binding.window_relations import OverAggregation, SortedAggregation, WindowAggregation
from funke.engine.types.row import RowKind

__all__ = ["ALL_KINDS", "INSERTS", "has_retractions", "kinds_of"]

Kinds = frozenset[RowKind]

INSERTS: Kinds = frozenset({RowKind.INSERT})
ALL_KINDS: Kinds = frozenset(RowKind)
_RETRACTIONS: Kinds = frozenset({RowKind.UPDATE_BEFORE, RowKind.DELETE})


def kinds_of(relation: Relation) -> Kinds:
    """The kinds of changes that the rows of a relation may be; most hand on what they get."""
    rule = _KINDS.get(type(relation))
    return INSERTS.union(*map(kinds_of, inputs_of(relation))) if rule is None else rule(relation)


def has_retractions(relation: Relation) -> bool:
    """Whether rows of a relation may be taken back."""
    return bool(kinds_of(relation) & _RETRACTIONS)


def _of_updates(relation: Rank | Deduplication | Normalization | SortedAggregation, *more: RowKind) -> Kinds:
    before = (RowKind.UPDATE_BEFORE,) if relation.sends_before else ()
    return frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, *before, *more})


def _of_deduplication(relation: Deduplication) -> Kinds:
    """The first row is told once."""
    return _of_updates(relation) if relation.keeps_last else INSERTS


def _of_aggregation(aggregation: Aggregation | WindowAggregation) -> Kinds:
    kinds = {RowKind.INSERT, RowKind.UPDATE_AFTER}
    if aggregation.sends_before:
        kinds.add(RowKind.UPDATE_BEFORE)
    if has_retractions(aggregation.input):
        kinds.add(RowKind.DELETE)
    return frozenset(kinds)


def _of_windows(aggregation: WindowAggregation) -> Kinds:
    """A window says its result once, when it closes, unless it tells results before or after that too."""
    return INSERTS if aggregation.firing is None else _of_aggregation(aggregation)


def _of_semi_join(join: SemiJoin) -> Kinds:
    """A row of the right side takes back what an anti join has sent."""
    return ALL_KINDS if join.is_anti else kinds_of(join.input)


# Whatever else changes rows adds its rule here.
_KINDS: dict[type[Relation], Callable[[Any], Kinds]] = {
    Scan: lambda scan: scan.kinds,
    Aggregation: _of_aggregation,
    TableAggregation: lambda relation: frozenset({RowKind.INSERT, RowKind.DELETE}),
    Rank: lambda rank: _of_updates(rank, RowKind.DELETE),
    Deduplication: _of_deduplication,
    WindowRank: lambda relation: INSERTS,
    SemiJoin: _of_semi_join,
    Normalization: lambda relation: _of_updates(relation, RowKind.DELETE),
    # What a row before was is not told: its key says it.
    Materialization: lambda relation: ALL_KINDS - {RowKind.UPDATE_BEFORE},
    WindowAggregation: _of_windows,
    OverAggregation: lambda relation: INSERTS,
    SortedAggregation: lambda relation: _of_updates(relation, RowKind.DELETE),
    # Those of the left side, whose rows it sends on.
    TemporalJoin: lambda join: kinds_of(join.input.inputs[0]),
    ToChangelog: lambda relation: INSERTS,
    FromChangelog: lambda relation: ALL_KINDS,
    # The end of the input comes once.
    FinalRows: lambda relation: INSERTS,
}
