"""Joins two inputs whose rows come and go: a row meets those of the other input that are there, and is kept.

Flink's rules: an update stays an update where both sides are inner; around rows with NULLs there are only inserts and
deletes. A row that is taken back takes back what it had made, whether or not it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels.join_rows import send_left, send_pairs
from funke.engine.operators.clock import Clock
from funke.engine.operators.operator import OperatorContext
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.join_rows import JoinInput, JoinRows
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.pair_condition import PairCondition, slices
from funke.engine.sql.plan.upsert_keys import identifying_key
from funke.engine.sql.state.join_side import JoinSide, SideSpec
from funke.engine.sql.state.keyed_columns_operator import is_in_memory
from funke.engine.state.backend_choice import create_backend
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.state.snapshot.native_files import LocalFile
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.join import Join
    from funke.engine.types.columns.arrays import Array

__all__ = ["JoinOperator", "create_join_rows"]

_NAMES = ("left-rows", "right-rows")


class JoinOperator(FunctionsOperator):
    """A batch meets the rows of the other input, and is added to those of its own."""

    takes_rows = False
    takes_columns = True

    def __init__(self, join: Join, clock: Clock) -> None:
        self._join, self._clock = join, clock
        self._schemas = [schema_of(each.columns) for each in join.inputs]
        self._output_schema = schema_of(join.columns)
        self._is_half = join.has_left_only
        self._keeps = (join.keeps_left, join.keeps_right)
        self._inputs = [self._input(side) for side in range(2)]
        self._has_ttl = any(each.spec.ttl_ms for each in self._inputs)
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        self.functions = OpenedFunctions((join.condition,))

    def _input(self, side: int) -> JoinInput:
        join, source = self._join, self._join.inputs[side]
        keys = (join.left_keys, join.right_keys)[side]
        unique_key, ttl_ms = identifying_key(source.upsert_keys(), keys), (join.left_ttl_ms, join.right_ttl_ms)[side]
        spec = SideSpec(self._schemas[side], keys, unique_key, source.has_retractions, ttl_ms, join.equal_nulls)
        counts_matches = (join.keeps_left or self._is_half, join.keeps_right)[side]
        return JoinInput(_NAMES[side], spec, tuple(source.columns[key].type for key in keys), counts_matches)

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._rows = create_join_rows(self._inputs, context)

    @property
    def _sides(self) -> list[JoinSide]:
        return self._rows.sides

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return lambda batch: self._process(batch, input_index)

    def _process(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._schemas[side])
        now_ms = self._now_ms
        numbers = self._rows.numbers(side, batch.data, now_ms)
        kinds: Array = np.zeros(len(batch), np.uint8) if batch.kinds is None else batch.kinds.view(np.uint8)
        own, other = self._sides[side], self._sides[1 - side]
        counts = other.counts(numbers)
        matches: Array = np.zeros(len(batch), np.int64)
        for begin, end in slices(counts):
            rows = slice(begin, end)
            matches[rows] = self._meet(batch.slice(begin, end - begin), numbers[rows], counts[rows], kinds[rows], side)
        takes_in = ((kinds == 0) | (kinds == 2)).astype(np.uint8)
        own.add(batch.data, numbers, takes_in, matches, now_ms)
        self._rows.changed(side, numbers)
        if self._inputs[1 - side].counts_matches:
            self._rows.changed(1 - side, numbers[counts > 0])
        self._rows.end_batch()

    def _meet(self, batch: ColumnBatch, numbers: Array, counts: Array, kinds: Array, side: int) -> Array:
        """Sends what some rows make with those of the other side; returns how many matches each has."""
        other = self._sides[1 - side]
        rows = other.matching(numbers, int(counts.sum()))
        given: Array = np.repeat(np.arange(len(batch)), counts)
        is_match = self._matching(batch, given, rows, side)
        if is_match is not None:
            rows, given = rows[is_match], given[is_match]
            counts = np.bincount(given, minlength=len(batch))
        if self._is_half:
            self._send_half(batch, counts, rows, kinds, side)
        elif any(self._keeps):
            self._send_outer(batch, counts, rows, kinds, side)
        elif len(rows):
            self._send(batch, given, rows, kinds[given], side)
        return counts

    def _matching(self, batch: ColumnBatch, given: Array, rows: Array, side: int) -> Array | None:
        """Which pairs are matches; None if all are."""
        other = self._sides[1 - side]
        is_live = other.is_live(rows, self._now_ms)

        def own(indexes: Sequence[int]) -> list[pa.Array]:
            return [batch.data.column(index).take(pa.array(given)) for index in indexes]

        def others(indexes: Sequence[int]) -> list[pa.Array]:
            return other.take(rows, indexes)

        fulfils = self._condition.fulfilled(*((own, others) if side == 0 else (others, own)), len(rows))
        return is_live if fulfils is None else fulfils if is_live is None else fulfils & is_live

    def _send_half(self, batch: ColumnBatch, counts: Array, rows: Array, kinds: Array, side: int) -> None:
        is_anti = self._join.kind == "anti"
        if side == 0:
            sent = np.flatnonzero((counts == 0) == is_anti)
            if len(sent):
                self._emit(batch.data.take(pa.array(sent)).columns, kinds[sent])
            return
        left = self._sides[0]
        sent_kinds: Array = np.empty(len(rows), np.uint8)
        sent_rows: Array = np.empty(len(rows), np.int64)
        arguments = kinds, _offsets(counts), rows, len(kinds), int(is_anti), left.matches, sent_kinds, sent_rows
        total = send_left.run(len(rows), *arguments)
        left.touch(rows, self._now_ms)
        if total:
            self._emit(left.take(sent_rows[:total]), sent_kinds[:total])

    def _send_outer(self, batch: ColumnBatch, counts: Array, rows: Array, kinds: Array, side: int) -> None:
        other = self._sides[1 - side]
        most = len(batch) + 2 * len(rows)
        sent_kinds: Array = np.empty(most, np.uint8)
        sent_given: Array = np.empty(most, np.int64)
        sent_rows: Array = np.empty(most, np.int64)
        keeps_own, keeps_other = self._keeps[side], self._keeps[1 - side]
        total = send_pairs.run(
            most,
            kinds,
            _offsets(counts),
            rows,
            len(batch),
            int(keeps_own),
            int(keeps_other),
            other.matches,
            sent_kinds,
            sent_given,
            sent_rows,
        )
        if keeps_other:
            other.touch(rows, self._now_ms)
        if total:
            self._send(batch, sent_given[:total], sent_rows[:total], sent_kinds[:total], side)

    def _send(self, batch: ColumnBatch, given: Array, rows: Array, kinds: Array, side: int) -> None:
        """Sends pairs of rows of a batch and of the other side; below 0 there is none."""
        missing = given < 0
        own = batch.data.take(pa.array(given, mask=missing) if missing.any() else pa.array(given)).columns
        others = self._sides[1 - side].take(rows)
        self._emit([*own, *others] if side == 0 else [*others, *own], kinds)

    def _emit(self, columns: list[pa.Array], kinds: Array) -> None:
        data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, None, kinds.view(np.int8) if kinds.any() else None))

    @property
    def _now_ms(self) -> int:
        return self._clock.now_ms() if self._has_ttl else 0

    def end_epoch(self) -> None:
        self._rows.end_epoch(self._now_ms)

    def metrics(self) -> dict[str, Any]:
        """How many rows of each input are in memory: all of them, but for a backend that is larger."""
        left, right = map(len, self._sides)
        return super().metrics() | {"numLeftRowsInMemory": left, "numRightRowsInMemory": right}

    # Snapshots

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._rows.prepare_snapshot(checkpoint_id)

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self._rows.snapshot_parts()

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._rows.restore(parts, self._now_ms)

    def native_files(self) -> tuple[LocalFile, ...]:
        return self._rows.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self._rows.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._rows.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._rows.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._rows.close()


def create_join_rows(inputs: Sequence[JoinInput], context: OperatorContext) -> JoinRows:
    """The state of a join, in the backend of the job."""
    task = context.task
    if is_in_memory(context):
        return JoinRows(inputs, task.key_groups)
    # Not at the top: a slot starts faster without what its job does not use.
    from funke.engine.sql.operators.stored_join_rows import StoredJoinRows
    from funke.engine.state.rocksdb.backend import RocksDBBackend
    from funke.engine.state.rocksdb.entry_memory import entry_memory

    folder = task.backend.folder_for(task.job_id, context.operator_id, task.subtask, task.attempt)
    backend = create_backend(task.backend, task.key_groups, task.clock.now_ms, folder)
    assert isinstance(backend, RocksDBBackend)
    memory = entry_memory(task.backend.rocksdb.entry_bytes)
    return StoredJoinRows(inputs, task.key_groups, backend, memory, task.clock.now_ms)


def _offsets(counts: Array) -> Array:
    offsets: Array = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
