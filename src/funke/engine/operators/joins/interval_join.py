"""Interval join: pairs of elements with the same key, the right one within an interval of time around the left one.

Each side keeps its elements as long as the other side can still bring a match, and not longer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import GraphError
from funke.engine.graph.operations import IntervalJoin
from funke.engine.operators.functions.join_functions import ProcessJoinFunction
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.result_batch import ResultBatch
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types import NO_TIMESTAMP, PickledBytesTypeInfo
from funke.engine.types.output_tag import OutputTag

__all__ = ["IntervalJoinOperator"]

# What a side keeps for a key: timestamps in order, and the element of each.
_Buffer = tuple[list[int], list[Any]]
# Left and right element, left and right timestamp.
_Pair = tuple[Any, Any, int, int]
_STATE_NAMES = ("_left_buffer", "_right_buffer")


@dataclass(frozen=True)
class _Side:
    """The rules for the elements of one input; bounds and times are in milliseconds."""

    index: int
    # Matches on the other side are that much later.
    lower: int
    upper: int
    # An element goes when the watermark reaches its timestamp plus this.
    kept_for: int
    late_tag: OutputTag | None


def _side(index: int, lower: int, upper: int, late_tag: OutputTag | None) -> _Side:
    # Flink drops an element when the watermark reaches the time of its last match, although a match at exactly that
    # time would not be late. When all matches are earlier than the element, Flink keeps it beyond them, until its own
    # time; here it goes as soon as all of them would be late, which gives the same pairs.
    return _Side(index, lower, upper, upper if upper >= 0 else upper + 1, late_tag)


class IntervalJoinOperator(KeyedOperator):
    """Runs a ProcessJoinFunction: 1.3 µs per record with one match for every two, the function included.

    A key has one clean-up timer per side, at the time when its oldest element goes.
    """

    has_timers_in_namespaces = True

    def __init__(self, operation: IntervalJoin) -> None:
        super().__init__(operation.function, *operation.key_selectors)
        lower, upper = operation.lower_ms, operation.upper_ms
        self._sides = (
            _side(0, lower, upper, operation.left_late_tag),
            _side(1, -upper, -lower, operation.right_late_tag),
        )
        self._process_pair = operation.function.process_element
        self._context = _PairContext()
        self._late_dropped = 0

    def open(self) -> None:
        super().open()
        descriptors = [ValueStateDescriptor(name, PickledBytesTypeInfo()) for name in _STATE_NAMES]
        self._buffers: list[ValueState[_Buffer]] = [self.backend.get_state(descriptor) for descriptor in descriptors]

    def input_handler(self, input_index: int) -> Callable[[list[Any], list[int] | None], None]:
        """The method for batches of one side."""
        side = self._sides[input_index]
        return lambda values, timestamps: self._process(side, values, timestamps)

    def _process(self, side: _Side, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        self.records_in += len(values)
        earliest = NO_TIMESTAMP if timestamps is None else min(timestamps)
        if timestamps is None or earliest == NO_TIMESTAMP:
            raise GraphError(
                "interval_join() needs elements with timestamps; "
                "call assign_timestamps_and_watermarks() on both streams before key_by()"
            )
        if earliest < self.timer_service.watermark:
            values, timestamps = self._without_late(side, values, timestamps)
        self._send(self._matches(side, values, timestamps))

    def _without_late(self, side: _Side, values: list[Any], timestamps: list[int]) -> tuple[list[Any], list[int]]:
        """What is not late; the rest goes to the side output, if there is one."""
        watermark = self.timer_service.watermark
        records = list(zip(values, timestamps, strict=True))
        late = [record for record in records if record[1] < watermark]
        if side.late_tag is None:
            self._late_dropped += len(late)
        else:
            coerced = side.late_tag.type_info.coerce_list([value for value, _ in late])
            self.output.emit_side(side.late_tag.tag_id, coerced, [timestamp for _, timestamp in late])
        in_time = [record for record in records if record[1] >= watermark]
        return [value for value, _ in in_time], [timestamp for _, timestamp in in_time]

    def _matches(self, side: _Side, values: list[Any], timestamps: list[int]) -> Iterator[_Pair]:
        """Buffers every record of one side under its key, and yields the pairs it makes with the other side."""
        backend, own, others = self.backend, self._buffers[side.index], self._buffers[1 - side.index]
        is_left, lower, upper = side.index == 0, side.lower, side.upper
        for key, value, timestamp in zip(self.keys_of(values, side.index), values, timestamps, strict=True):
            backend.current_key = key
            buffer = own.value()
            if buffer is not None and buffer[0][-1] <= timestamp:
                buffer[0].append(timestamp)
                buffer[1].append(value)
                own.update(buffer)
            else:
                self._keep(side, buffer, value, timestamp)
            other = others.value()
            if other is None:
                continue
            other_timestamps, other_values = other
            start = bisect_left(other_timestamps, timestamp + lower)
            for position in range(start, bisect_right(other_timestamps, timestamp + upper, start)):
                if is_left:
                    yield value, other_values[position], timestamp, other_timestamps[position]
                else:
                    yield other_values[position], value, other_timestamps[position], timestamp

    def _keep(self, side: _Side, buffer: _Buffer | None, value: Any, timestamp: int) -> None:
        """Buffers a record that is the first of its key or out of order, if a match can still come."""
        if timestamp + side.upper < self.timer_service.watermark:
            return
        timestamps, values = buffer = buffer or ([], [])
        # Behind those of the same time, so that pairs come in the order of their elements.
        position = bisect_right(timestamps, timestamp)
        timestamps.insert(position, timestamp)
        values.insert(position, value)
        self._buffers[side.index].update(buffer)
        if position == 0:
            self._release_later(side, timestamp)

    def _release_later(self, side: _Side, timestamp: int) -> None:
        self.timer_service.event_timers.register(timestamp + side.kept_for, (self.backend.current_key, side.index))

    def on_event_timer(self, time: int, entry: Any) -> None:
        """Releases the elements of a key and side that cannot match any more."""
        self.backend.current_key, index = entry
        side, state = self._sides[index], self._buffers[index]
        buffer = state.value()
        if buffer is None:
            return
        timestamps, values = buffer
        released = bisect_right(timestamps, self.timer_service.watermark - side.kept_for)
        if released == len(timestamps):
            state.clear()
            return
        del timestamps[:released], values[:released]
        state.update(buffer)
        self._release_later(side, timestamps[0])

    def _send(self, pairs: Iterator[_Pair]) -> None:
        """Calls the function for every pair; results carry the later timestamp of both."""
        process, context, results = self._process_pair, self._context, self.results
        take = results.take if self.guard.is_careful else _take_plain(results)
        for left, right, left_timestamp, right_timestamp in pairs:
            timestamp = left_timestamp if left_timestamp > right_timestamp else right_timestamp
            context.left_timestamp, context.right_timestamp, context.timestamp = (
                left_timestamp,
                right_timestamp,
                timestamp,
            )
            outputs = process(left, right, context)
            if outputs is not None:
                take(outputs, timestamp)
        self.guard.check(results.values)
        results.send()

    def metrics(self) -> dict[str, Any]:
        """Those of every operator, and how many late records were dropped."""
        return {**super().metrics(), "numLateRecordsDropped": self._late_dropped}


def _take_plain(results: ResultBatch) -> Callable[[Iterable[Any], int], None]:
    """Takes results that need no look at each of them."""
    append, stamp = results.values.append, results.timestamps.append

    def take(outputs: Iterable[Any], timestamp: int) -> None:
        for result in outputs:
            append(result)
            stamp(timestamp)

    return take


class _PairContext(ProcessJoinFunction.Context):
    """The timestamps of the current pair; one object serves all pairs."""

    left_timestamp = right_timestamp = timestamp = NO_TIMESTAMP

    def get_left_timestamp(self) -> int:
        return self.left_timestamp

    def get_right_timestamp(self) -> int:
        return self.right_timestamp

    def get_timestamp(self) -> int:
        """Return the later timestamp of both."""
        return self.timestamp
