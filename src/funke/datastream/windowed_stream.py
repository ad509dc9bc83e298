"""Streams whose elements are grouped into windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from funke.datastream.engine_values import OutputType, declared_type, reported_type
from funke.datastream.time_characteristic import TimeCharacteristic
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.graph.operations import Window
from funke.engine.operators.functions.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from funke.engine.operators.keyed.aggregations import FieldAggregation, FoldAggregation, FoldFunction, Kind
from funke.engine.operators.windowing.assigner import MergingWindowAssigner, WindowAssigner
from funke.engine.operators.windowing.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.operators.windowing.evictor import Evictor
from funke.engine.operators.windowing.trigger import Trigger, to_millis
from funke.engine.types import Duration, Time, TypeInformation
from funke.engine.types.functions import AggregateFunction, NullByteKeySelector, ReduceFunction
from funke.engine.types.output_tag import OutputTag

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream, KeyedStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["AllWindowedStream", "WindowedStream", "count_windows", "time_windows"]

_T = TypeVar("_T", bound="_Windows")


class _Windows:
    """What windows per key and windows over all elements have in common: how elements get into them."""

    # How the execution plan describes the operator.
    _plan_name = "Window"
    # PyFlink does not ask triggers of keyed windows whether they can merge; a program's own may do so without a word.
    _asks_all_triggers = False

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise TypeError(f"window() needs a WindowAssigner, got {type(window_assigner).__name__}")
        self._keyed_stream = keyed_stream
        self._window_assigner = window_assigner
        self._allowed_lateness = 0
        self._late_data_output_tag: OutputTag | None = None
        self._window_trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the elements in the windows."""
        return reported_type(self._keyed_stream._type_info)

    def trigger(self: _T, trigger: Trigger[Any, Any]) -> _T:
        """Let a trigger other than the assigner's decide when windows are evaluated."""
        if not isinstance(trigger, Trigger):
            raise TypeError(f"trigger() needs a Trigger, got {type(trigger).__name__}")
        is_asked = self._asks_all_triggers or type(trigger).__module__.startswith("funke.")
        if isinstance(self._window_assigner, MergingWindowAssigner) and is_asked and not trigger.can_merge():
            raise TypeError(f"{type(trigger).__name__} cannot merge, which windows that merge need of their trigger")
        self._window_trigger = trigger
        return self

    def evictor(self: _T, evictor: Evictor[Any, Any]) -> _T:
        """Let an evictor remove elements when a window is evaluated; windows then keep all their elements.

        This goes beyond PyFlink; in Flink's Java API it has the same name.
        """
        if not isinstance(evictor, Evictor):
            raise TypeError(f"evictor() needs an Evictor, got {type(evictor).__name__}")
        self._evictor = evictor
        return self

    def allowed_lateness(self: _T, time_ms: int | Duration | Time) -> _T:
        """Keep windows for some time after the watermark has passed them, for late elements."""
        if isinstance(time_ms, Duration | Time):
            time_ms = to_millis(time_ms)
        if isinstance(time_ms, bool) or not isinstance(time_ms, int) or time_ms < 0:
            raise ConfigurationError(
                at_user_line(f"allowed_lateness() needs a Duration or milliseconds, at least 0, got {time_ms!r}")
            )
        self._allowed_lateness = time_ms
        return self

    def side_output_late_data(self: _T, output_tag: OutputTag) -> _T:
        """Send elements that come too late to a side output."""
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"side_output_late_data() needs an OutputTag, got {type(output_tag).__name__}")
        self._late_data_output_tag = output_tag
        return self

    def _windowed(
        self, output_type: TypeInformation | None, *, reduce: Any = None, aggregate: Any = None, function: Any = None
    ) -> DataStream:
        trigger = self._window_trigger
        if trigger is None:
            trigger = self._window_assigner.get_default_trigger(self.get_execution_environment())
        assert self._keyed_stream._key is not None
        operation = Window(
            assigner=self._window_assigner,
            trigger=trigger,
            key_selector=self._keyed_stream._key,
            reduce=reduce,
            aggregate=aggregate,
            window_function=function,
            allowed_lateness_ms=self._allowed_lateness,
            late_tag=self._late_data_output_tag,
            evictor=self._evictor,
        )
        functions = ", ".join(type(each).__name__ for each in (reduce, aggregate, function) if each is not None)
        description = f"{self._plan_name}({self._window_assigner!r}, {type(trigger).__name__}, {functions})"
        stream = self._keyed_stream._add(operation, type(self._window_assigner).__name__, output_type)
        return stream.set_description(description)

    def _reduced(self, reduce_function: Any, window_function: Any, output_type: OutputType) -> DataStream:
        if not isinstance(reduce_function, ReduceFunction) and not callable(reduce_function):
            raise TypeError(f"reduce() needs a ReduceFunction or a callable, got {type(reduce_function).__name__}")
        declared = declared_type(output_type)
        if window_function is None and declared is None:
            declared = self._keyed_stream._type_info
        return self._windowed(declared, reduce=reduce_function, function=window_function)

    def _aggregated(self, aggregate_function: Any, window_function: Any, output_type: OutputType) -> DataStream:
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(f"aggregate() needs an AggregateFunction, got {type(aggregate_function).__name__}")
        return self._windowed(declared_type(output_type), aggregate=aggregate_function, function=window_function)

    def sum(self: _T, position_to_sum: int | str = 0) -> DataStream:
        """Add up a field of the elements of each window; goes beyond PyFlink."""
        return self._accumulated("sum", position_to_sum)

    def min(self: _T, position_to_min: int | str = 0) -> DataStream:
        """Find the smallest value of a field in each window; goes beyond PyFlink."""
        return self._accumulated("min", position_to_min)

    def max(self: _T, position_to_max: int | str = 0) -> DataStream:
        """Find the largest value of a field in each window; goes beyond PyFlink."""
        return self._accumulated("max", position_to_max)

    def min_by(self: _T, position_to_min_by: int | str = 0) -> DataStream:
        """Find the element with the smallest field in each window; goes beyond PyFlink."""
        return self._accumulated("min_by", position_to_min_by)

    def max_by(self: _T, position_to_max_by: int | str = 0) -> DataStream:
        """Find the element with the largest field in each window; goes beyond PyFlink."""
        return self._accumulated("max_by", position_to_max_by)

    def _accumulated(self, kind: Kind, position: int | str) -> DataStream:
        return self._reduced(FieldAggregation(kind, position), None, None)


