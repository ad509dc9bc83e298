"""The hint STATE_TTL: how long joins and groups keep the rows of a table, by the name that a query has for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from funke.engine.config.option_values import parse_duration
from funke.engine.errors import ConfigurationError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.joins.lookup_hints import Hints
from funke.engine.sql.binding.joins.regular_joins import Join, Joined
from funke.engine.sql.binding.relations import Aggregation, Calculation, Relation
from funke.engine.sql.syntax import queries

__all__ = ["bind_ttl_hints", "is_named", "leaves_of", "with_group_ttl", "with_join_ttls"]

TtlHints = Mapping[str, str]


def bind_ttl_hints(hints: Hints, source: queries.Relation | None, is_grouped: bool) -> TtlHints:
    """The times of a query's hints by table; as in Flink a query without joins and groups ignores them."""
    times: dict[str, str] = {}
    for name, options in hints:
        if name == "STATE_TTL":
            times.update(_checked(options))
    if not times or not (is_grouped or isinstance(source, queries.Join)):
        return {}
    tables = list(leaves_of(source))
    unknown = [name for name in times if not any(is_named(each, name) for each in tables)]
    if unknown:
        raise ValidationException(
            "The options of following hints cannot match the name of input tables or views: \n"
            f"`{', '.join(unknown)}` in `STATE_TTL`"
        )
    return times


def with_join_ttls(joined: Joined, source: queries.Join, hints: TtlHints) -> Joined:
    """A join with the times of its two sides, where these are tables."""
    ttls = _ttl_of(source.left, hints), _ttl_of(source.right, hints)
    return (_with_ttls(joined[0], ttls), joined[1]) if any(ttls) else joined


def _with_ttls(relation: Relation, ttls: tuple[str, str]) -> Relation:
    if isinstance(relation, Join):
        return replace(relation, ttl_hints=ttls)
    # Behind USING the columns of both sides are put together.
    assert isinstance(relation, Calculation)
    return replace(relation, input=_with_ttls(relation.input, ttls))


def with_group_ttl(groups: Relation, source: queries.Relation | None, hints: TtlHints) -> Relation:
    """Groups with the time of the table that they are of."""
    ttl = _ttl_of(source, hints)
    if not ttl:
        return groups
    if isinstance(groups, Calculation) and isinstance(groups.input, Aggregation):
        return replace(groups, input=replace(groups.input, ttl_hint=ttl))
    return groups


def _ttl_of(source: queries.Relation | None, hints: TtlHints) -> str:
    if source is None or isinstance(source, queries.Join):
        return ""
    return next((ttl for name, ttl in hints.items() if is_named(source, name)), "")


def leaves_of(source: queries.Relation | None) -> Iterator[queries.Relation]:
    """The tables, queries and functions of FROM, without the joins."""
    if isinstance(source, queries.Join):
        yield from leaves_of(source.left)
        yield from leaves_of(source.right)
    elif source is not None:
        yield source


def is_named(source: queries.Relation, name: str) -> bool:
    """Whether a hint's name means this table."""
    if source.alias is not None:
        return source.alias == name
    # By its name alone, or with those of its database and its catalog.
    return isinstance(source, queries.TableRef) and source.path[-1] == name.rsplit(".", maxsplit=1)[-1]


def _checked(options: tuple[tuple[str, str], ...]) -> dict[str, str]:
    if not options:
        raise ValidationException("Invalid STATE_TTL hint, expecting at least one key-value options specified.")
    if any(not value for _, value in options):
        raise ValidationException("Invalid list options in STATE_TTL hint, only support key-value options.")
    for _, value in options:
        try:
            parse_duration(value)
        except ConfigurationError as error:
            raise ValidationException(f"Invalid STATE_TTL hint value: {error}") from None
    return dict(options)
