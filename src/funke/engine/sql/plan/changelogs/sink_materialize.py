"""SinkMaterialize: for each primary key of a sink one of the rows that a query with another upsert key has for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.plan import (
    ALL_KINDS,
    EVERY_WATERMARK,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PassThrough,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    field_names,
    one_key,
    same_columns,
)
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["SinkMaterialize", "WatermarkTimestampAssigner"]


@dataclass(frozen=True)
class SinkMaterialize(PassThrough):
    """The last row that was not taken back (deduplicate), or the first one (nothing), or the only one (error)."""

    operator_name: ClassVar[str] = "SinkMaterializer"

    # The columns of the primary key.
    keys: tuple[int, ...]
    # The columns by which rows of the input replace each other; None: each one stays until it is taken back.
    upsert_key: tuple[int, ...] | None = None
    # How long a key is remembered after its last row; 0 is forever.
    ttl_ms: int = 0
    strategy: str = "deduplicate"

    @property
    def keeps_all_rows(self) -> bool:
        """True if all rows of a key are kept; else one of them is, and the rest waits for watermarks."""
        return self.strategy == "deduplicate"

    @property
    def state_name(self) -> str:
        return "SinkMaterializer" if self.keeps_all_rows else "SinkMaterializer SettleConflicts"

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        # The key says which row an update replaces.
        return ALL_KINDS - {RowKind.UPDATE_BEFORE}

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def upsert_keys(self) -> UpsertKeys:
        return one_key(self.keys)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        # A row that is taken back is found by its columns, and the one before it is shown whole again.
        return replace(self, input=without_unused(self.input)), same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step if self.keeps_all_rows else EVERY_WATERMARK

    def title(self, style: ExplainStyle) -> str:
        return f"SinkMaterializer(primaryKey=[{field_names(self.columns, self.keys)}])"

    def phases(self) -> tuple[PlanNode, ...]:
        if self.keeps_all_rows:
            return (self,)
        assigner = WatermarkTimestampAssigner(self.input.columns, self.input)
        return assigner, replace(self, input=assigner)

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import COLUMNS, columns_of, input_facts, key_fact

        source = self.input
        replaced = "none" if self.upsert_key is None else strings.typed_columns(source, self.upsert_key)
        facts = (
            key_fact(strings, source, self.keys, "the primary key"),
            ("rows replaced by", replaced),
            *input_facts(strings, source),
        )
        parts = ((COLUMNS, columns_of(strings, source)),)
        if self.keeps_all_rows:
            return StateMeaning("SinkMaterializer", facts, parts)
        conflicts = ("ON CONFLICT DO", self.strategy.upper())
        return StateMeaning("SinkMaterializer of one row", (*facts, conflicts), parts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.changelogs.materialize import MaterializeOperator
        from funke.engine.sql.operators.changelogs.settle_conflicts import SettleConflictsOperator

        return MaterializeOperator(self) if self.keeps_all_rows else SettleConflictsOperator(self)


@dataclass(frozen=True)
class WatermarkTimestampAssigner(PassThrough):
    """The first phase where conflicts are settled watermark by watermark: rows get the watermark as their timestamp."""

    operator_name: ClassVar[str] = "WatermarkTimestampAssigner"

    def title(self, style: ExplainStyle) -> str:
        return f"WatermarkTimestampAssigner({field_names(self.columns)})"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.changelogs.settle_conflicts import StampWatermarksOperator

        return StampWatermarksOperator()
