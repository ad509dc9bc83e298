"""Two streams whose elements are joined, or grouped together, by their key and their window or time.

Joins and groups of windows go beyond PyFlink; they have the names of Flink's Java API::

    orders.join(payments).where(order_id).equal_to(order_id).window(assigner).apply(function)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from funke.datastream.engine_values import OutputType, declared_type
from funke.datastream.windowed_stream import WindowedStream
from funke.engine.errors import (
    ConfigurationError,
    TypeMismatchError,
    UnsupportedFeatureError,
    at_user_line,
    shown_shortly,
)
from funke.engine.graph import operations as op
from funke.engine.graph.operations import WindowJoin
from funke.engine.operators.functions.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from funke.engine.operators.functions.window_functions import WindowFunction
from funke.engine.operators.joins.tagged_union import TaggedUnion
from funke.engine.operators.joins.window_functions import CoGroupWindow, JoinWindow
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.operators.windowing.evictor import Evictor
from funke.engine.operators.windowing.trigger import Trigger, to_millis
from funke.engine.types import Duration, Time, TypeInformation
from funke.engine.types.functions import KeySelector
from funke.engine.types.output_tag import OutputTag

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream, KeyedStream

__all__ = [
    "CoGroupedStreams",
    "CoGroupedWindows",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "JoinedWindows",
    "TaggedUnion",
]

Selector = Callable[..., Any] | KeySelector
_W = TypeVar("_W", bound="_PairedWindows")
_STEPS = ("where", "equal_to", "window", "trigger", "evictor", "allowed_lateness", "apply")


class _Step:
    """One step of the way from two streams to a join; a step that is skipped is named."""

    _next = ""

    def __getattr__(self, name: str) -> NoReturn:
        if name in _STEPS and self._next:
            raise ConfigurationError(at_user_line(f"a join of streams needs {self._next} before {name}()"))
        raise shown_shortly(AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'"))


class _PairedWindows(_Step):
    """Two keyed streams whose elements get into the same windows.

    Assigners, triggers and evictors see the elements of both streams, each as a `TaggedUnion`.
    """

    def __init__(self, first: KeyedStream, second: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._first = first
        self._second = second
        self._windows = WindowedStream(first, window_assigner)

    def trigger(self: _W, trigger: Trigger[Any, Any]) -> _W:
        """Let a trigger other than the assigner's decide when windows are evaluated."""
        self._windows.trigger(trigger)
        return self

    def evictor(self: _W, evictor: Evictor[Any, Any]) -> _W:
        """Let an evictor remove elements when a window is evaluated."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self: _W, lateness: int | Duration | Time) -> _W:
        """Keep windows for some time (a number means milliseconds) after the watermark has passed them."""
        self._windows.allowed_lateness(_lateness_ms(lateness))
        return self

    def _apply(self, function: WindowFunction[Any, Any, Any, Any], name: str, output_type: OutputType) -> DataStream:
        windows, first, second = self._windows, self._first, self._second
        assigner, trigger = windows._window_assigner, windows._window_trigger
        assert first._key is not None and second._key is not None
        operation = WindowJoin(
            assigner=assigner,
            trigger=assigner.get_default_trigger(first._env) if trigger is None else trigger,
            key_selector=first._key,
            second_key_selector=second._key,
            window_function=function,
            allowed_lateness_ms=windows._allowed_lateness,
            evictor=windows._evictor,
        )
        return first._add(operation, name, declared_type(output_type), second)


class JoinedWindows(_PairedWindows):
    """Windows of two streams whose elements are joined."""

    def apply(
        self,
        function: JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any],
        output_type: OutputType = None,
    ) -> DataStream:
        """Call the function for each pair of elements of both streams with the same key in the same window.

        Elements without a partner give no result. Results carry the last timestamp of their window. A plain callable
        is taken for a JoinFunction: it returns one result.
        """
        if not isinstance(function, (JoinFunction, FlatJoinFunction)) and not callable(function):
            raise TypeError(
                f"apply() needs a JoinFunction, a FlatJoinFunction or a callable, got {type(function).__name__}"
            )
        return self._apply(JoinWindow(function), "Window Join", output_type)


class CoGroupedWindows(_PairedWindows):
    """Windows of two streams whose elements are grouped together."""

    def apply(
        self,
        function: CoGroupFunction | Callable[[list[Any], list[Any]], Iterable[Any] | None],
        output_type: OutputType = None,
    ) -> DataStream:
        """Call the function for each key and window with the elements of both streams, one of which may have none."""
        if not isinstance(function, CoGroupFunction) and not callable(function):
            raise TypeError(f"apply() needs a CoGroupFunction or a callable, got {type(function).__name__}")
        return self._apply(CoGroupWindow(function), "Window CoGroup", output_type)


class EqualTo(_Step, Generic[_W]):
    """Two streams with their keys; `window` says into which windows their elements get."""

    _next = "window(assigner)"

    def __init__(self, first: KeyedStream, second: KeyedStream, windows: type[_W]) -> None:
        self._first = first
        self._second = second
        self._windows = windows

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> _W:
        """Group the elements of both streams into the same windows."""
        return self._windows(self._first, self._second, window_assigner)


class Where(_Step, Generic[_W]):
    """Two streams and the key of the first; `equal_to` gives that of the second."""

    _next = "equal_to(key_selector)"

    def __init__(
        self,
        streams: tuple[DataStream, DataStream],
        key_selector: Selector,
        key_type: TypeInformation | None,
        windows: type[_W],
    ) -> None:
        self._streams = streams
        self._key_selector = key_selector
        self._key_type = key_type
        self._windows = windows

    def equal_to(self, key_selector: Selector, key_type: TypeInformation | None = None) -> EqualTo[_W]:
        """Give the key of the second stream, which must have the type of the first one's."""
        first_type = self._key_type
        if first_type is not None and key_type is not None and first_type != key_type:
            raise TypeMismatchError(at_user_line(f"a join needs keys of one type, got {first_type} and {key_type}"))
        common_type = first_type if key_type is None else key_type
        first, second = self._streams
        keyed = (first.key_by(self._key_selector, common_type), second.key_by(key_selector, common_type))
        return EqualTo(*keyed, self._windows)


