"""Joins two inputs whose rows come and go: a row meets those of the other input that are there, and is kept.

Flink's rules: an update stays an update where both sides are inner; around rows with NULLs there are only inserts and
deletes. A row that is taken back takes back what it had made, whether or not it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.kernels.join_rows import send_left, send_pairs
from funke.engine.operators.clock import Clock
from funke.engine.sql.binding.expressions import column_of, columns_in, moved
from funke.engine.sql.binding.moments import with_clock
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.windows.row_buffer import RowBuffer
from funke.engine.sql.plan.upsert_keys import identifying_key
from funke.engine.sql.state.join_side import JoinSide, SideSpec
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.join import Join

__all__ = ["JoinOperator"]

_NAMES = ("left-rows", "right-rows")
# So many pairs are made at once.
_MOST_PAIRS = 1 << 17
# Fewer rows that are gone are not worth packing.
_FEW_ROWS = 1 << 12


class JoinOperator(FunctionsOperator):
    """The rows of both inputs stand in memory with any backend; both share the numbers of keys."""

    takes_rows = False
    takes_columns = True

    def __init__(self, join: Join, clock: Clock) -> None:
        self._join, self._clock = join, clock
        self._schemas = [schema_of(each.columns) for each in join.inputs]
        self._output_schema = schema_of(join.columns)
        self._keys = [list(join.left_keys), list(join.right_keys)]
        self._ttls = (join.left_ttl_ms, join.right_ttl_ms)
        self._specs = [
            SideSpec(schema, tuple(keys), identifying_key(each.upsert_keys(), keys), each.has_retractions, ttl_ms)
            for schema, keys, each, ttl_ms in zip(self._schemas, self._keys, join.inputs, self._ttls)
        ]
        self._is_half = join.has_left_only
        self._keeps = (join.keeps_left, join.keeps_right)
        # Whether rows know how many matches they have.
        self._counts_matches = (join.keeps_left or self._is_half, join.keeps_right)
        self._clear()
        width = len(join.left.columns)
        condition = join.condition
        used = sorted(set(columns_in(() if condition is None else (condition,))))
        self._used = ([each for each in used if each < width], [each - width for each in used if each >= width])
        self._condition = None
        if condition is not None:
            self._condition = column_of(with_clock(moved(condition, {old: new for new, old in enumerate(used)}), clock))
        self._next_expiry_ms = 0
        self.functions = OpenedFunctions((condition,))

    def _clear(self) -> None:
        self._numbers = KeyNumbers([self._schemas[0].types[key] for key in self._keys[0]])
        self._sides = [JoinSide(each) for each in self._specs]

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return lambda batch: self._process(batch, input_index)

    def _process(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._schemas[side])
        numbers = self._numbers.numbers([batch.data.column(key) for key in self._keys[side]], len(batch))
        kinds: Any = np.zeros(len(batch), np.uint8) if batch.kinds is None else batch.kinds.view(np.uint8)
        own, other = self._sides[side], self._sides[1 - side]
        counts = other.counts(numbers)
        matches: Any = np.zeros(len(batch), np.int64)
        for begin, end in _slices(counts):
            rows = slice(begin, end)
            matches[rows] = self._meet(batch.slice(begin, end - begin), numbers[rows], counts[rows], kinds[rows], side)
        takes_in = ((kinds == 0) | (kinds == 2)).astype(np.uint8)
        own.add(batch.data, numbers, takes_in, matches, self._now_ms)

    def _meet(self, batch: ColumnBatch, numbers: Any, counts: Any, kinds: Any, side: int) -> Any:
        """Sends what some rows make with those of the other side; returns how many matches each has."""
        other = self._sides[1 - side]
        rows = other.matching(numbers, int(counts.sum()))
        given: Any = np.repeat(np.arange(len(batch)), counts)
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

    def _matching(self, batch: ColumnBatch, given: Any, rows: Any, side: int) -> Any:
        """Which pairs are matches; None if all are."""
        is_match = self._sides[1 - side].is_live(rows, self._now_ms)
        if self._condition is None or not len(rows):
            return is_match
        own = [batch.data.column(index).take(pa.array(given)) for index in self._used[side]]
        others = self._sides[1 - side].take(rows, self._used[1 - side])
        pairs = [*own, *others] if side == 0 else [*others, *own]
        fields = [str(number) for number in range(len(pairs))]
        # A condition on no column at all still has a value for each pair.
        data = pa.RecordBatch.from_arrays(pairs, fields) if pairs else pa.record_batch([pa.nulls(len(rows))], [""])
        mask = self._condition(data)
        if isinstance(mask, pa.Scalar):
            fulfils: Any = np.full(len(rows), bool(mask.as_py()))
        else:
            fulfils = mask.fill_null(False).to_numpy(zero_copy_only=False)
        return fulfils if is_match is None else fulfils & is_match

    def _send_half(self, batch: ColumnBatch, counts: Any, rows: Any, kinds: Any, side: int) -> None:
        is_anti = self._join.kind == "anti"
        if side == 0:
            sent = np.flatnonzero((counts == 0) == is_anti)
            if len(sent):
                self._emit(batch.data.take(pa.array(sent)).columns, kinds[sent])
            return
        left = self._sides[0]
        sent_kinds: Any = np.empty(len(rows), np.uint8)
        sent_rows: Any = np.empty(len(rows), np.int64)
        arguments = kinds, _offsets(counts), rows, len(kinds), int(is_anti), left.matches, sent_kinds, sent_rows
        total = send_left.run(len(rows), *arguments)
        left.touch(rows, self._now_ms)
        if total:
            self._emit(left.take(sent_rows[:total]), sent_kinds[:total])

    def _send_outer(self, batch: ColumnBatch, counts: Any, rows: Any, kinds: Any, side: int) -> None:
        other = self._sides[1 - side]
        most = len(batch) + 2 * len(rows)
        sent_kinds: Any = np.empty(most, np.uint8)
        sent_given: Any = np.empty(most, np.int64)
        sent_rows: Any = np.empty(most, np.int64)
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

    def _send(self, batch: ColumnBatch, given: Any, rows: Any, kinds: Any, side: int) -> None:
        """Sends pairs of rows of a batch and of the other side; below 0 there is none."""
        missing = given < 0
        own = batch.data.take(pa.array(given, mask=missing) if missing.any() else pa.array(given)).columns
        others = self._sides[1 - side].take(rows)
        self._emit([*own, *others] if side == 0 else [*others, *own], kinds)

    def _emit(self, columns: list[Any], kinds: Any) -> None:
        data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, None, kinds.view(np.int8) if kinds.any() else None))

    @property
    def _now_ms(self) -> int:
        return self._clock.now_ms() if any(self._ttls) else 0

    def end_epoch(self) -> None:
        """Forgets what has expired, and makes room where many rows are gone."""
        ttls = [each for each in self._ttls if each]
        if ttls and self._now_ms >= self._next_expiry_ms:
            for each in self._sides:
                each.expire(self._now_ms)
            self._next_expiry_ms = self._now_ms + min(ttls) // 4
        gone = sum(each.gone for each in self._sides)
        if gone > _FEW_ROWS and gone > sum(map(len, self._sides)):
            self._pack()

    def _pack(self) -> None:
        kept = [each.live_rows() for each in self._sides]
        self._clear()
        for side, (data, matches, times) in enumerate(kept):
            self._put(side, data, matches, times)

    def _put(self, side: int, data: Any, matches: Any, times: Any) -> None:
        numbers = self._numbers.numbers([data.column(key) for key in self._keys[side]], data.num_rows)
        self._sides[side].put(data, numbers, matches, times)

    # Snapshots

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        """The rows of both sides, with their matches where these count."""
        for side, own in enumerate(self._sides):
            data, matches, times = own.live_rows()
            buffer = self._buffer(side)
            if self._counts_matches[side]:
                data = pa.RecordBatch.from_arrays([*data.columns, pa.array(matches)], schema=self._kept_schema(side))
            buffer.add(ColumnBatch(data, times))
            yield from buffer.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        for side in range(2):
            buffer = self._buffer(side)
            buffer.restore(every)
            rows = buffer.all()
            if rows is None:
                continue
            data = rows.data
            matches: Any = np.zeros(len(rows), np.int64)
            if self._counts_matches[side]:
                *columns, counted = data.columns
                data = pa.RecordBatch.from_arrays(columns, schema=self._schemas[side])
                matches = counted.to_numpy().astype(np.int64)
            times = rows.timestamps
            if times is None and self._ttls[side]:
                times = np.full(len(rows), self._now_ms, np.int64)
            self._put(side, data, matches, times)

    def _kept_schema(self, side: int) -> Any:
        schema = self._schemas[side]
        return schema.append(pa.field("$matches", pa.int64())) if self._counts_matches[side] else schema

    def _buffer(self, side: int) -> RowBuffer:
        source = self._join.inputs[side]
        key_types = [to_type_info(source.columns[key].type) for key in self._keys[side]]
        return RowBuffer(_NAMES[side], self._keys[side], key_types, self._kept_schema(side))


def _slices(counts: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows with a bounded number of pairs; a single row may have more."""
    if counts.sum() <= _MOST_PAIRS:
        yield 0, len(counts)
        return
    total = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = 0 if begin == 0 else int(total[begin - 1])
        end = max(begin + 1, int(np.searchsorted(total, done + _MOST_PAIRS, "right")))
        yield begin, end
        begin = end


def _offsets(counts: Any) -> Any:
    offsets: Any = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
