"""Prepares lookup joins for lowering: conditions of WHERE go into them, and options and hints become settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from funke.engine.config.option_values import parse_boolean, parse_duration, parse_integer
from funke.engine.errors import ConfigurationError
from funke.engine.sql.binding.expressions import BoundExpression, conjuncts, is_deterministic
from funke.engine.sql.binding.joins import all_true
from funke.engine.sql.binding.lookup_joins import AsyncLookups, LookupJoin, LookupSettings
from funke.engine.sql.binding.merged_calculations import merged_pair
from funke.engine.sql.binding.relations import Calculation, Column, Relation, inputs_of, with_inputs
from funke.engine.sql.rules.join_conditions import filtered, rejecting_null, side_of

__all__ = ["with_lookup_joins"]

_ASYNC = "table.exec.async-lookup."
_STRATEGY = "table.optimizer.non-deterministic-update.strategy"


def with_lookup_joins(relation: Relation, settings: Mapping[str, str]) -> Relation:
    """The same rows; lookup joins know all of their conditions, and how they ask."""
    if not _has_lookup_join(relation):
        return relation
    while isinstance(relation, Calculation) and isinstance(relation.input, Calculation):
        together = merged_pair(relation, relation.input)
        if together is None:
            break
        relation = together
    if isinstance(relation, Calculation) and isinstance(relation.input, LookupJoin) and relation.condition is not None:
        relation = _with_where(relation, relation.input, conjuncts(relation.condition))
    if isinstance(relation, LookupJoin):
        relation = replace(relation, settings=_settings(relation, settings))
    return with_inputs(relation, lambda each: with_lookup_joins(each, settings))


def _has_lookup_join(relation: Relation) -> bool:
    return isinstance(relation, LookupJoin) or any(map(_has_lookup_join, inputs_of(relation)))


def _with_where(calculation: Calculation, join: LookupJoin, conditions: Sequence[BoundExpression]) -> Calculation:
    width = len(join.input.columns)
    if join.keeps_all and any(index >= width for each in conditions for index in rejecting_null(each)):
        join = _without_nulls(join)
    # A condition on the left side alone is looked at before rows are looked up.
    before = [each for each in conditions if is_deterministic(each) and side_of(each, width) == "left"]
    inside = [each for each in conditions if not join.keeps_all and is_deterministic(each) and each not in before]
    outside = [each for each in conditions if each not in before and each not in inside]
    own = [] if join.condition is None else conjuncts(join.condition)
    join = replace(join, input=filtered(join.input, before), condition=all_true([*own, *inside]))
    return replace(calculation, input=join, condition=all_true(outside))


def _without_nulls(join: LookupJoin) -> LookupJoin:
    """A left join all of whose rows have a match."""
    width = len(join.input.columns)
    shown = tuple(Column(each.name, own.type) for each, own in zip(join.columns[width:], join.expressions))
    return replace(join, columns=(*join.columns[:width], *shown), keeps_all=False)


def _settings(join: LookupJoin, settings: Mapping[str, str]) -> LookupSettings:
    hint, table = join.hint, join.table.lookup_table()
    is_async = hint.is_async if hint.is_async is not None else table is not None and table.is_async
    return LookupSettings(
        _requests(join, settings) if is_async else None,
        hint.retry,
        hint.is_shuffled,
        settings.get(_STRATEGY, "IGNORE").upper() == "TRY_RESOLVE",
    )


def _requests(join: LookupJoin, settings: Mapping[str, str]) -> AsyncLookups:
    hint, mode = join.hint, settings.get(f"{_ASYNC}output-mode", "ORDERED").upper()
    if mode not in ("ORDERED", "ALLOW_UNORDERED"):
        raise ConfigurationError(
            f"Could not parse value '{mode}' for key '{_ASYNC}output-mode': expected ORDERED or ALLOW_UNORDERED"
        )
    capacity = hint.capacity or parse_integer(settings.get(f"{_ASYNC}buffer-capacity", "100"))
    if capacity < 1:
        raise ConfigurationError(f"'{_ASYNC}buffer-capacity' must be positive, but is {capacity}")
    timeout_ms = hint.timeout_ms or parse_duration(settings.get(f"{_ASYNC}timeout", "3 min")).to_millis()
    is_ordered = mode == "ORDERED" if hint.is_ordered is None else hint.is_ordered
    is_key_ordered = parse_boolean(settings.get(f"{_ASYNC}key-ordered-enabled", "false"))
    return AsyncLookups(is_ordered, is_key_ordered, timeout_ms, capacity)
