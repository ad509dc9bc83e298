"""The input of a segment: takes parts from all channels and combines their watermarks by Flink's minimum rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Any

from funke.engine.operators.block_parts import ColumnsPart, Part, RecordsPart, WatermarkPart
from funke.engine.operators.operator import MIN_WATERMARK, Operator, OperatorFailure
from funke.engine.operators.records.slice_sizer import SliceSizer
from funke.engine.operators.turn import turn
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.operator_location import OperatorLocation

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.information.type_information import TypeInformation


class _InputChannels:
    """The channels of one input: the lowest of their watermarks, without a look at thousands for every new one."""

    def __init__(self, marks: dict[tuple[int, int], int], idle: set[tuple[int, int]]) -> None:
        self._marks = marks
        self._idle = idle
        self._all: list[tuple[int, int]] = []
        # Watermarks only grow: an entry that is too low is corrected when it comes to the top, where idle ones go.
        self._entries: list[tuple[int, tuple[int, int]]] = []
        self._gone: set[tuple[int, int]] = set()

    def add(self, channel: tuple[int, int]) -> None:
        self._all.append(channel)
        heappush(self._entries, (self._marks[channel], channel))

    def activate(self, channel: tuple[int, int]) -> None:
        """A channel is not idle, or not any more."""
        self._idle.discard(channel)
        if channel in self._gone:
            self._gone.discard(channel)
            heappush(self._entries, (self._marks[channel], channel))

    @property
    def lowest_active(self) -> int | None:
        """The lowest of the channels that are not idle; None when all are."""
        entries = self._entries
        while entries:
            mark, channel = entries[0]
            if channel in self._idle:
                self._gone.add(heappop(entries)[1])
            elif mark != self._marks[channel]:
                heapreplace(entries, (self._marks[channel], channel))
            else:
                return mark
        return None

    @property
    def lowest(self) -> int:
        """When all are idle, the furthest of them is safe: no sender is left that could send anything earlier."""
        active = self.lowest_active
        return max(self._marks[each] for each in self._all) if active is None else active


class InputGate:
    """Watermarks of a subtask: the minimum over its active channels, never going back."""

    def __init__(
        self,
        head: Operator,
        location: OperatorLocation,
        channels: Iterable[tuple[int, int, int]],
        between_slices: Callable[[], Any] = lambda: None,
        edge_types: Mapping[int, TypeInformation | None] | None = None,
    ) -> None:
        """`channels` are (exchange id, upstream subtask, input index); `between_slices` lets timers fire in time.

        `edge_types` are the types of the records by exchange, for those that come in another form than they are taken.
        """
        self._between_slices = between_slices
        self._head = head
        self._location = location
        self._number = turn.number_of(location)
        self._handlers: dict[int, RowsHandler] = {}
        self._columns_handlers: dict[int, ColumnsHandler] = {}
        self._watermarks: dict[tuple[int, int], int] = {}
        self._idle: set[tuple[int, int]] = set()
        # The channels of each input, and how far its event time has come; nothing is kept where there is one alone.
        self._inputs: dict[int, _InputChannels] = {}
        self._input_of: dict[int, _InputChannels] = {}
        self._input_marks: dict[int, int] = {}
        for exchange_id, upstream, input_index in channels:
            self._watermarks[exchange_id, upstream] = MIN_WATERMARK
            own = self._inputs.setdefault(input_index, _InputChannels(self._watermarks, self._idle))
            own.add((exchange_id, upstream))
            self._input_of[exchange_id] = own
            forms = EdgeForms(None if edge_types is None else edge_types[exchange_id])
            self._handlers[exchange_id] = _rows_handler(head, input_index, forms)
            self._columns_handlers[exchange_id] = _columns_handler(head, input_index, forms)
        if len(self._inputs) > 1:
            self._input_marks = dict.fromkeys(sorted(self._inputs), MIN_WATERMARK)
        self._current = MIN_WATERMARK
        self._is_idle = False
        self._idle_inputs: set[int] = set()
        self._sizer = SliceSizer()
        self.records_in = 0

    @property
    def current_watermark(self) -> int:
        """The subtask's event time."""
        return self._current

    def input_metrics(self) -> dict[str, int]:
        """Of an operator with several inputs: the event time of each, by Flink's names."""
        return {f"currentInput{index + 1}Watermark": mark for index, mark in self._input_marks.items()}

    def receive(self, exchange_id: int, upstream: int, parts: list[Part], until: float = math.inf) -> list[Part]:
        """Processes the parts of one block in order, as long as there is time; what is left of them."""
        before, turn.cell[0] = turn.cell[0], self._number
        left: list[Part] = []
        try:
            for number, part in enumerate(parts):
                rest = self._receive_part(exchange_id, upstream, part, until)
                if rest is not None:
                    left = [rest, *parts[number + 1 :]]
                    break
        except OperatorFailure:
            raise
        except BaseException as cause:
            raise OperatorFailure(self._location) from cause
        turn.cell[0] = before
        return left

    def _receive_part(self, exchange_id: int, upstream: int, part: Part, until: float) -> Part | None:
        if isinstance(part, RecordsPart):
            return self._receive_records(exchange_id, part, until)
        if isinstance(part, ColumnsPart):
            return self._receive_columns(exchange_id, part, until)
        if isinstance(part, WatermarkPart):
            self._on_watermark((exchange_id, upstream), part.timestamp)
        else:
            self._on_status((exchange_id, upstream), part.is_idle)
        return None

    def _receive_records(self, exchange_id: int, part: RecordsPart, until: float) -> RecordsPart | None:
        handle, done = self._handlers[exchange_id], 0
        for values, timestamps in self._sizer.slices(part.values, part.timestamps, until):
            handle(values, timestamps)
            self._between_slices()
            done += len(values)
        self.records_in += done
        if done == len(part.values):
            return None
        return RecordsPart(part.values[done:], None if part.timestamps is None else part.timestamps[done:])

    def _receive_columns(self, exchange_id: int, part: ColumnsPart, until: float) -> ColumnsPart | None:
        handle, done = self._columns_handlers[exchange_id], 0
        for batch in self._sizer.column_slices(part.batch, until):
            handle(batch)
            self._between_slices()
            done += len(batch)
        self.records_in += done
        return None if done == len(part.batch) else ColumnsPart(part.batch.slice(done))

    def _on_watermark(self, channel: tuple[int, int], watermark: int) -> None:
        self._watermarks[channel] = max(self._watermarks[channel], watermark)
        # A watermark is activity: an idle channel that speaks counts again.
        self._input_of[channel[0]].activate(channel)
        self._advance()

    def _on_status(self, channel: tuple[int, int], is_idle: bool) -> None:
        if is_idle:
            self._idle.add(channel)
        else:
            self._input_of[channel[0]].activate(channel)
        self._advance()

    def _advance(self) -> None:
        if self._head.has_input_watermarks:
            self._advance_inputs()
            return
        for index, mark in self._input_marks.items():
            self._input_marks[index] = max(mark, self._inputs[index].lowest)
        lowest = self._lowest
        if lowest > self._current:
            self._current = lowest
            self._head.process_watermark(lowest)
        if (len(self._idle) == len(self._watermarks)) is not self._is_idle:
            self._is_idle = not self._is_idle
            self._head.process_status(self._is_idle)

    def _advance_inputs(self) -> None:
        for index, before in self._input_marks.items():
            mark = self._input_marks[index] = max(before, self._inputs[index].lowest)
            if mark > before:
                self._head.process_input_watermark(index, mark)
            is_idle = self._inputs[index].lowest_active is None
            if is_idle is not (index in self._idle_inputs):
                self._idle_inputs ^= {index}
                self._head.process_input_status(index, is_idle)
        self._current = max(self._current, min(self._input_marks.values()))

    @property
    def _lowest(self) -> int:
        active = [mark for each in self._inputs.values() if (mark := each.lowest_active) is not None]
        return min(active) if active else max(self._watermarks.values())

    def snapshot(self) -> Any:
        """Watermarks and idleness by channel (kept while a subtask lives; Flink does not persist them)."""
        return dict(self._watermarks), set(self._idle)


RowsHandler = Callable[[list[Any], list[int] | None], None]
ColumnsHandler = Callable[["ColumnBatch"], None]


def _rows_handler(head: Operator, input_index: int, forms: EdgeForms) -> RowsHandler:
    if head.takes_rows:
        return head.input_handler(input_index)
    handle = head.columns_handler(input_index)
    return lambda values, timestamps: handle(forms.columns_of(values, timestamps))


def _columns_handler(head: Operator, input_index: int, forms: EdgeForms) -> ColumnsHandler:
    if head.takes_columns:
        return head.columns_handler(input_index)
    handle = head.input_handler(input_index)
    return lambda batch: handle(*forms.rows_of(batch))
