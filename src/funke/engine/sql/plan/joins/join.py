"""Join: the pairs of rows of two inputs that match, as rows of both come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.expressions import (
    BoundExpression,
    columns_in,
    conjuncts,
    moved,
    with_columns,
)
from funke.engine.sql.binding.joins.regular_joins import JoinKind, distinct_names
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS, ChangeSettings, Kinds, ttl_of
from funke.engine.sql.plan.changelogs.upsert_keys import UpsertKeys, containing, identifying_key
from funke.engine.sql.plan.explain_text import PREFIX, ExplainStyle, expression_text
from funke.engine.sql.plan.node import Distribution, Hash, Moves, PlanNode, Pruned
from funke.engine.sql.plan.pruning import only
from funke.engine.sql.plan.watermarks import WatermarkStep
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings
    from funke.engine.sql.plan.state_growth import StateGrowth

__all__ = ["KIND_NAMES", "Join", "TwoSidedNode", "is_within", "joined_conditions", "row_growth"]

KIND_NAMES: dict[JoinKind, str] = {
    "inner": "InnerJoin",
    "left": "LeftOuterJoin",
    "right": "RightOuterJoin",
    "full": "FullOuterJoin",
    "semi": "LeftSemiJoin",
    "anti": "LeftAntiJoin",
}


@dataclass(frozen=True)
class TwoSidedNode(PlanNode):
    """The base of nodes that join two inputs by keys."""

    left: PlanNode
    right: PlanNode
    # NULL is equal to nothing.
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    kind: JoinKind
    # On the columns of both inputs.
    condition: BoundExpression | None

    @property
    def keeps_left(self) -> bool:
        """True if rows of the left input without a match are sent, with NULLs."""
        return self.kind in ("left", "full")

    @property
    def keeps_right(self) -> bool:
        """True if rows of the right input without a match are sent, with NULLs."""
        return self.kind in ("right", "full")

    @property
    def has_left_only(self) -> bool:
        """True if it has the columns of the left input alone."""
        return self.kind in ("semi", "anti")

    def distributions(self) -> tuple[Distribution, ...]:
        return Hash(self.left_keys), Hash(self.right_keys)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        width = len(self.left.columns)
        conditions = () if self.condition is None else (self.condition,)
        used = {*needed, *self.left_keys, *(width + each for each in self.right_keys), *columns_in(conditions)}
        used |= self.needed_columns()
        # A batch without columns has no rows.
        used |= set() if any(each < width for each in used) else {0}
        used |= set() if any(each >= width for each in used) else {width}
        kept = sorted(used)
        moves = {old: new for new, old in enumerate(kept)}
        first = sum(each < width for each in kept)
        node = replace(
            self,
            columns=tuple(self.columns[each] for each in kept if each < len(self.columns)),
            left=only(self.left, kept[:first]),
            right=only(self.right, [each - width for each in kept[first:]]),
            left_keys=tuple(moves[each] for each in self.left_keys),
            right_keys=tuple(moves[width + each] - first for each in self.right_keys),
            condition=None if self.condition is None else moved(self.condition, moves),
        )
        return node.with_moved_columns(moves, width, first), moves

    def needed_columns(self) -> set[int]:
        """More columns of both inputs that the node itself looks at."""
        return set()

    def with_moved_columns(self, moves: Moves, width: int, new_width: int) -> PlanNode:
        """The node with `needed_columns` where they are now; `width` columns of the left input have become fewer."""
        return self

    def names(self) -> list[str]:
        """The names of the columns of both inputs, each of which occurs once."""
        return distinct_names([each.name for each in (*self.left.columns, *self.right.columns)])

    def condition_strings(self, style: ExplainStyle) -> list[str]:
        """The conditions: equal keys, then the others."""
        names, width = self.names(), len(self.left.columns)
        pairs = [(names[one], names[width + other]) for one, other in zip(self.left_keys, self.right_keys)]
        parts = [f"({one} = {other})" if style.is_infix else f"=({one}, {other})" for one, other in pairs]
        if self.condition is not None:
            named = with_columns(self.condition, lambda column: replace(column, name=names[column.index]))
            parts += [expression_text(each, style) for each in conjuncts(named)]
        return parts

    def where_text(self, style: ExplainStyle) -> str:
        return joined_conditions(self.condition_strings(style), style)

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        width = len(self.left.columns)
        return strings.column(self.left, index) if index < width else strings.column(self.right, index - width)


@dataclass(frozen=True)
class Join(TwoSidedNode):
    """A regular join: every row is kept, to meet those of the other input that are still to come."""

    operator_name: ClassVar[str] = "Join"
    state_name: ClassVar[str] = "Join"

    # The numbers of the keys where NULL is equal to NULL.
    equal_nulls: tuple[int, ...] = ()
    # How long a row is kept after it was last written; 0 is forever.
    left_ttl_ms: int = 0
    right_ttl_ms: int = 0
    # The same of both inputs, as a hint says it.
    ttl_hints: tuple[str, str] = ("", "")
    # How batches join, as hints say it: a name and a side, LEFT or RIGHT.
    hints: tuple[tuple[str, str], ...] = ()
    # All conditions as they were written, keys among them, for EXPLAIN.
    where: BoundExpression | None = None

    def changelog(self) -> Kinds:
        # Without outer sides a join only passes changes on: what is inserted stays inserted.
        if self.kind in ("inner", "semi"):
            return INSERTS | self.left.changelog() | self.right.changelog()
        # A match takes back the row that was sent without one.
        return ALL_KINDS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (consumer_needs or not self.can_omit_before(),) * 2

    def can_omit_before(self) -> bool:
        return all(map(self._takes_upserts, range(2)))

    def _takes_upserts(self, side: int) -> bool:
        """True if an update of an input can replace the row before it: both have the same key and the same matches.

        Flink also omits UPDATE_BEFORE in front of outer, semi and anti joins and beside further conditions. There it
        counts a match twice, or leaves a row that matches no more: rows are lost, or stay. So these ask for it.
        """
        source, keys = self.inputs[side], (self.left_keys, self.right_keys)[side]
        if RowKind.UPDATE_AFTER not in source.changelog():
            return True
        is_counted = self.keeps_right if side == 0 else self.keeps_left or self.has_left_only
        has_key = bool(containing(source.upsert_keys(), keys))
        return has_key and not is_counted and self.condition is None and source.can_omit_before()

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        left, right = (ttl_of(each, settings) for each in self.ttl_hints)
        return replace(self, left_ttl_ms=left, right_ttl_ms=right)

    def needed_columns(self) -> set[int]:
        return set() if self.where is None else set(columns_in((self.where,)))

    def with_moved_columns(self, moves: Moves, width: int, new_width: int) -> PlanNode:
        """As in Flink names that occur again get their numbers anew where columns are gone."""
        names = self.names()[: len(self.columns)]
        columns = tuple(replace(each, name=name) for each, name in zip(self.columns, names))
        where = None if self.where is None else moved(self.where, moves)
        return replace(self, columns=columns, where=where)

    def condition_strings(self, style: ExplainStyle) -> list[str]:
        if self.where is None:
            return super().condition_strings(style)
        names = self.names()
        named = with_columns(self.where, lambda column: replace(column, name=names[column.index]))
        return [expression_text(each, style) for each in conjuncts(named)]

    def upsert_keys(self) -> UpsertKeys:
        left = containing(self.left.upsert_keys(), self.left_keys)
        if self.has_left_only:
            return left
        return self._joined_keys(left, containing(self.right.upsert_keys(), self.right_keys))

    def unique_keys(self) -> UpsertKeys:
        if self.has_left_only:
            return self.left.unique_keys()
        return self._joined_keys(self.left.unique_keys(), self.right.unique_keys())

    def _joined_keys(self, left: UpsertKeys, right: UpsertKeys) -> UpsertKeys:
        """A pair of keys is one; a side's own keys are, if its rows have one match at the most."""
        width = len(self.left.columns)
        moved_right = frozenset(frozenset(width + each for each in key) for key in right)
        keys = {one | other for one in left for other in moved_right}
        if self.right_is_unique and not self.keeps_right:
            keys |= left
        if self.left_is_unique and not self.keeps_left:
            keys |= moved_right
        return frozenset(keys)

    @property
    def left_is_unique(self) -> bool:
        """True if the left input has at most one row for each key."""
        return is_within(self.left.unique_keys(), self.left_keys)

    @property
    def right_is_unique(self) -> bool:
        """True if the right input has at most one row for each key."""
        return is_within(self.right.unique_keys(), self.right_keys)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        names = self.names()[: len(self.columns)]
        specs = [
            _input_spec(each.upsert_keys(), keys) for each, keys in zip(self.inputs, (self.left_keys, self.right_keys))
        ]
        return (
            f"Join(joinType=[{KIND_NAMES[self.kind]}], where=[{self.where_text(style)}], select=[{', '.join(names)}], "
            f"leftInputSpec=[{specs[0]}], rightInputSpec=[{specs[1]}])"
        )

    def hints_text(self) -> str:
        joins = "".join(f"[{name} options:[{side}]]" for name, side in self.hints)
        joins_text = f", joinHints=[[{joins}]]" if joins else ""
        sides = [f"{name}={each}" for name, each in zip(("LEFT", "RIGHT"), self.ttl_hints) if each]
        return joins_text + f", stateTtlHints=[[[STATE_TTL options:{{{', '.join(sides)}}}]]]" if sides else joins_text

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"{KIND_NAMES[self.kind]} {self._meant_condition()}"

    def _meant_condition(self) -> str:
        """Its condition, however it was written: keys, then the others."""
        parts = super().condition_strings(PREFIX)
        for number in self.equal_nulls:
            parts[number] = f"IS NOT DISTINCT FROM{parts[number][1:]}"
        return joined_conditions(parts, PREFIX)

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The rows of both inputs, and how many matches each has."""
        from funke.engine.sql.meaning.state_parts import input_facts

        sides = [strings.typed_columns(each, range(len(each.columns))) for each in self.inputs]
        facts = (
            ("the left side", sides[0]),
            ("the right side", sides[1]),
            ("the join", f"{KIND_NAMES[self.kind]} {self._meant_condition()}"),
            *input_facts(strings, *self.inputs),
        )
        return StateMeaning("Join", facts)

    def state_growth(self) -> tuple[StateGrowth, ...]:
        owner = f"Join(where=[{self.where_text(ExplainStyle())}])"
        ttls = (self.left_ttl_ms, self.right_ttl_ms)
        return tuple(row_growth(owner, *each) for each in zip(self.inputs, (self.left_keys, self.right_keys), ttls))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.join import JoinOperator

        return JoinOperator(self, task.clock)


def joined_conditions(parts: Sequence[str], style: ExplainStyle) -> str:
    """Conditions that must all be true."""
    if len(parts) < 2:
        return parts[0] if parts else "true"
    return f"({' AND '.join(parts)})" if style.is_infix else f"AND({', '.join(parts)})"


def _input_spec(upsert_keys: UpsertKeys, keys: Sequence[int]) -> str:
    """The name that Flink's plans have for the state of an input."""
    # The three cases of Flink's JoinInputSideSpec: they decide how its state is laid out.
    if is_within(upsert_keys, keys):
        return "JoinKeyContainsUniqueKey"
    return "HasUniqueKey" if upsert_keys else "NoUniqueKey"


def is_within(unique_keys: UpsertKeys, keys: Sequence[int]) -> bool:
    """True if there is at most one row for each value of these columns."""
    return any(each <= {*keys} for each in unique_keys)


def row_growth(owner: str, source: PlanNode, keys: Sequence[int], ttl_ms: int) -> StateGrowth:
    """The state that a join keeps of an input, and the reason why it grows."""
    from funke.engine.sql.plan.state_growth import StateGrowth, read_tables

    tables, unique_key = read_tables(source), identifying_key(source.upsert_keys(), keys)
    if ttl_ms:
        return StateGrowth(owner, f"keeps a row of {tables} for {ttl_ms} ms after it was last written")
    if unique_key is not None:
        names = ", ".join(source.columns[each].name for each in unique_key)
        return StateGrowth(owner, f"keeps one row of {tables} for each {names or 'key'}")
    # Rows come and go, so the state is as large as the table itself: no warning.
    if source.has_retractions:
        return StateGrowth(owner, f"keeps a row of {tables} until it is taken back; no key, no TTL")
    text = f"grows with every row of {tables}; no key, no TTL"
    return StateGrowth(owner, text, tables.names if tables.is_endless else ())