class WindowedStream(_Windows):
    """A keyed stream whose elements are grouped into windows.

    >>> from funke.common import Time, WatermarkStrategy
    >>> from funke.common.watermark_strategy import TimestampAssigner
    >>> from funke.datastream import StreamExecutionEnvironment, WindowedStream
    >>> from funke.datastream.window import TumblingEventTimeWindows
    >>> class Second(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value[1] * 1000
    >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> clicks = env.from_collection([("ada", 1), ("ada", 2), ("ada", 7)]).assign_timestamps_and_watermarks(timed)
    >>> by_user = clicks.key_by(lambda click: click[0])
    >>> windows: WindowedStream = by_user.window(TumblingEventTimeWindows.of(Time.seconds(5)))
    >>> list(windows.reduce(lambda first, last: last).execute_and_collect())  # the last click of each window
    [('ada', 2), ('ada', 7)]
    """

    def reduce(
        self,
        reduce_function: Callable[..., Any] | ReduceFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Combine the elements of each window to one, which is the result or what the window function gets."""
        _require_optional(window_function, WindowFunction, ProcessWindowFunction)
        return self._reduced(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Fold the elements of each window into an accumulator, whose result is what the window function gets."""
        _require_optional(window_function, WindowFunction, ProcessWindowFunction)
        return self._aggregated(aggregate_function, window_function, output_type)

    def fold(
        self, initial_value: Any, fold_function: Callable[..., Any] | FoldFunction, output_type: OutputType = None
    ) -> DataStream:
        """Fold the elements of each window into a value, as in Flink 1.x; goes beyond PyFlink."""
        if not isinstance(fold_function, FoldFunction) and not callable(fold_function):
            raise TypeError(f"fold() needs a FoldFunction or a callable, got {type(fold_function).__name__}")
        if isinstance(self._window_assigner, MergingWindowAssigner):
            raise ConfigurationError(
                at_user_line("fold() cannot merge what was folded, which windows that merge need; use aggregate()")
            )
        return self._aggregated(FoldAggregation(initial_value, fold_function), None, output_type)

    def apply(self, window_function: WindowFunction[Any, Any, Any, Any], output_type: OutputType = None) -> DataStream:
        """Apply a function to all elements of each window."""
        _require(window_function, "apply()", WindowFunction)
        return self._windowed(declared_type(output_type), function=window_function)

    def process(
        self, process_window_function: ProcessWindowFunction[Any, Any, Any, Any], output_type: OutputType = None
    ) -> DataStream:
        """Apply a function with a context to all elements of each window."""
        _require(process_window_function, "process()", ProcessWindowFunction)
        return self._windowed(declared_type(output_type), function=process_window_function)


class AllWindowedStream(_Windows):
    """A stream whose elements, whatever their key, are grouped into windows; one subtask does all the work."""

    _plan_name = "AllWindow"
    _asks_all_triggers = True

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(NullByteKeySelector()), window_assigner)

    def _windowed(
        self, output_type: TypeInformation | None, *, reduce: Any = None, aggregate: Any = None, function: Any = None
    ) -> DataStream:
        stream = super()._windowed(output_type, reduce=reduce, aggregate=aggregate, function=function)
        return stream.set_parallelism(1)

    def reduce(
        self,
        reduce_function: Callable[..., Any] | ReduceFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Combine the elements of each window to one, which is the result or what the window function gets."""
        _require_optional(window_function, AllWindowFunction, ProcessAllWindowFunction)
        return self._reduced(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Fold the elements of each window into an accumulator, whose result is what the window function gets."""
        _require_optional(window_function, AllWindowFunction, ProcessAllWindowFunction)
        return self._aggregated(aggregate_function, window_function, output_type)

    def apply(self, window_function: AllWindowFunction[Any, Any, Any], output_type: OutputType = None) -> DataStream:
        """Apply a function to all elements of each window."""
        _require(window_function, "window_all().apply()", AllWindowFunction)
        return self._windowed(declared_type(output_type), function=window_function)

    def process(
        self, process_window_function: ProcessAllWindowFunction[Any, Any, Any], output_type: OutputType = None
    ) -> DataStream:
        """Apply a function with a context to all elements of each window."""
        if isinstance(process_window_function, WindowFunction) and hasattr(process_window_function, "process"):
            process_window_function = _ByProcessMethod(process_window_function)
        _require(process_window_function, "window_all().process()", ProcessAllWindowFunction)
        return self._windowed(declared_type(output_type), function=process_window_function)


class _ByProcessMethod(ProcessAllWindowFunction[Any, Any, Any]):
    """A function of another kind that has the method `process`: as in PyFlink, that is enough."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def process(self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self._function.process(context, elements)
        return results


def time_windows(
    characteristic: TimeCharacteristic, size: Time | Duration, slide: Time | Duration | None
) -> WindowAssigner[Any, Any]:
    """Return the assigner that the shorthand `time_window` stands for."""
    is_processing_time = characteristic is TimeCharacteristic.ProcessingTime
    if slide is None:
        tumbling = TumblingProcessingTimeWindows if is_processing_time else TumblingEventTimeWindows
        return tumbling.of(size)
    sliding = SlidingProcessingTimeWindows if is_processing_time else SlidingEventTimeWindows
    return sliding.of(size, slide)


def count_windows(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """Return the assigner that the shorthand `count_window` stands for; without a slide of its own, it is the size."""
    return CountTumblingWindowAssigner(size) if slide == 0 else CountSlidingWindowAssigner(size, slide)


def _require(function: Any, method: str, kind: type) -> None:
    if not isinstance(function, kind):
        raise TypeError(
            at_user_line(f"{method} needs a function of the class {kind.__name__}, got {_kind_name(function)}")
        )


def _require_optional(function: Any, *kinds: type) -> None:
    if function is not None and not isinstance(function, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(at_user_line(f"window_function should be a {names}, got {_kind_name(function)}"))


def _kind_name(function: Any) -> str:
    """The class of a function, with the kind of window function that it extends."""
    name = type(function).__name__
    kinds = (WindowFunction, ProcessWindowFunction, AllWindowFunction, ProcessAllWindowFunction)
    kind = next((each.__name__ for each in kinds if isinstance(function, each)), None)
    return name if kind in (None, name) else f"{name}, a {kind}"
