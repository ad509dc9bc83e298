"""Who needs what of a changelog: UPDATE_BEFORE is left out where nobody looks at it, and what a sink cannot take is
refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, RankStrategy
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Expansion,
    MiniBatch,
    Relation,
    Scan,
    UnionAll,
    with_inputs,
)
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.window_relations import OverAggregation, SortedAggregation, WindowAggregation
from funke.engine.sql.changelog.change_kinds import Kinds, kinds_of
from funke.engine.sql.changelog.node_text import node_text
from funke.engine.sql.changelog.upsert_keys import primary_key_of
from funke.engine.types.row import RowKind

__all__ = ["ChangeSettings", "for_consumer", "require_kinds"]

_UPDATES = frozenset({RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER})


@dataclass(frozen=True)
class ChangeSettings:
    """What the configuration says about changes: mini-batches fold them, idle state expires."""

    is_folded: bool = False
    ttl_ms: int = 0
    mini_batch: MiniBatch | None = None
    is_two_phase: bool = False


def for_consumer(relation: Relation, accepted: Kinds, settings: ChangeSettings | None = None) -> Relation:
    """The relation as somebody needs it who takes changes of these kinds."""
    return _resolved(relation, RowKind.UPDATE_BEFORE in accepted, settings or ChangeSettings())


def _resolved(relation: Relation, needs_before: bool, settings: ChangeSettings) -> Relation:
    if isinstance(relation, Aggregation):
        # It takes back what was before, so it has to know it.
        return replace(
            relation,
            input=_resolved(relation.input, True, settings),
            sends_before=needs_before,
            is_folded=settings.is_folded,
            ttl_ms=settings.ttl_ms,
            mini_batch=settings.mini_batch,
            is_two_phase=settings.is_two_phase,
        )
    if isinstance(relation, Calculation):
        # A row whose update does not pass the condition must be taken back.
        needs_before = needs_before or relation.condition is not None
        return replace(relation, input=_resolved(relation.input, needs_before, settings))
    if isinstance(relation, TemporalJoin):
        # A version ends where the next one begins, so that nobody looks at rows before updates.
        left, right = relation.input.inputs
        sides = (_resolved(left, needs_before, settings), _resolved(right, False, settings))
        return replace(relation, input=replace(relation.input, inputs=sides))
    if isinstance(relation, Rank | Deduplication | Normalization):
        is_retracting = isinstance(relation, Rank) and relation.strategy is RankStrategy.RETRACT
        return replace(
            relation,
            input=_resolved(relation.input, is_retracting, settings),
            sends_before=needs_before,
            ttl_ms=settings.ttl_ms,
        )
    if isinstance(relation, (Expansion, UnionAll, WatermarkAssigner)):
        return with_inputs(relation, lambda each: _resolved(each, needs_before, settings))
    if isinstance(relation, Scan):
        return _scan(relation, needs_before, settings)
    # Everything else needs all changes of what it reads.
    changed = with_inputs(relation, lambda each: _resolved(each, True, settings))
    if isinstance(changed, (OverAggregation, SemiJoin, TableAggregation)):
        return replace(changed, ttl_ms=settings.ttl_ms)
    if isinstance(changed, SortedAggregation):
        return replace(changed, sends_before=needs_before, ttl_ms=settings.ttl_ms)
    return replace(changed, sends_before=needs_before) if isinstance(changed, WindowAggregation) else changed


def _scan(scan: Scan, needs_before: bool, settings: ChangeSettings) -> Relation:
    """The rows before updates are remembered for a source that does not tell them."""
    if not needs_before or scan.kinds & _UPDATES != {RowKind.UPDATE_AFTER}:
        return scan
    key = primary_key_of(scan)
    if key is None:
        raise TableException(
            f"Table '{'.'.join(scan.path)}' produces a changelog stream that contains UPDATE_AFTER but no "
            "UPDATE_BEFORE. This requires defining a primary key constraint on the table."
        )
    return Normalization(scan.columns, scan, key, True, settings.ttl_ms)


def require_kinds(relation: Relation, accepted: Kinds, consumer: str) -> None:
    """Refuses a relation that emits changes which its consumer does not take, with Flink's words."""
    missing = kinds_of(relation) - accepted - {RowKind.UPDATE_BEFORE}
    if not missing:
        return
    words = [word for word, kinds in (("update", _UPDATES), ("delete", frozenset({RowKind.DELETE}))) if missing & kinds]
    raise TableException(
        f"{consumer} doesn't support consuming {' and '.join(words)} changes which is produced by node "
        f"{node_text(_producer(relation, missing))}"
    )


def _producer(relation: Any, kinds: Kinds) -> Relation:
    """The relation that makes changes of these kinds, whoever hands them on."""
    found: Relation = relation
    if isinstance(relation, (Calculation, Expansion)):
        return _producer(relation.input, kinds)
    if isinstance(relation, UnionAll):
        return next(_producer(each, kinds) for each in relation.inputs if kinds_of(each) & kinds)
    return found