class JoinedStreams(_Step):
    """Two streams that are about to be joined; `where` gives the key of the first."""

    _next = "where(key_selector)"

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self._streams = (stream1, stream2)

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> Where[JoinedWindows]:
        """Give the key of the first stream."""
        return Where(self._streams, key_selector, key_type, JoinedWindows)


class CoGroupedStreams(_Step):
    """Two streams that are about to be grouped together; `where` gives the key of the first."""

    _next = "where(key_selector)"

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self._streams = (stream1, stream2)

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> Where[CoGroupedWindows]:
        """Give the key of the first stream."""
        return Where(self._streams, key_selector, key_type, CoGroupedWindows)


def _lateness_ms(lateness: int | Duration | Time) -> int:
    return to_millis(lateness) if isinstance(lateness, (Duration, Time)) else lateness


class IntervalJoin:
    """Two keyed streams that are about to be joined; `between` says which elements belong together."""

    def __init__(self, stream_one: KeyedStream, stream_two: KeyedStream) -> None:
        key_types = (stream_one._key_type, stream_two._key_type)
        if None not in key_types and key_types[0] != key_types[1]:
            raise TypeMismatchError(
                at_user_line(f"interval_join() needs keys of one type, got {key_types[0]} and {key_types[1]}")
            )
        self._stream_one = stream_one
        self._stream_two = stream_two
        self._is_event_time = True

    def in_event_time(self) -> IntervalJoin:
        """Compare the timestamps of elements; this is the default."""
        self._is_event_time = True
        return self

    def in_processing_time(self) -> IntervalJoin:
        """Compare the times at which elements arrive; as in Flink, `between` rejects this."""
        self._is_event_time = False
        return self

    def between(self, lower_bound: Duration | Time, upper_bound: Duration | Time) -> IntervalJoined:
        """Join elements where `left + lower_bound <= right <= left + upper_bound` holds for their timestamps.

        Bounds can be negative: `between(Duration.of_minutes(-5), Duration.of_millis(0))` finds right elements up to
        five minutes before the left one.
        """
        if not self._is_event_time:
            raise UnsupportedFeatureError("an interval join in processing time", "Flink has it in event time only")
        lower_ms, upper_ms = _bound_ms(lower_bound, "lower_bound"), _bound_ms(upper_bound, "upper_bound")
        if lower_ms > upper_ms:
            raise ConfigurationError(
                at_user_line(f"between() needs lower_bound <= upper_bound, got {lower_ms} ms and {upper_ms} ms")
            )
        return IntervalJoined(self._stream_one, self._stream_two, lower_ms, upper_ms)


class IntervalJoined:
    """Two keyed streams and the interval in which their elements belong together."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower_ms: int, upper_ms: int) -> None:
        self._left = left
        self._right = right
        self._lower_ms = lower_ms
        self._upper_ms = upper_ms
        self._is_lower_exclusive = False
        self._is_upper_exclusive = False
        self._left_late_tag: OutputTag | None = None
        self._right_late_tag: OutputTag | None = None

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Leave out right elements at exactly the lower bound."""
        self._is_lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Leave out right elements at exactly the upper bound."""
        self._is_upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send left elements that come too late to a side output; otherwise they are dropped."""
        self._left_late_tag = _required_tag(output_tag)
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send right elements that come too late to a side output; otherwise they are dropped."""
        self._right_late_tag = _required_tag(output_tag)
        return self

    def process(self, process_join_function: ProcessJoinFunction, output_type: OutputType = None) -> DataStream:
        """Apply a function to each pair; its results get the later timestamp of both elements."""
        if not isinstance(process_join_function, ProcessJoinFunction):
            raise TypeError(
                f"process() of an interval join needs a ProcessJoinFunction, got {type(process_join_function).__name__}"
            )
        left_key, right_key = self._left._key, self._right._key
        assert left_key is not None and right_key is not None
        operation = op.IntervalJoin(
            process_join_function,
            (left_key, right_key),
            # Times are whole milliseconds, so an exclusive bound is the next inclusive one.
            self._lower_ms + self._is_lower_exclusive,
            self._upper_ms - self._is_upper_exclusive,
            self._left_late_tag,
            self._right_late_tag,
        )
        return self._left._add(operation, "Interval Join", declared_type(output_type), self._right)


def _bound_ms(bound: Duration | Time, name: str) -> int:
    if not isinstance(bound, (Duration, Time)):
        raise TypeError(f"between() needs a Duration as {name}, got {type(bound).__name__}")
    return to_millis(bound)


def _required_tag(output_tag: OutputTag) -> OutputTag:
    if not isinstance(output_tag, OutputTag):
        raise TypeError(f"late data needs an OutputTag, got {type(output_tag).__name__}")
    return output_tag
