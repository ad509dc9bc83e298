"""TemporalJoin: each row with the version that a table had at its event time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.plan import (
    FOR_LATE_ROWS,
    ExplainStyle,
    Kinds,
    Moves,
    PlanNode,
    UpsertKeys,
    WatermarkStep,
    containing,
    finer,
)
from funke.engine.sql.plan.joins.join import KIND_NAMES, TwoSidedNode, joined_conditions

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["TemporalJoin"]


@dataclass(frozen=True)
class TemporalJoin(TwoSidedNode):
    """The columns of the left input, then those of the version; rows of the left input wait for the watermark."""

    operator_name: ClassVar[str] = "TemporalJoin"
    state_name: ClassVar[str] = "TemporalJoin"

    left_time: int
    # None: the table has no time, which is rejected once it is known whether it has a key.
    right_time: int | None

    def changelog(self) -> Kinds:
        return self.left.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # A version ends where the next one begins, so rows before updates are not looked at.
        return consumer_needs, False

    def upsert_keys(self) -> UpsertKeys:
        """A row has one version, so the keys of the left input stay; an equal column may stand for one of them."""
        keys = containing(self.left.upsert_keys(), self.left_keys)
        if self.keeps_left:
            return keys
        for one, other in zip(self.left_keys, self.right_keys):
            keys |= {each - {one} | {len(self.left.columns) + other} for each in keys}
        return keys

    def needed_columns(self) -> set[int]:
        width = len(self.left.columns)
        return {self.left_time} if self.right_time is None else {self.left_time, width + self.right_time}

    def with_moved_columns(self, moves: Moves, width: int, new_width: int) -> PlanNode:
        right_time = None if self.right_time is None else moves[width + self.right_time] - new_width
        return replace(self, left_time=moves[self.left_time], right_time=right_time)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, FOR_LATE_ROWS)

    def title(self, style: ExplainStyle) -> str:
        names, width = self.names(), len(self.left.columns)
        own = ", ".join(names[key] for key in self.left_keys)
        others = ", ".join(names[width + key] for key in self.right_keys)
        time = "" if self.right_time is None else names[width + self.right_time]
        versions = (
            f"__TEMPORAL_JOIN_CONDITION({names[self.left_time]}, {time}, "
            f"__TEMPORAL_JOIN_CONDITION_PRIMARY_KEY({others}), __TEMPORAL_JOIN_LEFT_KEY({own}), "
            f"__TEMPORAL_JOIN_RIGHT_KEY({others}))"
        )
        where = joined_conditions([*self.condition_strings(style), versions], style)
        return f"TemporalJoin(joinType=[{KIND_NAMES[self.kind]}], where=[{where}], select=[{', '.join(names)}])"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """Rows of the left input that wait, and versions; a condition is looked at later."""
        from funke.engine.sql.meaning import LEFT_COLUMNS, VERSION_COLUMNS, columns_of, key_fact

        assert self.right_time is not None
        facts = (
            key_fact(strings, self.left, self.left_keys, "the key"),
            key_fact(strings, self.right, self.right_keys, "the key of versions"),
            ("the time", strings.column(self.left, self.left_time)),
            ("the time of versions", strings.column(self.right, self.right_time)),
        )
        lists = (
            (LEFT_COLUMNS, columns_of(strings, self.left, self.left_values)),
            (VERSION_COLUMNS, columns_of(strings, self.right, self.right_values)),
        )
        return StateMeaning("TemporalJoin", facts, lists)

    @property
    def left_values(self) -> list[int]:
        """The columns of the left input that are kept beside its keys."""
        return [index for index in range(len(self.left.columns)) if index not in self.left_keys]

    @property
    def right_values(self) -> list[int]:
        """The columns of a version that are kept beside its keys."""
        return [index for index in range(len(self.right.columns)) if index not in self.right_keys]

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.temporal_join import TemporalJoinOperator

        return TemporalJoinOperator(self, task.clock)
