"""GroupAggregate: one row per key, with a changelog of its results; with mini-batches in a local and a global phase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate
from funke.engine.sql.plan import (
    PREFIX,
    ChangeSettings,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    LocalPhase,
    MiniBatch,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    call_text,
    column_name,
    kind_text,
    moved_aggregate,
    one_key,
    ttl_of,
    updates,
    used_by,
)
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["GroupAggregate", "LocalGroupAggregate"]


@dataclass(frozen=True)
class GroupAggregate(Aggregation, PlanNode):
    """Keeps the accumulators of each key."""

    operator_name: ClassVar[str] = "GroupAggregate"
    state_name: ClassVar[str] = "GroupAggregate"

    input: PlanNode
    # Whether the consumer needs a result as it was before a change (UPDATE_BEFORE).
    sends_before: bool = True
    # At most one change per key and batch, instead of one per row.
    is_folded: bool = False
    mini_batch: MiniBatch | None = None
    # Whether rows may be aggregated before they are sent over the exchange.
    is_two_phase: bool = False
    # How long the state of a key lives after its last row; 0 is forever.
    ttl_ms: int = 0

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        more = (RowKind.DELETE,) if self.input.has_retractions else ()
        return updates(self.sends_before, *more)

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # It takes back what was before, so it has to know it.
        return (True,)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(
            self,
            sends_before=sends_before,
            is_folded=settings.is_folded,
            ttl_ms=ttl_of(self.ttl_hint, settings),
            mini_batch=settings.mini_batch,
            is_two_phase=settings.is_two_phase,
        )

    def upsert_keys(self) -> UpsertKeys:
        return one_key(range(len(self.keys)))

    def pruned(self, needed: frozenset[int]) -> Pruned:
        first = len(self.keys)
        kept = [number for number in range(len(self.aggregates)) if first + number in needed]
        if not kept and not first:
            kept = [0]
        aggregates = [self.aggregates[number] for number in kept]
        source, moves = self.input.pruned(frozenset(used_by(aggregates) | set(self.keys)))
        kept_columns = [*range(first), *(first + number for number in kept)]
        node = replace(
            self,
            columns=tuple(self.columns[index] for index in kept_columns),
            input=source,
            keys=tuple(moves[key] for key in self.keys),
            aggregates=tuple(moved_aggregate(each, moves) for each in aggregates),
        )
        return node, {old: new for new, old in enumerate(kept_columns)}

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        inputs = self.input.columns
        keys = [column_name(inputs[index]) for index in self.keys]
        names = [each.name for each in self.columns[len(self.keys) :]]
        calls = [
            # Those of a join have names of their own.
            f"{call_text(each, inputs)} AS {f'EXPR${number}' if name.startswith('agg$') else name}"
            for number, (each, name) in enumerate(zip(self.aggregates, names))
        ]
        group_by = f"groupBy=[{', '.join(keys)}], " if keys else ""
        kind = kind_text("GroupAggregate", (each.call.function for each in self.aggregates))
        return f"{kind}({group_by}select=[{', '.join([*keys, *calls])}])"

    def hints_text(self) -> str:
        return f", stateTtlHints=[[[STATE_TTL options:[{self.ttl_hint}]]]]" if self.ttl_hint else ""

    def phases(self) -> tuple[PlanNode, ...]:
        from funke.engine.sql.operators.aggregates.local_aggregate import entry_columns
        from funke.engine.sql.operators.windows.slices.partial_aggregate import are_numbers

        # Entries are numbers that are added up: rows that may be taken back do not have any.
        is_local = self.is_two_phase and self.aggregates and not self.input.has_retractions
        if not is_local or not are_numbers(self.aggregates):
            return (self,)
        local = LocalGroupAggregate(
            entry_columns(self), self.input, self.keys, self.aggregates, self.mini_batch, self.title(PREFIX)
        )
        return local, GlobalGroupAggregate(**{**vars(self), "input": local, "keys": tuple(range(len(self.keys)))})

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        if index < len(self.keys):
            return strings.column(self.input, self.keys[index])
        call = strings.call(self.input, self.aggregates[index - len(self.keys)])
        return f"({call}{strings.group_by(self.input, self.keys)})"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import ACCUMULATORS, input_facts, key_fact
        from funke.engine.sql.operators.aggregates.aggregate import accumulator_parts

        calls = [strings.call(self.input, each) for each in self.aggregates]
        facts = (key_fact(strings, self.input, self.keys), *input_facts(strings, self.input))
        parts = tuple(accumulator_parts(self.aggregates, self.input.has_retractions, calls))
        return StateMeaning("GroupAggregate", facts, ((ACCUMULATORS, parts),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.aggregates.aggregate import AggregateOperator

        return AggregateOperator(self)


@dataclass(frozen=True)
class LocalGroupAggregate(LocalPhase):
    """The first phase: what the rows of a mini-batch come to, one entry per key. It keeps no state."""

    operator_name: ClassVar[str] = "LocalGroupAggregate"

    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    mini_batch: MiniBatch | None
    # How plans show both phases together.
    whole: str

    def title(self, style: ExplainStyle) -> str:
        return f"Local{self.whole}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.aggregates.local_aggregate import LocalAggregateOperator

        return LocalAggregateOperator(self)


@dataclass(frozen=True)
class GlobalGroupAggregate(GroupAggregate):
    """The second phase: puts the entries of the first one together."""

    operator_name: ClassVar[str] = "GlobalGroupAggregate"

    def phases(self) -> tuple[PlanNode, ...]:
        return (self,)

    def title(self, style: ExplainStyle) -> str:
        assert isinstance(self.input, LocalGroupAggregate)
        return f"Global{self.input.whole}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.aggregates.aggregate import GlobalAggregateOperator

        return GlobalAggregateOperator(self)
