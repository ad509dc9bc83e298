"""The base of all plan nodes: what every node answers about itself.

A node is a frozen dataclass that owns its whole description. Passes (pruning, changelog modes, watermarks, EXPLAIN, the
job graph) are short traversals that ask nodes. Where a default would be silently wrong the method is abstract. A node
that means the same as a relation of `binding/` inherits from both, so that no field is described twice:

    class GroupAggregate(Aggregation, PlanNode): ...

`detached()` is what is pickled to subtasks: the node without the nodes that it reads, but with their schemas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

from funke.engine.sql.binding.relations import Relation, inputs_of, with_inputs
from funke.engine.sql.plan.changelogs.changes import RETRACTIONS, ChangeSettings, Kinds
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS, UpsertKeys
from funke.engine.sql.plan.explain_text import ExplainStyle, field_names
from funke.engine.sql.plan.watermarks import WatermarkStep

if TYPE_CHECKING:
    from funke.engine.graph.state_meaning import StateMeaning
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings
    from funke.engine.sql.plan.state_growth import StateGrowth

__all__ = [
    "FORWARD",
    "SINGLE",
    "DetachedInput",
    "Distribution",
    "Hash",
    "LocalPhase",
    "Moves",
    "PassThrough",
    "PlanNode",
    "Pruned",
    "as_node",
    "same_columns",
]

N = TypeVar("N", bound="PlanNode")

# From the index of a column before a change to its index after it.
Moves: TypeAlias = Mapping[int, int]
Pruned: TypeAlias = "tuple[PlanNode, Moves]"


@dataclass(frozen=True)
class Distribution:
    """The distribution of an input's rows over the subtasks of a node; this base class leaves them where they are."""


@dataclass(frozen=True)
class Hash(Distribution):
    """Rows with equal values of these columns meet in one subtask; without columns all rows meet in the only one."""

    keys: tuple[int, ...]


FORWARD = Distribution()
SINGLE = Hash(())


def as_node(relation: Relation) -> PlanNode:
    """A relation that is lowered already."""
    assert isinstance(relation, PlanNode), f"{type(relation).__name__} is not a plan node"
    return relation


def same_columns(node: Relation) -> Moves:
    """Every column stays at its index."""
    return {index: index for index in range(len(node.columns))}


