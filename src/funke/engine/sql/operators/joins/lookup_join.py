"""Puts each row together with the rows that a table has for its keys, asked for once for all keys of a batch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.async_io.element_queue import HeldStatus, HeldWatermark
from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.binding.expressions import BoundColumn, column_of
from funke.engine.sql.connectors.lookup.lookup import FoundRows
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.joins.lookup_requests import LookupRequests
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.state.kept_lookups import KeptLookups
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.connectors.lookup.lookup import Lookup
    from funke.engine.sql.plan.joins.lookup_join import LookupJoin, LookupKey
    from funke.engine.types.columns import Array

__all__ = ["LookupJoinOperator", "MaterializedLookupJoinOperator"]

_STATE = "rows that are looked up"
_KEPT = "rows that were found"
# More rows are several requests, so that threads share them.
_ROWS_PER_REQUEST = 1 << 11


class LookupJoinOperator(FunctionsOperator):
    """Works on batches of columns; event times and kinds stay with the rows of the input."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: LookupJoin, task: TaskInfo) -> None:
        self._input = schema_of(node.input.columns)
        self._output_schema = schema_of(node.columns)
        self._keeps_all = node.keeps_all
        self._retry = node.settings.retry
        table_schema = schema_of(node.table_columns)
        self._key_schema = pa.schema([table_schema.field(each.column) for each in node.keys])
        self._keys = [self._key_source(each, node) for each in node.keys]
        self._batch_time = BatchTime(task.clock)
        expressions = (*node.expressions, *(each for each in (node.where, node.condition) if each is not None))
        self._getters = [column_of(with_clock(each, self._batch_time)) for each in node.expressions]
        self._where = None if node.where is None else column_of(with_clock(node.where, self._batch_time))
        self._condition = None if node.condition is None else column_of(with_clock(node.condition, self._batch_time))
        self._lookup: Lookup = node.table.lookup_table().create_lookup([each.column for each in node.keys], task.clock)
        self.functions = OpenedFunctions(expressions)
        requests = node.settings.requests
        self._requests = None
        if requests is not None:
            self._requests = LookupRequests(requests, self._looked_up, self._lookup.release, task)
        self._restored: list[ColumnBatch] = []
        self._unfinished: list[ColumnBatch] = []

    @staticmethod
    def _key_source(key: LookupKey, node: LookupJoin) -> int | pa.Scalar:
        """The index of a column of the input, or a value."""
        if isinstance(key.value, BoundColumn):
            return key.value.index
        return from_values([key.value.value], node.table_columns[key.column].type)[0]

    def open(self) -> None:
        super().open()
        self._lookup.open()
        if self._requests is not None:
            self._requests.submit(self._restored)

    def close(self) -> None:
        try:
            if self._requests is not None:
                self._requests.stop()
            self._lookup.close()
        finally:
            super().close()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on each row with the rows that were found for it, in order; or has them looked up meanwhile."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._input)
        if self._requests is None:
            self._finish(batch, self._looked_up(batch))
            return
        starts = range(0, len(batch), _ROWS_PER_REQUEST)
        self._requests.submit([batch.slice(each, min(_ROWS_PER_REQUEST, len(batch) - each)) for each in starts])
        # Waiting here is the backpressure: nothing more is read until a request has its answer.
        while not self._requests.has_capacity:
            self._requests.wait()
            self._send_ready()
        self._send_ready()

    # What a thread does

    def _looked_up(self, batch: ColumnBatch) -> tuple[Array, FoundRows | None]:
        """For each row the number of its key, -1 if a part of it is NULL; and what was found for the keys."""
        columns = [self._key_column(each, batch, kind) for each, kind in zip(self._keys, self._key_schema.types)]
        numbers = KeyNumbers(self._key_schema.types).numbers(columns, len(batch))
        # A key is asked for once in a batch, however many rows have it; one with a NULL never, since it is equal to
        # nothing.
        _, firsts = np.unique(numbers, return_index=True)
        firsts = firsts[numbers[firsts] >= 0]
        if not len(firsts):
            return numbers, None
        keys = pa.RecordBatch.from_arrays([each.take(pa.array(firsts)) for each in columns], schema=self._key_schema)
        return numbers, self._look_up(keys)

    @staticmethod
    def _key_column(source: int | pa.Scalar, batch: ColumnBatch, kind: pa.DataType) -> pa.Array:
        if isinstance(source, pa.Scalar):
            return pa.repeat(source, len(batch)).cast(kind)
        column = batch.data.column(source)
        return column if column.type == kind else column.cast(kind, safe=False)

    def _look_up(self, keys: pa.RecordBatch) -> FoundRows:
        """As in Flink, a row whose key is not cached waits, and later rows wait with it."""
        looked_up = self._lookup.find(keys)
        if self._retry is None:
            return looked_up
        for _ in range(self._retry.max_attempts):
            missing = np.flatnonzero(looked_up.counts == 0)
            if not len(missing):
                break
            time.sleep(self._retry.delay_ms / 1000)
            looked_up = _together(looked_up, missing, self._lookup.find(keys.take(pa.array(missing))))
        return looked_up

    # What the subtask does with it

    def _finish(self, batch: ColumnBatch, looked_up: tuple[Array, FoundRows | None]) -> None:
        left, right, columns = self._matched(batch, looked_up)
        if len(left):
            self.output.emit_columns(self._joined(batch, left, right, columns))

    def _matched(
        self, batch: ColumnBatch, looked_up: tuple[Array, FoundRows | None]
    ) -> tuple[Array, Array, list[pa.Array]]:
        """The indexes of rows that belong together, and the columns of those that were found."""
        self._batch_time.begin()
        numbers, rows_of_keys = looked_up
        left, right, columns = _NOWHERE, _NOWHERE, self._nothing()
        if rows_of_keys is not None:
            counts, columns = self._computed(rows_of_keys)
            left, right = _pairs(numbers, counts)
        left, right = self._fulfilling(batch, left, right, columns)
        if self._keeps_all:
            left, right = _with_unmatched(len(batch), left, right)
        return left, right, columns

    def _computed(self, rows_of_keys: FoundRows) -> tuple[Array, list[pa.Array]]:
        """How many rows of each key count, and the columns that are made of them."""
        rows, counts = rows_of_keys.rows.take(pa.array(rows_of_keys.indexes)), rows_of_keys.counts
        if self._where is not None:
            mask = self._where(rows)
            if isinstance(mask, pa.Scalar):
                mask = pa.repeat(mask, rows.num_rows)
            mask = mask.fill_null(False)
            owners = np.repeat(np.arange(len(counts)), counts)[mask.to_numpy(zero_copy_only=False)]
            rows, counts = rows.filter(mask), np.bincount(owners, minlength=len(counts))
        columns = [get(rows) for get in self._getters]
        return counts, [pa.repeat(each, rows.num_rows) if isinstance(each, pa.Scalar) else each for each in columns]

    def _nothing(self) -> list[pa.Array]:
        return [pa.nulls(0, each) for each in self._output_schema.types[len(self._input) :]]

    def _fulfilling(
        self, batch: ColumnBatch, left: Array, right: Array, columns: list[pa.Array]
    ) -> tuple[Array, Array]:
        """The pairs for which the condition is true."""
        if self._condition is None or not len(left):
            return left, right
        mask = self._condition(self._joined(batch, left, right, columns).data)
        if isinstance(mask, pa.Scalar):
            return (left, right) if mask.as_py() else (_NOWHERE, _NOWHERE)
        kept = mask.fill_null(False).to_numpy(zero_copy_only=False)
        return left[kept], right[kept]

    def _joined(self, batch: ColumnBatch, left: Array, right: Array, columns: list[pa.Array]) -> ColumnBatch:
        mine = batch.take(left)
        indexes = pa.array(right, pa.int64(), mask=right < 0)
        others = [each.take(indexes) for each in columns]
        data = pa.RecordBatch.from_arrays([*mine.data.columns, *others], schema=self._output_schema)
        return mine.with_data(data)

    # Requests of other threads

    def _send_ready(self) -> None:
        assert self._requests is not None
        for item in self._requests.take_ready():
            if isinstance(item, HeldWatermark):
                super().process_watermark(item.watermark)
            elif isinstance(item, HeldStatus):
                super().process_status(item.is_idle)
            else:
                assert item.results is not None
                self._finish(item.value, item.results[0])

    def process_watermark(self, watermark: int) -> None:
        if self._requests is None:
            super().process_watermark(watermark)
        else:
            self._requests.hold_watermark(watermark)
            self._send_ready()

    def process_status(self, is_idle: bool) -> None:
        if self._requests is None:
            super().process_status(is_idle)
        else:
            self._requests.hold_status(is_idle)
            self._send_ready()

    def end_epoch(self) -> None:
        # Between two epochs no record is in flight. Without epochs requests go on during a checkpoint, which has their
        # rows.
        if self.context.task.has_epochs:
            self._wait_for_all()

    def end_input(self) -> None:
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        while self._requests is not None and not self._requests.is_idle:
            self._requests.wait()
            self._send_ready()
        if self._requests is not None:
            self._send_ready()

    @property
    def has_unfinished(self) -> bool:
        return self._requests is not None and self._requests.has_unfinished

    def next_wakeup_ms(self) -> int | None:
        return None if self._requests is None else self._requests.next_look_ms()

    def on_processing_time(self, now_ms: int) -> None:
        if self._requests is not None:
            self._send_ready()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Takes down the rows whose results have not left: threads must not move them meanwhile."""
        super().prepare_snapshot(checkpoint_id)
        self._unfinished = [] if self._requests is None else self._requests.unfinished()

    def snapshot(self) -> OperatorStateSnapshot | None:
        return None if self._requests is None else OperatorStateSnapshot(lists={_STATE: self._unfinished})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._restored = list(state.lists.get(_STATE, ()))


class MaterializedLookupJoinOperator(LookupJoinOperator):
    """Keeps what it has found: a row that is taken back takes back the same, whatever the table has by then."""

    def __init__(self, node: LookupJoin, task: TaskInfo) -> None:
        super().__init__(node, task)
        self._key = node.kept_key
        self._key_types = [to_type_info(node.input.columns[each].type) for each in self._key]
        right = pa.schema(list(self._output_schema)[len(self._input) :])
        is_unique = len(self._key) < len(self._input)
        self._kept = KeptLookups(self._input, right, self._key, is_unique, node.ttl_ms)
        self._now_ms = task.clock.now_ms
        self._unknown = 0

    def process_columns(self, batch: ColumnBatch) -> None:
        """Looks rows up, or takes back what was found for them, as they come."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._input)
        if not len(batch):
            return
        kinds: Array = np.zeros(len(batch), np.int8) if batch.kinds is None else batch.kinds
        is_back = (kinds == RowKind.UPDATE_BEFORE.value) | (kinds == RowKind.DELETE.value)
        # Run by run, in order: a row may come and be taken back within one batch.
        borders: Array = np.flatnonzero(np.diff(is_back)) + 1
        for begin, end in zip([0, *borders.tolist()], [*borders.tolist(), len(batch)]):
            part = batch.slice(begin, end - begin)
            (self._take_back if is_back[begin] else self._take_in)(part)

    def _take_in(self, batch: ColumnBatch) -> None:
        left, right, columns = self._matched(batch, self._looked_up(batch))
        has_match: Array = right >= 0
        counts = np.bincount(left[has_match], minlength=len(batch))
        others = [each.take(pa.array(right[has_match], pa.int64())) for each in columns]
        self._kept.add(batch.data, counts, others, self._now_ms())
        if len(left):
            self.output.emit_columns(self._joined(batch, left, right, columns))

    def _take_back(self, batch: ColumnBatch) -> None:
        counts, columns = self._kept.take_back(batch.data, self._now_ms())
        self._unknown += int((counts < 0).sum())
        is_known: Array = counts >= 0
        known_counts = np.where(is_known, counts, 0)
        left: Array = np.repeat(np.arange(len(batch)), known_counts)
        right: Array = np.arange(len(left))
        if self._keeps_all:
            left, right = _with_unmatched(len(batch), left, right)
            left, right = left[is_known[left]], right[is_known[left]]
        if len(left):
            self.output.emit_columns(self._joined(batch, left, right, columns))

    def end_epoch(self) -> None:
        self._kept.shrink(self._now_ms())

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        data, times = self._kept.all_rows(self._now_ms())
        buffer = RowBuffer(_KEPT, self._key, self._key_types, self._kept.schema)
        buffer.add(ColumnBatch(data, times))
        return buffer.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        # The numbers of rows are those of the subtask that has kept them.
        for part in parts:
            buffer = RowBuffer(_KEPT, self._key, self._key_types, self._kept.schema)
            buffer.restore([part])
            rows = buffer.all()
            if rows is not None:
                self._kept.put(rows.data, rows.timestamps)

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), "numUnknownRowsTakenBack": self._unknown}


