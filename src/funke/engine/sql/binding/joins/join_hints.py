"""Hints about how tables join.

BROADCAST, SHUFFLE_HASH, SHUFFLE_MERGE and NEST_LOOP are for batches; streams only show them. MULTI_JOIN is for streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.joins.lookup_hints import Hints
from funke.engine.sql.binding.joins.regular_joins import Join, Joined
from funke.engine.sql.binding.relations import Calculation, Relation
from funke.engine.sql.binding.state_ttl_hints import is_named, leaves_of
from funke.engine.sql.syntax import queries

__all__ = ["MULTI_JOIN", "JoinHint", "bind_join_hints", "with_join_hints"]

# Asks for chains of joins to become one operator.
MULTI_JOIN = "MULTI_JOIN"
_NAMES = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", MULTI_JOIN)

# The name of a hint, and the tables that it is for.
JoinHint = tuple[str, tuple[str, ...]]


def bind_join_hints(hints: Hints, source: queries.Relation | None) -> tuple[JoinHint, ...]:
    """The hints of a query for its joins. As in Flink a query without joins does not check the names of tables."""
    join_hints = tuple((name, _tables(name, options)) for name, options in hints if name in _NAMES)
    if isinstance(source, queries.Join):
        leaves = list(leaves_of(source))
        unknown = [(name, sorted(set(tables) - set(_matching_names(tables, leaves)))) for name, tables in join_hints]
        lines = [f"`{', '.join(tables)}` in `{name}`" for name, tables in unknown if tables]
        if lines:
            text = "The options of following hints cannot match the name of input tables or views: \n"
            raise ValidationException(text + "\n".join(lines))
    return join_hints


def with_join_hints(joined: Joined, source: queries.Join, hints: Sequence[JoinHint]) -> Joined:
    """A join with the hints for its sides, if these are tables. A hint that names both is one for the left side."""
    sides = (("LEFT", source.left), ("RIGHT", source.right))
    own = [
        (name, next((side for side, table in sides if _matching_names(tables, [table])), "")) for name, tables in hints
    ]
    side_hints = tuple(each for each in own if each[1])
    return (_with_hints(joined[0], side_hints), joined[1]) if side_hints else joined


def _with_hints(relation: Relation, hints: tuple[tuple[str, str], ...]) -> Relation:
    if isinstance(relation, Join):
        return replace(relation, hints=hints)
    # Behind USING the columns of both sides are put together.
    assert isinstance(relation, Calculation)
    return replace(relation, input=_with_hints(relation.input, hints))


def _matching_names(tables: Sequence[str], sources: Sequence[queries.Relation]) -> list[str]:
    named = [each for each in sources if not isinstance(each, queries.Join)]
    return [name for name in tables if any(is_named(each, name) for each in named)]


def _tables(name: str, options: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    if not options or any(value for _, value in options):
        option_text = f"({', '.join(f'{key}={value}' for key, value in options)})" if options else ""
        text = f"Invalid hint: {name}{option_text}, expecting at least one table or view specified in hint {name}."
        raise ValidationException(text)
    return tuple(table for table, _ in options)
