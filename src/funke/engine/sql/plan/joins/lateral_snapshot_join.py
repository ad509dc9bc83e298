"""LateralSnapshotJoin: each row with the rows that a changing table has when the row comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.joins.regular_joins import Join as LogicalJoin
from funke.engine.sql.binding.joins.snapshot_joins import LoadPhase, SnapshotJoin
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.plan import (
    FOR_LATE_ROWS,
    INSERTS,
    NO_KEYS,
    ChangeSettings,
    ExplainStyle,
    Kinds,
    Moves,
    PlanNode,
    UpsertKeys,
    WatermarkStep,
)
from funke.engine.sql.plan.joins.join import KIND_NAMES, TwoSidedNode
from funke.engine.sql.plan.joins.join_keys import keyed_sides

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["LateralSnapshotJoin", "lateral_snapshot_join_of"]


@dataclass(frozen=True)
class LateralSnapshotJoin(TwoSidedNode):
    """Rows of the left input wait until the right one is loaded; from then on each is joined when it comes."""

    operator_name: ClassVar[str] = "LateralSnapshotJoin"
    state_name: ClassVar[str] = "LateralSnapshotJoin"

    # What the changes of the right input are ordered by; None: as they come.
    right_time: int | None
    load: LoadPhase
    # As the query says; 0 is forever.
    own_ttl_ms: int | None
    ttl_ms: int = 0

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # Rows of the right input are found by all of their columns, so its updates come with the row before.
        return False, True

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, ttl_ms=settings.ttl_ms if self.own_ttl_ms is None else self.own_ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        is_unique = any(key <= {*self.right_keys} for key in self.right.unique_keys())
        return self.left.upsert_keys() if is_unique else NO_KEYS

    def needed_columns(self) -> set[int]:
        return set() if self.right_time is None else {len(self.left.columns) + self.right_time}

    def with_moved_columns(self, moves: Moves, width: int, new_width: int) -> PlanNode:
        if self.right_time is None:
            return self
        return replace(self, right_time=moves[width + self.right_time] - new_width)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def with_watermarks(self, consumer_step: WatermarkStep | None) -> PlanNode:
        # Watermarks of the left input are passed on as the consumer needs them. Those of the right one only say when
        # changes become visible.
        left, right = self.left.with_watermarks(consumer_step), self.right.with_watermarks(FOR_LATE_ROWS)
        return replace(self, left=left, right=right)

    def title(self, style: ExplainStyle) -> str:
        return f"LateralSnapshotJoin({', '.join(self._parts(style))})"

    def _parts(self, style: ExplainStyle) -> Iterator[str]:
        yield f"joinType=[{KIND_NAMES[self.kind]}]"
        yield f"where=[{self.where_text(style)}]"
        yield f"select=[{', '.join(self.names())}]"
        yield f"loadCompletedCondition=[{'compile_time' if self.load.is_compile_time else 'user_time'}]"
        yield f"loadCompletedTime=[{self.load.completed_ms}]"
        if self.load.idle_timeout_ms is not None:
            yield f"loadCompletedIdleTimeout=[{self.load.idle_timeout_ms} ms]"
        if self.own_ttl_ms is not None:
            yield f"stateTtl=[{self.own_ttl_ms} ms]"

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"{KIND_NAMES[self.kind]} {self.where_text(ExplainStyle())}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The rows of the right input, changes that wait for its watermark, and rows of the left one that wait."""
        from funke.engine.sql.meaning import input_facts, key_fact

        sides = [strings.typed_columns(each, range(len(each.columns))) for each in self.inputs]
        facts = (
            ("the left side", sides[0]),
            ("the right side", sides[1]),
            key_fact(strings, self.left, self.left_keys, "the key"),
            key_fact(strings, self.right, self.right_keys, "the key of the right side"),
            *input_facts(strings, *self.inputs),
        )
        return StateMeaning("LateralSnapshotJoin", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.lateral_snapshot_join import LateralSnapshotJoinOperator

        return LateralSnapshotJoinOperator(self, task.clock)


def lateral_snapshot_join_of(join: SnapshotJoin) -> PlanNode:
    """The node of a snapshot join whose sides are nodes already."""
    sides, rest = keyed_sides(LogicalJoin(join.columns, join.left, join.right, join.kind, join.condition))
    if not sides.left_keys:
        raise ValidationException("LATERAL SNAPSHOT join requires at least one equality predicate.")
    width = len(join.left.columns)
    added = tuple(Column(each.name, each.type) for each in sides.right.columns[len(join.right.columns) :])
    columns = (*join.columns[:width], *sides.left.columns[width:], *join.columns[width:], *added)
    node = LateralSnapshotJoin(
        columns,
        sides.left,
        sides.right,
        sides.left_keys,
        sides.right_keys,
        join.kind,
        sides.moved(rest),
        join.right_time,
        join.load,
        join.ttl_ms,
    )
    return sides.without_keys(node, join.columns)