_NOWHERE: Array = np.empty(0, np.int64)


def _pairs(numbers: Array, counts: Array) -> tuple[Array, Array]:
    """The indexes of rows that belong together: those of the input, and those that were found, key after key."""
    starts = np.cumsum(counts) - counts
    have_key = np.flatnonzero(numbers >= 0)
    own = numbers[have_key]
    repeats = counts[own]
    left: Array = np.repeat(have_key, repeats)
    # The first place of each row's run, and how far into it each pair is.
    within = np.arange(len(left)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return left, np.repeat(starts[own], repeats) + within


def _with_unmatched(length: int, left: Array, right: Array) -> tuple[Array, Array]:
    """Pairs with -1 for rows that have none, in the order of the input."""
    is_alone: Array = np.ones(length, bool)
    is_alone[left] = False
    alone = np.flatnonzero(is_alone)
    order = np.argsort(np.concatenate([left, alone]), kind="stable")
    return np.concatenate([left, alone])[order], np.concatenate([right, np.full(len(alone), -1)])[order]


def _together(first: FoundRows, missing: Array, later: FoundRows) -> FoundRows:
    """What was found at first, and what was found later for keys that had nothing."""
    counts = first.counts.copy()
    counts[missing] = later.counts
    owners: Array = np.repeat(np.arange(len(first.counts)), first.counts)
    later_owners: Array = np.repeat(missing, later.counts)
    indexes = np.concatenate([first.indexes, later.indexes + first.rows.num_rows])
    order = np.argsort(np.concatenate([owners, later_owners]), kind="stable")
    return FoundRows(pa.concat_batches([first.rows, later.rows]), counts, indexes[order])
