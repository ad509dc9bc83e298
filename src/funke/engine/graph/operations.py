"""What a node of the stream graph does: one frozen dataclass per operation.

User functions are kept as the user gave them (a callable or a function object). Operations whose input is keyed carry
the key selector, because state is looked up by the key of the current record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.watermark_spec import WatermarkSpec

KeySelector = Callable[[Any], Any]


@dataclass(frozen=True)
class Operation:
    """Base of all operations."""


@dataclass(frozen=True)
class ReadSource(Operation):
    """Reads a source (funke.engine.connectors.source.Source); watermarks are generated per split."""

    source: Any
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
