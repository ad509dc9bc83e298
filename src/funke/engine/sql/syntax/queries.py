"""Queries as they were written: the parts of a SELECT, and the relations behind FROM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from funke.engine.sql.syntax.expressions import Call, Expression, OrderItem, OverWindow
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.window_kinds import Windows

__all__ = [
    "ChangelogFunction",
    "GroupBy",
    "InlineTable",
    "Join",
    "Lateral",
    "Pattern",
    "Query",
    "Relation",
    "Select",
    "SetOperation",
    "SnapshotFunction",
    "SubQuery",
    "TableFunction",
    "TableRef",
    "Unnest",
    "Values",
    "WindowFunction",
    "With",
    "item_position",
    "items_position",
]

JoinKind = Literal["inner", "left", "right", "full", "cross"]
SetKind = Literal["union", "intersect", "except"]


@dataclass(frozen=True)
class Relation:
    """Something behind FROM, with its alias and the names of its columns if they are given."""

    position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    alias: str | None = field(default=None, kw_only=True)
    column_aliases: tuple[str, ...] = field(default=(), kw_only=True)
    aliases_position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    # From its start to the end of its alias.
    whole_position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class Query:
    """Base of whatever gives rows."""

    position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class TableRef(Relation):
    """A table or view by its path, with hints (`/*+ OPTIONS('a'='b') */`) and FOR SYSTEM_TIME AS OF."""

    path: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    as_of: Expression | None = None


@dataclass(frozen=True)
class InlineTable(Relation):
    """A table that was given as an object (Table API): whatever the binder knows how to take."""

    table: Any
    # What made it, where that can be said as a query.
    query: Query | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class SubQuery(Relation):
    """`(SELECT …) AS t`."""

    query: Query


@dataclass(frozen=True)
class Lateral(Relation):
    """`LATERAL (SELECT …)`, which sees the columns before it."""

    query: Query


@dataclass(frozen=True)
class TableFunction(Relation):
    """`LATERAL TABLE(f(x)) AS t(a, b)`, `TABLE(f(…))`."""

    call: Call
    is_lateral: bool = True


@dataclass(frozen=True)
class WindowFunction(Relation):
    """`TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL …))` and its kin, with named or plain arguments."""

    kind: type[Windows]
    input: Relation
    time_column: str
    # In the order of the function's arguments.
    sizes: tuple[Expression, ...]
    offset: Expression | None = None
    partition_by: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class ChangelogFunction(Relation):
    """`TO_CHANGELOG(input => TABLE t, op => DESCRIPTOR(c), op_mapping => MAP[…])`, or FROM_CHANGELOG."""

    kind: Literal["to_changelog", "from_changelog"]
    input: Relation
    op: Expression | None = None
    op_mapping: Expression | None = None
    partition_by: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class SnapshotFunction(Relation):
    """`LATERAL SNAPSHOT(input => TABLE t, on_time => DESCRIPTOR(ts), …)`: the rows that a table has now."""

    input: Relation
    on_time: Expression | None = None
    load_completed_time: Expression | None = None
    load_completed_idle_timeout: Expression | None = None
    state_ttl: Expression | None = None
    partition_by: tuple[Expression, ...] = ()
    is_lateral: bool = True


@dataclass(frozen=True)
class Unnest(Relation):
    """`UNNEST(array) [WITH ORDINALITY]`."""

    operand: Expression
    with_ordinality: bool = False


@dataclass(frozen=True)
class Join(Relation):
    """Two relations; `CROSS JOIN` and a comma have no condition."""

    kind: JoinKind
    left: Relation
    right: Relation
    condition: Expression | None = None
    using: tuple[str, ...] = ()
    is_natural: bool = False
    # Where the words JOIN and NATURAL stand, ON or USING, and USING with its columns; None of what SQL has not said.
    word_position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    natural_position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    condition_word_position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    using_position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    using_positions: tuple[Position, ...] = field(default=(), kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class Pattern(Relation):
    """MATCH_RECOGNIZE, part by part.

    The pattern has one blank between its parts and none before quantifiers: "A B+? (C | D){2,3}".
    """

    input: Relation
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    measures: tuple[Expression, ...]
    # "one row", "all rows" or "" (one row)
    rows_per_match: str
    # "skip past last row", "skip to next row", "skip to first A", "skip to last A" or "" (past the last row)
    after_match: str
    pattern: str
    definitions: tuple[tuple[str, Expression], ...]
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    within: Expression | None = None


@dataclass(frozen=True)
class GroupBy:
    """GROUP BY: one set for plain keys, several for GROUPING SETS, CUBE and ROLLUP (which the parser expands)."""

    sets: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class Select(Query):
    """SELECT, part by part."""

    items: tuple[Expression, ...]
    source: Relation | None = None
    where: Expression | None = None
    group_by: GroupBy | None = None
    having: Expression | None = None
    qualify: Expression | None = None
    is_distinct: bool = False
    windows: tuple[tuple[str, OverWindow], ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    limit: int | None = None
    offset: int = 0
    # `/*+ STATE_TTL('t' = '1d') */` and its kin: name and arguments; one without a value has an empty one.
    hints: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True)
class SetOperation(Query):
    """UNION, INTERSECT, EXCEPT, each with or without ALL."""

    kind: SetKind
    left: Query
    right: Query
    is_all: bool = False
    order_by: tuple[OrderItem, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class Values(Query):
    """VALUES (…), (…)."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class With(Query):
    """WITH name [(columns)] AS (query), … query."""

    tables: tuple[tuple[str, tuple[str, ...], Query], ...]
    query: Query


def items_position(query: Query) -> Position | None:
    """The position of the columns of a query, from the first to the last."""
    if isinstance(query, SetOperation):
        return items_position(query.left)
    positions = [each.position for each in query.items] if isinstance(query, Select) else []
    first, last = (positions[0], positions[-1]) if positions else (None, None)
    return query.position if first is None or last is None else first.to(last.end or last)


def item_position(query: Query, index: int) -> Position | None:
    """The position of one of the columns of a query."""
    if isinstance(query, SetOperation):
        return item_position(query.left, index)
    if isinstance(query, Select) and index < len(query.items):
        return query.items[index].position
    return query.position
