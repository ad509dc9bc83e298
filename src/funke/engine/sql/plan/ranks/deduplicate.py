"""Deduplicate: the first row of each key, or the last one, by time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.plan import (
    FOR_LATE_ROWS,
    INSERTS,
    ChangeSettings,
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
    finer,
    one_key,
    updates,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["Deduplicate"]


@dataclass(frozen=True)
class Deduplicate(PassThrough):
    """The earliest row is known when the watermark has passed it; any other one is sent as rows come."""

    operator_name: ClassVar[str] = "Deduplicate"

    keys: tuple[int, ...]
    # The column of the event time; None if rows count as they come.
    rowtime: int | None
    keeps_last: bool
    # Whether the consumer needs rows as they were before a change (UPDATE_BEFORE).
    sends_before: bool = True
    # How long a key is remembered after its last row; 0 is forever.
    ttl_ms: int = 0

    @property
    def waits_for_watermark(self) -> bool:
        """Whether rows wait until no earlier one can come."""
        return self.rowtime is not None and not self.keeps_last

    @property
    def state_name(self) -> str:
        # Each of them keeps a kind of state that the other one does not read.
        return "Deduplicate KeepEarliestRow" if self.waits_for_watermark else "Deduplicate KeepOneRow"

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        # The first row is sent once.
        return updates(self.sends_before) if self.keeps_last else INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (False,)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, sends_before=sends_before, ttl_ms=settings.ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        return one_key(self.keys)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        used = {*needed, *self.keys} | (set() if self.rowtime is None else {self.rowtime})
        source, moves = self.input.pruned(frozenset(used))
        node = replace(
            self,
            columns=source.columns,
            input=source,
            keys=tuple(moves[key] for key in self.keys),
            rowtime=None if self.rowtime is None else moves[self.rowtime],
        )
        return node, {each: moves[each] for each in used}

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, FOR_LATE_ROWS) if self.waits_for_watermark else consumer_step

    def title(self, style: ExplainStyle) -> str:
        keep = "LastRow" if self.keeps_last else "FirstRow"
        time = "PROCTIME" if self.rowtime is None else "ROWTIME"
        keys, inserts = field_names(self.columns, self.keys), str(not self.keeps_last).lower()
        return f"Deduplicate(keep=[{keep}], key=[{keys}], order=[{time}], outputInsertOnly=[{inserts}])"

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"the {self._kept_word} row of {strings.columns(self.input, self.keys)}"

    @property
    def _kept_word(self) -> str:
        return "last" if self.keeps_last else "first"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import COLUMNS, columns_of, key_fact
        from funke.engine.sql.operators.ranks.keep_one_row import stored_row_parts

        order = "coming" if self.rowtime is None else strings.typed(self.input, self.rowtime)
        facts = (key_fact(strings, self.input, self.keys, "PARTITION BY"), ("ORDER BY", order))
        if self.waits_for_watermark:
            return StateMeaning("Deduplicate by time", facts, ((COLUMNS, columns_of(strings, self.input)),))
        kept = ("the row that is kept, the", self._kept_word)
        return StateMeaning("Deduplicate", (*facts, kept), ((COLUMNS, stored_row_parts(strings, self)),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.ranks.keep_earliest_row import KeepEarliestRowOperator
        from funke.engine.sql.operators.ranks.keep_one_row import KeepOneRowOperator, KeptRow

        if self.waits_for_watermark:
            return KeepEarliestRowOperator(self)
        kept = KeptRow(
            () if self.rowtime is None else (SortKey(self.rowtime, False, False),),
            wins_ties=True,
            keeps_first=not self.keeps_last,
            # With a time to live every row is a sign of life, which those behind it have to see.
            skips_same=self.keeps_last and self.rowtime is None and not self.ttl_ms,
        )
        return KeepOneRowOperator(self, kept)
