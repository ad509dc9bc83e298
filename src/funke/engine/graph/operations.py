"""What a node of the stream graph does: one frozen dataclass per operation.

User functions are kept as the user gave them (a callable or a function object). Operations whose input is keyed carry
the key selector, because state is looked up by the key of the current record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from funke.engine.graph.column_expressions import Expression
    from funke.engine.graph.state_meaning import StateMeaning
    from funke.engine.types.output_tag import OutputTag
    from funke.engine.types.watermark_spec import WatermarkSpec

KeySelector = Callable[[Any], Any]


@dataclass(frozen=True)
class Operation:
    """Base of all operations."""

    # Whether batches reach it in the form of columns, not of rows.
    takes_columns: ClassVar[bool] = False


@dataclass(frozen=True)
class ReadSource(Operation):
    """Reads a source (funke.engine.connectors.source.Source); watermarks are generated per split."""

    source: Any
    watermarks: WatermarkSpec | None = None


@dataclass(frozen=True)
class ReadSplits(Operation):
    """What the slots get of a source: its reader (funke.engine.connectors.source.SplitReader)."""

    reader: Any
    watermarks: WatermarkSpec | None = None


@dataclass(frozen=True)
class WriteSink(Operation):
    """Writes to a sink (funke.engine.connectors.sink.Sink)."""

    sink: Any


@dataclass(frozen=True)
class Map(Operation):
    """One output per input; `key_selector` is set on keyed streams (then state may be used)."""

    function: Any
    key_selector: KeySelector | None = None


@dataclass(frozen=True)
class BuiltInMap(Map):
    """A map that Flink does itself, without a user function."""


@dataclass(frozen=True)
class FlatMap(Operation):
    """Any number of outputs per input."""

    function: Any
    key_selector: KeySelector | None = None


@dataclass(frozen=True)
class Filter(Operation):
    """Keeps the records for which the function is true."""

    function: Any
    key_selector: KeySelector | None = None


@dataclass(frozen=True)
class OneByOne(Operation):
    """A map, flat map or filter whose results leave although later records of the same epoch take long."""

    operation: Map | FlatMap | Filter


@dataclass(frozen=True)
class Process(Operation):
    """A ProcessFunction, or a KeyedProcessFunction when `key_selector` is set."""

    function: Any
    key_selector: KeySelector | None = None


@dataclass(frozen=True)
class Reduce(Operation):
    """Running reduce per key (in batch mode: one result per key at the end)."""

    function: Any
    key_selector: KeySelector


@dataclass(frozen=True)
class AssignTimestamps(Operation):
    """Sets event timestamps and generates watermarks."""

    watermarks: WatermarkSpec


@dataclass(frozen=True)
class CoMap(Operation):
    """CoMapFunction over two connected streams; `key_selectors` is set when both are keyed."""

    function: Any
    key_selectors: tuple[KeySelector, KeySelector] | None = None


@dataclass(frozen=True)
class CoFlatMap(Operation):
    """CoFlatMapFunction over two connected streams."""

    function: Any
    key_selectors: tuple[KeySelector, KeySelector] | None = None


@dataclass(frozen=True)
class CoProcess(Operation):
    """CoProcessFunction, or KeyedCoProcessFunction when `key_selectors` is set."""

    function: Any
    key_selectors: tuple[KeySelector, KeySelector] | None = None


@dataclass(frozen=True)
class BroadcastProcess(Operation):
    """(Keyed)BroadcastProcessFunction: input 0 is the data, input 1 the broadcast stream."""

    function: Any
    state_descriptors: tuple[Any, ...]
    key_selector: KeySelector | None = None


@dataclass(frozen=True)
class IntervalJoin(Operation):
    """ProcessJoinFunction for pairs of two keyed streams: the right one is `lower_ms` to `upper_ms` later (inclusive).

    Late records go to the side output of their tag, or are dropped.
    """

    function: Any
    key_selectors: tuple[KeySelector, KeySelector]
    lower_ms: int
    upper_ms: int
    left_late_tag: OutputTag | None = None
    right_late_tag: OutputTag | None = None


@dataclass(frozen=True)
class Window(Operation):
    """Groups the elements of each key into windows and evaluates a window when its trigger says so.

    Contents are combined by `reduce` or `aggregate`, or else kept as they are. `window_function` (any of the four
    kinds) sees the elements, or the one combined value; without it the combined value is the result. An `evictor`
    makes the operator keep all elements.
    """

    assigner: Any
    trigger: Any
    key_selector: KeySelector
    reduce: Any = None
    aggregate: Any = None
    window_function: Any = None
    allowed_lateness_ms: int = 0
    late_tag: OutputTag | None = None
    evictor: Any = None


@dataclass(frozen=True, kw_only=True)
class WindowJoin(Window):
    """Windows that hold the elements of two keyed streams, each as a TaggedUnion; `key_selector` is for the first."""

    second_key_selector: KeySelector


@dataclass(frozen=True)
class MatchPattern(Operation):
    """Looks for a pattern (funke.engine.operators.patterns.pattern) in the events of each key.

    Events at the same time come in the order of the comparator, if there is one. Late events go to the side output of
    their tag, or are dropped.
    """

    pattern: Any
    function: Any
    key_selector: KeySelector
    is_event_time: bool = True
    comparator: Callable[[Any, Any], int] | None = None
    late_tag: OutputTag | None = None


@dataclass(frozen=True)
class AsyncWait(Operation):
    """An AsyncFunction with at most `capacity` requests in flight; a timeout of 0 ms means none."""

    function: Any
    timeout_ms: int
    capacity: int
    retry_strategy: Any
    is_ordered: bool


@dataclass(frozen=True)
class ProjectColumns(Operation):
    """Computes columns by name, for the rows for which the condition is true (neither false nor null)."""

    takes_columns: ClassVar[bool] = True

    columns: tuple[tuple[str, Expression], ...]
    condition: Expression | None = None


@dataclass(frozen=True)
class CustomOperator(Operation):
    """An operator that the engine's own operations do not describe: `create` makes it for a subtask (TaskInfo)."""

    create: Callable[[Any], Any]


@dataclass(frozen=True)
class ColumnOperator(CustomOperator):
    """One that takes batches of columns."""

    takes_columns: ClassVar[bool] = True

    # What its state means; None if it has none, or only how far time is.
    meaning: StateMeaning | None = None