@dataclass(frozen=True)
class PlanNode(Relation, ABC):
    """A node of a physical plan."""

    # Raised when the state takes another shape.
    state_version: ClassVar[int] = 1
    # Whether EXPLAIN shows its phases, instead of the node as a whole.
    explains_phases: ClassVar[bool] = True
    # Whether EXPLAIN shows the exchange in front of it as a line of its own.
    explains_exchange: ClassVar[bool] = True

    @property
    def operator_name(self) -> str:
        """The name of its operator in the job graph, as in Flink's plans."""
        return ""

    @property
    def state_name(self) -> str:
        """The name of its state in savepoints: never derived from the name of a class. Empty: it keeps no state."""
        return ""

    @classmethod
    def from_relation(cls: type[N], relation: Relation) -> N:
        """The node that means what a relation means: it has its fields."""
        return cls(**vars(relation))

    @property
    def inputs(self) -> tuple[PlanNode, ...]:
        """The nodes that it reads."""
        return inputs_of(self)  # type: ignore[return-value]

    def detached(self: N) -> N:
        """The node that a subtask needs: of the nodes that it reads it keeps the schemas."""
        return with_inputs(self, DetachedInput.of)

    # How rows reach it, and which changes leave it

    def distributions(self) -> tuple[Distribution, ...]:
        """The required distribution of each input."""
        return (FORWARD,) * len(self.inputs)

    @abstractmethod
    def changelog(self) -> Kinds:
        """The kinds of changes that it may emit."""

    @property
    def has_retractions(self) -> bool:
        """True if rows that it has emitted may be taken back."""
        return bool(self.changelog() & RETRACTIONS)

    @abstractmethod
    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        """For each input whether it needs UPDATE_BEFORE, if its own consumer does (`consumer_needs`) or not."""

    def can_omit_before(self) -> bool:
        """True if its output can do without UPDATE_BEFORE, as far as its inputs can where it asks them to."""
        needed = self.needs_before(False)
        return all(each or source.can_omit_before() for source, each in zip(self.inputs, needed))

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        """The node with the changes that its consumer needs, and with the settings for changes."""
        return self

    def for_consumer(self, needs_before: bool, settings: ChangeSettings) -> PlanNode:
        """The plan of this node for a consumer that needs UPDATE_BEFORE or does not."""
        # As in Flink: if one node cannot do without them, none between it and the consumer does.
        sends_before = needs_before or not self.can_omit_before()
        needed = iter(self.needs_before(sends_before))
        changed: PlanNode = with_inputs(self, lambda each: each.for_consumer(next(needed), settings))
        return changed.with_changes(sends_before, settings)

    def upsert_keys(self) -> UpsertKeys:
        """All upsert keys that are known."""
        return NO_KEYS

    def unique_keys(self) -> UpsertKeys:
        """The columns that tell rows apart, also where rows with equal values come from several subtasks."""
        return self.upsert_keys()

    # Passes that change the plan

    @abstractmethod
    def pruned(self, needed: frozenset[int]) -> Pruned:
        """The node with at least the needed columns, and where the columns are then."""

    @abstractmethod
    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        """The watermarks that its inputs must have, for itself and for a consumer that needs `consumer_step`."""

    def with_watermarks(self, consumer_step: WatermarkStep | None) -> PlanNode:
        """The plan of this node for a consumer that looks at watermarks that finely; None does not look at them."""
        step = self.watermark_step(consumer_step)
        return with_inputs(self, lambda each: each.with_watermarks(step))

    # Texts

    @abstractmethod
    def title(self, style: ExplainStyle) -> str:
        """The node with its attributes, as EXPLAIN shows it."""

    def hints_text(self) -> str:
        """The hints that it follows, as EXPLAIN shows them behind its attributes."""
        return ""

    def phases(self) -> tuple[PlanNode, ...]:
        """The operators that it runs as, from the source on: a local and a global one, or itself alone."""
        return (self,)

    @abstractmethod
    def column_text(self, strings: ColumnStrings, index: int) -> str:
        """The origin of a column, down to the columns of tables; part of the meaning of state."""

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        """The conditions that the rows of this node (not those of its inputs) have passed."""
        return iter(())

    # At run time

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The meaning of its state; None without state, or if only the progress of time is kept."""
        return None

    def state_growth(self) -> tuple[StateGrowth, ...]:
        """The state that it keeps of each input, and the reason why it grows; empty where nothing is reported."""
        return ()

    def create(self, task: TaskInfo) -> Operator:
        """The operator of one subtask; asked of a detached node."""
        raise NotImplementedError(f"{type(self).__name__} is not an operator by itself")


@dataclass(frozen=True)
class PassThrough(PlanNode):
    """A node with one input that hands on the columns, the changes, the keys and the watermarks of its input."""

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (consumer_needs,)

    def upsert_keys(self) -> UpsertKeys:
        return self.input.upsert_keys()

    def pruned(self, needed: frozenset[int]) -> Pruned:
        source, moves = self.input.pruned(needed)
        return replace(self, columns=source.columns, input=source), moves

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.column(self.input, index)


@dataclass(frozen=True)
class LocalPhase(PassThrough):
    """The first of two phases: what the rows of a subtask come to, before they are exchanged. It keeps no state.

    It is made of a node that is planned already, so that nothing is left to prune, and its columns are entries.
    """

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return self.columns[index].name


@dataclass(frozen=True)
class DetachedInput(PlanNode):
    """Stands for a node that a subtask does not have: its schema, its changes and its keys."""

    kinds: Kinds
    keys: UpsertKeys

    @staticmethod
    def of(node: PlanNode) -> DetachedInput:
        """The stand-in for a node that runs elsewhere."""
        return DetachedInput(node.columns, node.changelog(), node.upsert_keys())

    def changelog(self) -> Kinds:
        return self.kinds

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return ()

    def upsert_keys(self) -> UpsertKeys:
        return self.keys

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        return f"Input({field_names(self.columns)})"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return self.columns[index].name
