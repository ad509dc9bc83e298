"""Prepares lookup joins and snapshot joins for lowering.

Conditions of WHERE go into them; options and hints become settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from funke.engine.config.option_values import parse_boolean, parse_duration, parse_integer
from funke.engine.errors import ConfigurationError
from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    Calculation,
    Column,
    Relation,
    conjuncts,
    inputs_of,
    is_deterministic,
    with_columns,
    with_inputs,
)
from funke.engine.sql.binding.joins.lookup_joins import AsyncLookups, LookupJoin, LookupSettings
from funke.engine.sql.binding.joins.regular_joins import Join, all_true, columns_of_join
from funke.engine.sql.binding.joins.snapshot_joins import SnapshotJoin
from funke.engine.sql.binding.merged_calculations import merged_pair
from funke.engine.sql.plan.aggregates.group_window_aggregate import Settings
from funke.engine.sql.rules.join_conditions import filtered, rejecting_null, side_of

__all__ = ["with_lookup_joins"]

_ASYNC = "table.exec.async-lookup."
_STRATEGY = "table.optimizer.non-deterministic-update.strategy"


def with_lookup_joins(relation: Relation, settings: Settings, is_streaming: bool) -> Relation:
    """Gives lookup joins and snapshot joins all of their conditions and their settings."""
    if not _has_lookup_join(relation):
        return relation
    # Merged first, so that WHERE is on the columns of the join.
    while isinstance(relation, Calculation) and isinstance(relation.input, Calculation):
        together = merged_pair(relation, relation.input)
        if together is None:
            break
        relation = together
    if isinstance(relation, Calculation) and relation.condition is not None:
        conditions = conjuncts(relation.condition)
        if isinstance(relation.input, LookupJoin):
            relation = _with_where(relation, relation.input, conditions)
        elif isinstance(relation.input, SnapshotJoin):
            relation = _with_snapshot_where(relation, relation.input, conditions)
    if isinstance(relation, LookupJoin):
        relation = replace(relation, settings=_settings(relation, settings))
    if isinstance(relation, SnapshotJoin):
        relation = _with_sides(relation) if is_streaming else _as_regular_join(relation)
    return with_inputs(relation, lambda each: with_lookup_joins(each, settings, is_streaming))


def _has_lookup_join(relation: Relation) -> bool:
    return isinstance(relation, LookupJoin | SnapshotJoin) or any(map(_has_lookup_join, inputs_of(relation)))


def _with_where(calculation: Calculation, join: LookupJoin, conditions: Sequence[BoundExpression]) -> Calculation:
    width = len(join.input.columns)
    # WHERE drops the rows that are padded with NULLs: the outer join is an inner one, and may filter more.
    if join.keeps_all and _rejects_right(conditions, width):
        join = _without_nulls(join)
    before, inside, outside = _moved(conditions, width, join.keeps_all)
    own = [] if join.condition is None else conjuncts(join.condition)
    join = replace(join, input=filtered(join.input, before), condition=all_true([*own, *inside]))
    return replace(calculation, input=join, condition=all_true(outside))


def _with_snapshot_where(
    calculation: Calculation, join: SnapshotJoin, conditions: Sequence[BoundExpression]
) -> Calculation:
    width = len(join.left.columns)
    if join.kind == "left" and _rejects_right(conditions, width):
        right = (Column(each.name, own.type) for each, own in zip(join.columns[width:], join.right.columns))
        join = replace(join, columns=(*join.columns[:width], *right), kind="inner")
    before, inside, outside = _moved(conditions, width, join.kind == "left")
    own = [] if join.condition is None else conjuncts(join.condition)
    join = replace(join, left=filtered(join.left, before), condition=all_true([*own, *inside]))
    return replace(calculation, input=join, condition=all_true(outside))


def _rejects_right(conditions: Sequence[BoundExpression], width: int) -> bool:
    return any(index >= width for each in conditions for index in rejecting_null(each))


def _moved(
    conditions: Sequence[BoundExpression], width: int, keeps_left: bool
) -> tuple[list[BoundExpression], list[BoundExpression], list[BoundExpression]]:
    """Conditions on the left side alone are looked at before rows meet, others with the join's own, or behind it."""
    # A condition with RAND() is computed for each row of the result, so it stays behind the join.
    before = [each for each in conditions if is_deterministic(each) and side_of(each, width) == "left"]
    # A left join keeps rows without a match: in its own condition, WHERE would pad rows that it has to drop.
    inside = [each for each in conditions if not keeps_left and is_deterministic(each) and each not in before]
    return before, inside, [each for each in conditions if each not in before and each not in inside]


