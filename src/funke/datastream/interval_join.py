"""Two keyed streams whose elements are joined when their times are close to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.datastream.stream_types import OutputType, declared_type
from funke.engine.errors import ConfigurationError, TypeMismatchError, UnsupportedFeatureError, at_user_line
from funke.engine.graph import operations as op
from funke.engine.operators.functions.join_functions import ProcessJoinFunction
from funke.engine.operators.windowing.trigger import to_millis
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.time import Duration, Time

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream, KeyedStream

__all__ = ["IntervalJoin", "IntervalJoined"]


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
