"""ChangelogNormalize: updates that come without the rows before them, with these; a row that changes nothing is left
out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.plan import (
    ChangeSettings,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PassThrough,
    PlanNode,
    Pruned,
    UpsertKeys,
    field_names,
    one_key,
    same_columns,
    updates,
)
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["ChangelogNormalize"]


@dataclass(frozen=True)
class ChangelogNormalize(PassThrough):
    """Keeps the row that each key has."""

    operator_name: ClassVar[str] = "ChangelogNormalize"
    state_name: ClassVar[str] = "ChangelogNormalize"

    keys: tuple[int, ...]
    # Whether the consumer needs rows as they were before a change (UPDATE_BEFORE).
    sends_before: bool = True
    # How long a key is remembered after its last row; 0 is forever.
    ttl_ms: int = 0

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        return updates(self.sends_before, RowKind.DELETE)

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (False,)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, sends_before=sends_before, ttl_ms=settings.ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        return one_key(self.keys)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        # An update that changes no column is left out, so all of them are compared.
        return replace(self, input=without_unused(self.input)), same_columns(self)

    def title(self, style: ExplainStyle) -> str:
        return f"ChangelogNormalize(key=[{field_names(self.columns, self.keys)}])"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import COLUMNS, key_fact
        from funke.engine.sql.operators.ranks.keep_one_row import stored_row_parts

        condition = ("the condition", strings.rows(self.input))
        facts = (key_fact(strings, self.input, self.keys, "the unique key"), condition)
        return StateMeaning("ChangelogNormalize", facts, ((COLUMNS, stored_row_parts(strings, self)),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.ranks.keep_one_row import KeepOneRowOperator, KeptRow

        # With a time to live every row is a sign of life, which those behind it have to see.
        return KeepOneRowOperator(self, KeptRow(has_retractions=True, skips_same=not self.ttl_ms))