def _with_sides(join: SnapshotJoin) -> SnapshotJoin:
    """The join whose own conditions on one side alone are looked at before."""
    width = len(join.left.columns)
    conditions = [] if join.condition is None else conjuncts(join.condition)
    sides = [(each, side_of(each, width) if is_deterministic(each) else "none") for each in conditions]
    # A left join keeps the left rows that fail its condition, with NULLs: only its right side is filtered before.
    left = [each for each, side in sides if side == "left" and join.kind == "inner"]
    right = [each for each, side in sides if side == "right"]
    behind = [with_columns(each, lambda column: replace(column, index=column.index - width)) for each in right]
    return replace(
        join,
        left=filtered(join.left, left),
        right=filtered(join.right, behind),
        condition=all_true([each for each in conditions if each not in left and each not in right]),
    )


def _as_regular_join(join: SnapshotJoin) -> Relation:
    """In a batch the right side is complete before rows meet."""
    regular = Join(
        columns_of_join(join.left.columns, join.right.columns, join.kind),
        join.left,
        join.right,
        join.kind,
        join.condition,
    )
    # The query above refers to the columns of the snapshot join.
    same = (BoundColumn(each.type, index, each.name) for index, each in enumerate(regular.columns))
    return Calculation(join.columns, regular, tuple(same))


def _without_nulls(join: LookupJoin) -> LookupJoin:
    """A left join all of whose rows have a match."""
    width = len(join.input.columns)
    table_columns = tuple(Column(each.name, own.type) for each, own in zip(join.columns[width:], join.expressions))
    return replace(join, columns=(*join.columns[:width], *table_columns), keeps_all=False)


def _settings(join: LookupJoin, settings: Settings) -> LookupSettings:
    hint, table = join.hint, join.table.lookup_table()
    # As in Flink the hint LOOKUP wins over the connector's option 'lookup.async'.
    is_async = hint.is_async if hint.is_async is not None else table is not None and table.is_async
    return LookupSettings(
        _requests(join, settings) if is_async else None,
        hint.retry,
        hint.is_shuffled,
        _choice(settings, _STRATEGY, ("IGNORE", "TRY_RESOLVE")) == "TRY_RESOLVE",
    )


def _requests(join: LookupJoin, settings: Settings) -> AsyncLookups:
    hint, mode = join.hint, _choice(settings, f"{_ASYNC}output-mode", ("ORDERED", "ALLOW_UNORDERED"))
    capacity = hint.capacity or parse_integer(settings.get(f"{_ASYNC}buffer-capacity", "100"))
    if capacity < 1:
        raise ConfigurationError(f"'{_ASYNC}buffer-capacity' must be positive, but is {capacity}")
    timeout_ms = hint.timeout_ms or parse_duration(settings.get(f"{_ASYNC}timeout", "3 min")).to_millis()
    is_ordered = mode == "ORDERED" if hint.is_ordered is None else hint.is_ordered
    is_key_ordered = parse_boolean(settings.get(f"{_ASYNC}key-ordered-enabled", "false"))
    return AsyncLookups(is_ordered, is_key_ordered, timeout_ms, capacity)


def _choice(settings: Settings, key: str, choices: Sequence[str]) -> str:
    """One of some words; the first by default."""
    text = settings.get(key, choices[0])
    if text.upper() not in choices:
        raise ConfigurationError(f"Could not parse value '{text}' for key '{key}': expected one of {list(choices)}.")
    return text.upper()
