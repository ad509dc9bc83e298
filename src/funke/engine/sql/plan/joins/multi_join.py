"""MultiJoin: a chain of inner and left joins that share a key, as one operator that keeps the rows of its inputs alone.

The chain is from left to right: level n joins input n with all rows that the levels before it have made. What those
rows are is computed when a change comes, never kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundExpression,
    columns_in,
    conjuncts,
    moved,
    with_columns,
)
from funke.engine.sql.binding.joins.regular_joins import JoinKind, all_true, call_of
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS, ChangeSettings, Kinds, ttl_of
from funke.engine.sql.plan.changelogs.upsert_keys import UpsertKeys, containing
from funke.engine.sql.plan.explain_text import PREFIX, ExplainStyle, expression_text, field_names
from funke.engine.sql.plan.joins.join import KIND_NAMES, is_within, joined_conditions, row_growth
from funke.engine.sql.plan.node import Distribution, Hash, Moves, PlanNode, Pruned
from funke.engine.sql.plan.pruning import only
from funke.engine.sql.plan.watermarks import WatermarkStep
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import with_nullable
from funke.engine.types.logical.sql_text import to_full_sql_text
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings
    from funke.engine.sql.plan.state_growth import StateGrowth

__all__ = ["JoinLevel", "MultiJoin"]


@dataclass(frozen=True)
class JoinLevel:
    """The join of an input with the rows of all inputs before it."""

    # Inner or left.
    kind: JoinKind
    # What must be equal: columns of the inputs before it, and columns of the input itself.
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    # The rest of the condition, and all of it as it was written; on the columns of all inputs up to this one.
    condition: BoundExpression | None
    where: BoundExpression | None

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """The columns that must be equal."""
        return zip(self.left_keys, self.right_keys)

    def moved(self, moves: Moves, starts: tuple[int, int]) -> JoinLevel:
        """The level where columns have moved; its input began at the first of the indexes and begins at the second."""
        before, after = starts
        return replace(
            self,
            left_keys=tuple(moves[each] for each in self.left_keys),
            right_keys=tuple(moves[before + each] - after for each in self.right_keys),
            condition=None if self.condition is None else moved(self.condition, moves),
            where=None if self.where is None else moved(self.where, moves),
        )

    def columns(self, start: int) -> set[int]:
        """The columns that it looks at; its input begins at this index."""
        conditions = [each for each in (self.condition, self.where) if each is not None]
        return {*self.left_keys, *(start + each for each in self.right_keys), *columns_in(conditions)}


@dataclass(frozen=True)
class MultiJoin(PlanNode):
    """The columns of all inputs, one input after the other."""

    operator_name: ClassVar[str] = "MultiJoin"
    state_name: ClassVar[str] = "MultiJoin"

    sources: tuple[PlanNode, ...]
    # Of each input the columns by which all of them meet: at every level they are equal to those of an input before.
    keys: tuple[tuple[int, ...], ...]
    # Of each input but the first one.
    levels: tuple[JoinLevel, ...]
    # How long a row of each input is kept after it was last written; 0 is forever. The same as hints say it.
    ttls_ms: tuple[int, ...]
    ttl_hints: tuple[str, ...]

    @property
    def starts(self) -> tuple[int, ...]:
        """The index of the first column of each input."""
        widths = [len(each.columns) for each in self.sources]
        return tuple(sum(widths[:number]) for number in range(len(widths)))

    def located(self, column: int) -> tuple[int, int]:
        """The input of a column, and its index there."""
        starts = self.starts
        number = max(number for number, start in enumerate(starts) if start <= column)
        return number, column - starts[number]

    def is_left(self, number: int) -> bool:
        """True if rows of the inputs before this one are sent with NULLs when they have no match in it."""
        return number > 0 and self.levels[number - 1].kind == "left"

    def rest(self, number: int) -> tuple[tuple[int, ...], BoundExpression | None]:
        """The rest of a level's condition where the keys are equal: inputs that must have a row, and other conditions.

        An equality with an input that may be missing is not fulfilled by its NULLs.
        """
        level, start = self.levels[number - 1], self.starts[number]
        required: set[int] = set()
        others: list[BoundExpression] = []
        for left, right in level.pairs:
            source, index = self.located(left)
            if (index, right) in zip(self.keys[source], self.keys[number]):
                required |= {source} if self.is_left(source) else set()
            else:
                one = BoundColumn(self.columns[left].type, left, "")
                others.append(call_of("=", one, BoundColumn(self.columns[start + right].type, start + right, "")))
        others += [] if level.condition is None else [level.condition]
        return tuple(sorted(required)), all_true(others)

    # How rows reach it, and which changes leave it

    def distributions(self) -> tuple[Distribution, ...]:
        return tuple(map(Hash, self.keys))

    def changelog(self) -> Kinds:
        if any(each.kind == "left" for each in self.levels):
            # A match takes back the row that was sent without one.
            return ALL_KINDS
        return INSERTS.union(*(each.changelog() for each in self.sources))

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (consumer_needs or not self.can_omit_before(),) * len(self.sources)

    def can_omit_before(self) -> bool:
        return all(map(self._takes_upserts, range(len(self.sources))))

    def _takes_upserts(self, number: int) -> bool:
        """True if an update of an input can replace the row before it: both have the same key and the same matches."""
        source = self.sources[number]
        if RowKind.UPDATE_AFTER not in source.changelog():
            return True
        has_key = bool(containing(source.upsert_keys(), self.keys[number]))
        rests = [rest for level in range(1, len(self.sources)) if (rest := self.rest(level)[1]) is not None]
        is_compared = any(self.located(column)[0] == number for column in columns_in(rests))
        return has_key and not self.is_left(number) and not is_compared and source.can_omit_before()

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, ttls_ms=tuple(ttl_of(each, settings) for each in self.ttl_hints))

    def upsert_keys(self) -> UpsertKeys:
        return self._joined_keys([containing(each.upsert_keys(), keys) for each, keys in zip(self.sources, self.keys)])

    def unique_keys(self) -> UpsertKeys:
        return self._joined_keys([each.unique_keys() for each in self.sources])

    def _joined_keys(self, keys: list[UpsertKeys]) -> UpsertKeys:
        """A key of every input is one; those of a side alone are, if its rows have one match at the most."""
        joined, unique = keys[0], self.sources[0].unique_keys()
        for level, start, own, source in zip(self.levels, self.starts[1:], keys[1:], self.sources[1:]):
            right = _moved_keys(own, start)
            right_unique = source.unique_keys()
            is_right_unique = is_within(right_unique, level.right_keys)
            is_left_unique = is_within(unique, level.left_keys) and level.kind == "inner"
            joined, unique = (
                frozenset({one | other for one in left for other in added})
                | (left if is_right_unique else frozenset())
                | (added if is_left_unique else frozenset())
                for left, added in ((joined, right), (unique, _moved_keys(right_unique, start)))
            )
        return joined

    # Passes that change the plan

    def pruned(self, needed: frozenset[int]) -> Pruned:
        starts = self.starts
        used = set(needed)
        for start, keys in zip(starts, self.keys):
            used |= {start + each for each in keys}
        for start, level in zip(starts[1:], self.levels):
            used |= level.columns(start)
        kept = sorted(used)
        moves = {old: new for new, old in enumerate(kept)}
        ends = (*starts[1:], len(self.columns))
        new_starts = [sum(each < start for each in kept) for start in starts]
        node = replace(
            self,
            columns=tuple(self.columns[each] for each in kept),
            sources=tuple(
                only(source, [each - start for each in kept if start <= each < end])
                for source, start, end in zip(self.sources, starts, ends)
            ),
            keys=tuple(
                tuple(moves[start + each] - new for each in keys)
                for keys, start, new in zip(self.keys, starts, new_starts)
            ),
            levels=tuple(level.moved(moves, each) for level, each in zip(self.levels, zip(starts[1:], new_starts[1:]))),
        )
        return node, moves

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    # Texts

    def title(self, style: ExplainStyle) -> str:
        kinds = ", ".join(each.kind.upper() for each in self.levels)
        conditions = ", ".join(self._condition_text(each, style) for each in range(1, len(self.sources)))
        fields = [f"{_type_text(each.type)} {each.name}" for each in self.columns]
        return (
            f"MultiJoin(commonJoinKey=[{field_names(self.columns, self.keys[0])}], joinTypes=[{kinds}], "
            f"inputUniqueKeys=[{', '.join(map(_unique_keys_text, self.sources))}], {self._ttls_text()}"
            f"joinConditions=[{conditions}], select=[{field_names(self.columns, separator=',')}], "
            f"rowType=[RecordType({', '.join(fields)})])"
        )

    def _ttls_text(self) -> str:
        if not any(self.ttl_hints):
            return ""
        return f"stateTtlHints=[[[STATE_TTL options:[{', '.join(each or '0s' for each in self.ttl_hints)}]]]], "

    def _condition_text(self, number: int, style: ExplainStyle) -> str:
        level = self.levels[number - 1]
        parts = self._meant(number, style) if level.where is None else self._strings(level.where, style)
        return joined_conditions(parts, style)

    def _meant(self, number: int, style: ExplainStyle) -> list[str]:
        """The condition of a level in one form, however it was written: keys, then the others."""
        level, start = self.levels[number - 1], self.starts[number]
        pairs = [(self.columns[left], self.columns[start + right]) for left, right in level.pairs]
        parts = [
            f"({one.name} = {other.name})" if style.is_infix else f"=({one.name}, {other.name})" for one, other in pairs
        ]
        return parts + ([] if level.condition is None else self._strings(level.condition, style))

    def _strings(self, condition: BoundExpression, style: ExplainStyle) -> list[str]:
        named = with_columns(condition, lambda column: replace(column, name=self.columns[column.index].name))
        return [expression_text(each, style) for each in conjuncts(named)]

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        number, column = self.located(index)
        return strings.column(self.sources[number], column)

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        for number, level in enumerate(self.levels, 1):
            yield f"{KIND_NAMES[level.kind]} {joined_conditions(self._meant(number, PREFIX), PREFIX)}"

    # At run time

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The rows of all inputs, and what they meet by."""
        from funke.engine.sql.meaning.state_parts import input_facts

        facts = [
            (f"input {number}", strings.typed_columns(each, range(len(each.columns))))
            for number, each in enumerate(self.sources)
        ]
        key = ("the common key", "; ".join(map(strings.typed_columns, self.sources, self.keys)))
        join = ("the joins", "; ".join(self.row_conditions(strings)))
        return StateMeaning("MultiJoin", (*facts, key, join, *input_facts(strings, *self.sources)))

    def state_growth(self) -> tuple[StateGrowth, ...]:
        owner = f"MultiJoin(commonJoinKey=[{field_names(self.columns, self.keys[0])}])"
        return tuple(row_growth(owner, *each) for each in zip(self.sources, self.keys, self.ttls_ms))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.multi_join import MultiJoinOperator

        return MultiJoinOperator(self, task.clock)


def _moved_keys(keys: UpsertKeys, start: int) -> UpsertKeys:
    return frozenset(frozenset(start + each for each in key) for key in keys)


def _unique_keys_text(source: PlanNode) -> str:
    keys = sorted(sorted(each) for each in source.upsert_keys())
    return ", ".join(f"({field_names(source.columns, each)})" for each in keys) or "noUniqueKey"


def _type_text(data_type: DataType) -> str:
    """A type as Flink writes it into the plan of this node alone."""
    return re.sub(r"\bINT\b", "INTEGER", to_full_sql_text(with_nullable(data_type, True)))
