"""OVER aggregates: for each row the aggregates of the rows before it in time, and of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.operators.operator import MIN_WATERMARK, OperatorContext
from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.meaning.state_parts import ACCUMULATORS, COLUMNS
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.waiting_rows_operator import WaitingRowsOperator
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.over.frames import frame_events, last_peers
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.slices.gathered_rows import window_kernel
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.moved_state import moved_part
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.over.over_aggregate import OverAggregate
    from funke.engine.sql.state.key_index import Keys
    from funke.engine.types.columns import Array

__all__ = ["OverOperator"]


class OverOperator(FunctionsOperator, WaitingRowsOperator):
    """Rows wait for the watermark, and are processed in the order of their times; by the clock, as they come."""

    def __init__(self, node: OverAggregate) -> None:
        self._node = node
        self._input = schema_of(node.input.columns)
        self._output_schema = schema_of(node.columns)
        types = [node.input.columns[each].type for each in node.partition_by]
        self._keys = KeyColumns(node.partition_by, types)
        self._key_watch = KeyWatch(node.partition_by)
        key_types = list(map(to_type_info, types))
        is_bounded = node.preceding is not None
        self._kernels = [window_kernel(each.call, is_bounded) for each in node.aggregates]
        self._waiting = RowBuffer("waiting-rows", node.partition_by, key_types, self._input)
        # Rows that are in accumulators, and will leave them again.
        self._inside = RowBuffer("rows-inside", node.partition_by, key_types, self._input)
        self._watermark = MIN_WATERMARK
        self._has_peers = not node.is_rows and (node.time.is_event_time or is_bounded)
        self._late = self._without_time = 0
        self._swept = 0
        self.functions = OpenedFunctions((), [each.call.function for each in node.aggregates])

    def layout(self) -> ColumnLayout:
        # Rows that are in accumulators must be able to leave them: those of a lower bound stay.
        ttl_ms = self._node.ttl_ms if self._node.preceding is None else 0
        return ColumnLayout("over-aggregates", self._create, ttl_ms)

    def _create(self, count: int) -> Fields:
        return tuple(field for kernel in self._kernels for field in kernel.create(count))

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._clock = context.task.clock

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes in rows; those that the watermark has passed are dropped."""
        self.records_in += len(batch)
        self._key_watch.look(batch.data)
        time, now = self._node.time, self._clock.now_ms()
        timed, times = with_times(as_schema(batch, self._input), time, LocalTime(None), now)
        if not time.is_event_time:
            if len(timed):
                self._process(timed.with_timestamps(times), batch.timestamps)
            return
        self._without_time += len(batch) - len(timed)
        is_late = times <= self._watermark
        if is_late.any():
            self._late += int(np.count_nonzero(is_late))
            timed, times = timed.take(np.flatnonzero(~is_late)), times[~is_late]
        self._waiting.add(timed.with_timestamps(times))

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def process_watermark(self, watermark: int) -> None:
        """Processes the rows that it has passed, then passes it on."""
        if self._node.time.is_event_time:
            self._watermark = watermark
            first = self._waiting.first_time()
            if first is not None and first <= watermark:
                rows = self._waiting.all()
                assert rows is not None and rows.timestamps is not None
                due = self._waiting.take_out(rows.timestamps <= watermark)
                assert due.timestamps is not None
                due = due.take(np.argsort(due.timestamps, kind="stable"))
                self._process(due, due.timestamps)
            self._sweep(watermark)
        self.output.emit_watermark(watermark)

    def _process(self, rows: ColumnBatch, timestamps: Array | None) -> None:
        """Sends rows, which are in the order of their times, with their results."""
        results = self._unbounded(rows) if self._node.preceding is None else self._bounded(rows, self._node.preceding)
        data = pa.RecordBatch.from_arrays([*rows.data.columns, *results], schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, timestamps))

    def _unbounded(self, rows: ColumnBatch) -> list[pa.Array]:
        codes, keys = self._keys.encode(rows.data)
        order, segments = Segments.of_codes(codes, len(keys))
        sources = np.arange(len(rows))
        if self._has_peers:
            assert rows.timestamps is not None
            # RANGE, the default: rows of the same time show the result behind the last of them. Two rows at 10:00 with
            # 1 and 2 both have SUM 3; with ROWS they have 1 and 3.
            sources = last_peers(codes[order], rows.timestamps[order])
        results = self._run(keys, rows.data, order, segments, None)
        # Back in the order of the rows.
        indexes: Array = np.empty(len(rows), np.int64)
        indexes[order] = sources
        return [each.take(pa.array(indexes)) for each in results]

    def _bounded(self, rows: ColumnBatch, preceding: int) -> list[pa.Array]:
        codes, keys = self._keys.encode(rows.data)
        both, codes, is_new = self._with_earlier(rows, codes)
        times = both.timestamps
        assert times is not None
        order = np.lexsort((times, codes))
        codes, times, is_new = codes[order], times[order], is_new[order]
        events = frame_events(codes, times, is_new, preceding, self._node.is_rows)
        results = self._run(keys, both.data, order[events.rows], events.segments, events.signs)
        self._inside.add(both.take(np.sort(order[events.is_inside])))
        # The event behind which the result of each of the sorted rows stands.
        sources: Array = np.zeros(len(codes), np.int64)
        sources[events.rows[events.entries]] = events.entries
        if self._has_peers:
            sources = sources[last_peers(codes, times)]
        indexes: Array = np.empty(len(codes), np.int64)
        indexes[order] = sources
        new = indexes[len(codes) - len(rows) :]
        return [each.take(pa.array(new)) for each in results]

    def _with_earlier(self, rows: ColumnBatch, codes: Array) -> tuple[ColumnBatch, Array, Array]:
        """Takes the rows that are in the accumulators of these keys, and puts the new ones behind them."""
        inside = self._inside.all()
        if inside is None:
            return rows, codes, np.ones(len(rows), bool)
        # The rows inside of all frames are numbered each time, also those of other keys: a watermark that finds rows
        # due costs as much as all frames hold.
        together = pa.concat_batches([rows.data, inside.data])
        numbers, _ = self._keys.encode(together)
        count = int(codes.max()) + 1
        # Numbers are given in the order of first rows, so that those of the new rows stay the same.
        mine = numbers[len(rows) :] < count
        earlier = self._inside.take_out(mine)
        both = ColumnBatch.concat([earlier, rows]) if len(earlier) else rows
        is_new: Array = np.ones(len(both), bool)
        is_new[: len(earlier)] = False
        return both, np.concatenate([numbers[len(rows) :][mine], codes]), is_new

    def _run(
        self, keys: Keys, data: pa.RecordBatch, order: Array, segments: Segments, signs: Array | None
    ) -> list[pa.Array]:
        """The results after each of some rows in the order of their keys; the state goes on from there."""
        fetched = self.state.fetch(keys)
        indexes = pa.array(order)
        columns: dict[int, ArgumentColumn] = {-1: ArgumentColumn(pa.nulls(0))}

        def column(index: int) -> ArgumentColumn:
            if index not in columns:
                columns[index] = ArgumentColumn(data.column(index).take(indexes))
            return columns[index]

        after: list[Array] = []
        results = []
        start = 0
        for kernel, use in zip(self._kernels, self._node.aggregates):
            before = fetched.columns[start : start + len(kernel.dtypes)]
            start += len(kernel.dtypes)
            mask = None if use.condition is None else np.asarray(column(use.condition).array.fill_null(False))
            rows = AggregateRows(segments, [column(each) for each in use.arguments], signs, mask)
            fields, running = kernel.running(before, rows)
            after += fields
            results.append(running)
        self.state.store(fetched, tuple(after))
        return results

    def _sweep(self, watermark: int) -> None:
        """Now and then, forgets keys whose rows have all left their range of time."""
        preceding = self._node.preceding
        # A frame of ROWS needs the last rows of a key whenever the next one comes, so they stay for ever. A sweep looks
        # at all rows: the next one waits until there are twice as many.
        if preceding is None or self._node.is_rows or len(self._inside) < 2 * self._swept + 1024:
            return
        rows = self._inside.all()
        assert rows is not None and rows.timestamps is not None
        codes, keys = self._keys.encode(rows.data)
        latest: Array = np.full(len(keys), MIN_WATERMARK)
        np.maximum.at(latest, codes, rows.timestamps)
        is_gone = latest + preceding <= watermark
        if is_gone.any():
            self._inside.take_out(is_gone[codes])
            gone = [key for key, each in zip(keys, is_gone.tolist()) if each]
            fetched = self.state.fetch(gone)
            self.state.store(fetched, fetched.columns, np.zeros(len(gone), bool))
        self._swept = len(self._inside)

    # Snapshots

    @property
    def buffers(self) -> tuple[RowBuffer, ...]:
        return self._waiting, self._inside

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        for buffer in self.buffers:
            part = buffer.moved(part, moves.get(COLUMNS))
        own = moves.get(ACCUMULATORS)
        return part if own is None else moved_part(part, {self.layout().name: own.moved})

    def snapshot(self) -> OperatorStateSnapshot:
        """The watermark: what was late before a restart is late after it."""
        return OperatorStateSnapshot(unions={"watermark": [self._watermark]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._watermark = min(state.unions["watermark"])

    def metrics(self) -> dict[str, Any]:
        dropped = {"numLateRecordsDropped": self._late, "numNullRowTimeRecordsDropped": self._without_time}
        return {**self.functions.metrics(), **dropped}
