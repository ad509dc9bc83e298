"""Streams whose elements are grouped into windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from funke.datastream.stream_types import OutputType, reported_type
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.operators.functions.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from funke.engine.operators.windowing.assigner import MergingWindowAssigner, WindowAssigner
from funke.engine.operators.windowing.trigger import Trigger
from funke.engine.types.functions import AggregateFunction, NullByteKeySelector, ReduceFunction
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.type_information import TypeInformation

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream, KeyedStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["AllWindowedStream", "WindowedStream"]

_T = TypeVar("_T", bound="_Windows")


class _Windows:
    """What windows per key and windows over all elements have in common: how elements get into them."""

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._keyed_stream = keyed_stream
        self._window_assigner = window_assigner
        self._allowed_lateness = 0
        self._late_data_output_tag: OutputTag | None = None
        self._window_trigger: Trigger[Any, Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the elements in the windows."""
        return reported_type(self._keyed_stream._type_info)

    def trigger(self: _T, trigger: Trigger[Any, Any]) -> _T:
        """Let a trigger other than the assigner's decide when windows are evaluated."""
        if isinstance(self._window_assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise TypeError(f"{type(trigger).__name__} cannot merge, which windows that merge need of their trigger")
        self._window_trigger = trigger
        return self

    def allowed_lateness(self: _T, time_ms: int) -> _T:
        """Keep windows for some time after the watermark has passed them, for late elements."""
        self._allowed_lateness = time_ms
        return self

    def side_output_late_data(self: _T, output_tag: OutputTag) -> _T:
        """Send elements that come too late to a side output."""
        self._late_data_output_tag = output_tag
        return self


class WindowedStream(_Windows):
    """A keyed stream whose elements are grouped into windows."""

    def reduce(
        self,
        reduce_function: Callable[..., Any] | ReduceFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Combine the elements of each window to one."""
        _refuse("reduce()")

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Fold the elements of each window into an accumulator."""
        _refuse("aggregate()")

    def apply(self, window_function: WindowFunction[Any, Any, Any, Any], output_type: OutputType = None) -> DataStream:
        """Apply a function to all elements of each window."""
        _refuse("apply()")

    def process(
        self, process_window_function: ProcessWindowFunction[Any, Any, Any, Any], output_type: OutputType = None
    ) -> DataStream:
        """Apply a function with a context to all elements of each window."""
        _refuse("process()")


class AllWindowedStream(_Windows):
    """A stream whose elements, whatever their key, are grouped into windows."""

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(NullByteKeySelector()), window_assigner)

    def reduce(
        self,
        reduce_function: Callable[..., Any] | ReduceFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Combine the elements of each window to one."""
        _refuse("reduce()")

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Fold the elements of each window into an accumulator."""
        _refuse("aggregate()")

    def apply(self, window_function: AllWindowFunction[Any, Any, Any], output_type: OutputType = None) -> DataStream:
        """Apply a function to all elements of each window."""
        _refuse("apply()")

    def process(
        self, process_window_function: ProcessAllWindowFunction[Any, Any, Any], output_type: OutputType = None
    ) -> DataStream:
        """Apply a function with a context to all elements of each window."""
        _refuse("process()")


def _refuse(method: str) -> NoReturn:
    raise UnsupportedFeatureError("windows", f"{method} of a windowed stream cannot be run yet; use a process function")
