"""Rows of one primary key that a query distinguishes by other columns: how they are resolved, and what is rejected.

The rules, the options and the words are Flink's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.config.option_values import parse_boolean
from funke.engine.errors import ConfigurationError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding import BoundColumn, Calculation, Relation, Scan, UnionAll, inputs_of
from funke.engine.sql.binding.changelog_functions import FromChangelog
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.plan import INSERTS, Kinds, UpsertKeys, as_node, smallest_key
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import SessionSettings, TableSession

__all__ = ["Conflict", "Target", "choice_of", "conflict_of"]

_MATERIALIZE = "table.exec.sink.upsert-materialize"
_REQUIRED = "table.exec.sink.require-on-conflict"
_log = logging.getLogger(__name__)
_ONE_ROW: UpsertKeys = frozenset({frozenset()})


@dataclass(frozen=True)
class Target:
    """The consumer of rows: a sink, or a stream with a primary key."""

    name: str
    primary_key: tuple[int, ...]
    # The kinds of changes that it takes of a query that has those.
    accepts: Callable[[Kinds], Kinds]
    on_conflict: str | None = None


@dataclass(frozen=True)
class Conflict:
    """The measures that the primary key of a target needs."""

    # Whether the rows of each primary key are kept, so that the last one of them is known.
    is_materialized: bool = False
    # By which columns rows of the query replace each other then.
    upsert_key: tuple[int, ...] | None = None
    # Whether rows before updates are needed, since an update may go to another primary key.
    needs_before: bool = False


def choice_of(settings: SessionSettings, key: str, words: Sequence[str]) -> str:
    """The word that an option has, in capitals; the first one by default."""
    value = settings.get(key, words[0])
    if value.upper() not in words:
        raise ConfigurationError(f"Could not parse value '{value}' for key '{key}'.")
    return value.upper()


def conflict_of(session: TableSession, source: Relation, target: Target) -> Conflict:
    """The measures that the rows of a query need; `source` is the relation that decides its kinds of changes."""
    if not session.is_streaming:
        return Conflict()
    # A sink that supports upserts gets updates without the rows before.
    kinds = target.accepts(as_node(source).changelog() - {RowKind.UPDATE_BEFORE})
    _check_clause(source, target, kinds)
    keys = _ONE_ROW if _is_given(source) else as_node(source).upsert_keys()
    is_materialized = _is_materialized(session.settings, source, target, kinds, keys)
    # COUNT(*) per user, written to a table whose key is the count: when it goes from 1 to 2, the user's row under key 1
    # must go, and only UPDATE_BEFORE says so.
    needs_before = bool(target.primary_key) and frozenset(target.primary_key) not in keys
    # A key without columns is none by which rows could be compared.
    return Conflict(is_materialized, smallest_key(keys) or None, needs_before)


def _is_given(relation: Relation) -> bool:
    """True if the program makes the changes itself (FROM_CHANGELOG); as in Flink they are taken for those of a key."""
    while isinstance(relation, Calculation):
        relation = relation.input
    return isinstance(relation, FromChangelog)


def _check_clause(source: Relation, target: Target, kinds: Kinds) -> None:
    if target.on_conflict is None:
        return
    if kinds == INSERTS or RowKind.UPDATE_BEFORE in kinds:
        inserts, retracts = "it only accepts INSERT (append-only) changes", "it requires UPDATE_BEFORE (retract mode)"
        raise ValidationException(
            f"ON CONFLICT clause is only allowed for upsert sinks. The sink '{target.name}' is not an upsert sink "
            f"because {inserts if kinds == INSERTS else retracts}."
        )
    without = [] if target.on_conflict == "deduplicate" else list(_without_watermarks(source))
    if without:
        raise ValidationException(
            f"ON CONFLICT DO {target.on_conflict.upper()} requires all source tables to define watermarks, but the "
            f"following source(s) do not: {', '.join(without)}. Please add a WATERMARK declaration to these tables."
        )


def _without_watermarks(relation: Relation) -> Iterator[str]:
    if isinstance(relation, Scan):
        yield ".".join(relation.path)
    elif not isinstance(relation, WatermarkAssigner):
        for each in inputs_of(relation):
            yield from _without_watermarks(each)


def _is_materialized(
    settings: SessionSettings, source: Relation, target: Target, kinds: Kinds, keys: UpsertKeys
) -> bool:
    choice = choice_of(settings, _MATERIALIZE, ("AUTO", "NONE", "FORCE"))
    is_required = _is_required(settings)
    if choice == "NONE" or not target.primary_key or RowKind.UPDATE_BEFORE in kinds:
        return False
    if choice == "FORCE":
        return True
    differs = kinds != INSERTS and not any(each <= {*target.primary_key} for each in keys)
    if differs and target.on_conflict is None and is_required:
        raise _not_said(source, target, keys)
    if as_node(source).changelog() == INSERTS and target.on_conflict in (None, "deduplicate"):
        # What is inserted later replaces what was there.
        return False
    if differs and target.on_conflict is None:
        primary, upsert = _key_strings(source, target, keys)
        _log.warning(
            "the rows for %s are kept by its primary key %s, which is not the upsert key of the query (%s): "
            "add ON CONFLICT DO DEDUPLICATE to confirm that",
            target.name,
            primary,
            upsert,
        )
    return differs


def _is_required(settings: SessionSettings) -> bool:
    # Not the default of Flink 2.3: what programs of earlier versions mean is DEDUPLICATE.
    value = settings.get(_REQUIRED, "false")
    try:
        return parse_boolean(value)
    except ConfigurationError:
        raise ConfigurationError(f"Could not parse value '{value}' for key '{_REQUIRED}'.") from None


def _no_keys(relation: Relation) -> str:
    """Flink's text for missing upsert keys: empty if they may have been lost on the way, else "none"."""
    while isinstance(relation, (Rank, WatermarkAssigner)) or _is_same(relation):
        (relation,) = inputs_of(relation)
    is_lost = isinstance(relation, (Calculation, UnionAll)) or bool(as_node(relation).upsert_keys())
    return "" if is_lost else "none"


def _is_same(relation: Relation) -> bool:
    """True if a calculation changes nothing but names."""
    if not isinstance(relation, Calculation) or relation.condition is not None:
        return False
    indexes = [each.index if isinstance(each, BoundColumn) else -1 for each in relation.expressions]
    return indexes == [*range(len(relation.input.columns))]


def _key_strings(source: Relation, target: Target, keys: UpsertKeys) -> tuple[str, str]:
    def named(indexes: Sequence[int]) -> str:
        return f"[{', '.join(source.columns[index].name for index in indexes)}]"

    upsert_text = ", ".join(map(named, sorted(sorted(each) for each in keys))) or _no_keys(source)
    return named(target.primary_key), upsert_text


def _not_said(source: Relation, target: Target, keys: UpsertKeys) -> ValidationException:
    primary, upsert = _key_strings(source, target, keys)
    return ValidationException(
        f"The query has an upsert key that differs from the primary key of the sink table '{target.name}'. "
        f"Primary key: {primary}, upsert key: {upsert}. This can lead to non-deterministic results "
        "when multiple records with different upsert keys map to the same primary key. Please specify an ON CONFLICT "
        "clause to define how conflicts should be handled: ON CONFLICT DO DEDUPLICATE (update to the latest record, "
        "state intensive, since we need to keep the entire history), or ON CONFLICT DO ERROR (fail on conflict), or "
        "ON CONFLICT DO NOTHING (keep first record)."
    )
