"""The state of a join: the rows of its inputs, which share the numbers of keys, in the memory of the slot."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.kernels.join_rows import KEEP_ALL
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.state.join_side import JoinSide, SideSpec
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.sql.state.rows.native_rows import packed_by_key
from funke.engine.sql.state.rows.packed_rows import PackedRows
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.logical.data_type import DataType

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["JoinInput", "JoinRows"]

# Fewer rows that are gone are not worth packing.
_FEW_ROWS = 1 << 12
_MATCHES = pa.field("$matches", pa.int64())
_TIME = pa.field("$time", pa.int64())


@dataclass(frozen=True)
class JoinInput:
    """What is kept of an input."""

    # What snapshots know its rows by.
    name: str
    spec: SideSpec
    # Of the columns of the key.
    key_types: tuple[DataType, ...]
    # Whether rows know how many matches they have.
    counts_matches: bool
    # Whether a batch of this input looks at the rows that the input has already.
    meets_itself: bool = False

    def create_side(self) -> JoinSide:
        """Its rows in memory."""
        return JoinSide(self.spec, self.counts_matches)

    @property
    def loads_itself(self) -> bool:
        """Whether a batch needs the rows of its keys that the input has already: to find, replace or count them."""
        return self.meets_itself or self.spec.way != KEEP_ALL

    @property
    def kept_schema(self) -> pa.Schema:
        """The columns of its rows, and their matches where these count."""
        schema = self.spec.schema
        return schema.append(_MATCHES) if self.counts_matches else schema

    @property
    def packed(self) -> PackedRows:
        """How a key's rows stand in a backend."""
        return PackedRows(self.packed_schema)

    @property
    def packed_schema(self) -> pa.Schema:
        """The columns of packed rows: with their matches, and the times at which they were written."""
        return self.kept_schema.append(_TIME)

    @property
    def table(self) -> str:
        """The name of the state that has an entry for each key."""
        return packed_by_key(self.name)

    def kept(self, data: pa.RecordBatch, matches: Array) -> pa.RecordBatch:
        """Rows with their matches."""
        if not self.counts_matches:
            return data
        return pa.RecordBatch.from_arrays([*data.columns, pa.array(matches, pa.int64())], schema=self.kept_schema)

    def unpacked(self, packed: PackedRows, values: Sequence[bytes], now_ms: int) -> tuple[pa.RecordBatch, Array, Array]:
        """The rows of entries with their matches, their times, and how many rows each entry has."""
        rows, counts = packed.unpack(values)
        *columns, times = rows.columns
        written = times.to_numpy()
        # Rows that were kept without a time to live have no time: they begin to live now.
        alive = np.where(written == 0, now_ms, written)
        return pa.RecordBatch.from_arrays(columns, schema=self.kept_schema), alive, counts

    def split(self, kept: pa.RecordBatch) -> tuple[pa.RecordBatch, Array]:
        """Rows, and their matches."""
        if not self.counts_matches:
            return kept, np.zeros(kept.num_rows, np.int64)
        *columns, matches = kept.columns
        return pa.RecordBatch.from_arrays(columns, schema=self.spec.schema), matches.to_numpy().astype(np.int64)


class JoinRows:
    """All rows stand in memory; snapshots have them by key group, as columns."""

    def __init__(self, inputs: Sequence[JoinInput], key_groups: KeyGroups) -> None:
        self.inputs = inputs
        self._key_groups = key_groups
        self.next_expiry_ms = 0
        self._clear()

    def _clear(self) -> None:
        spec = self.inputs[0].spec
        self._numbers = KeyNumbers([spec.schema.types[key] for key in spec.keys], spec.equal_nulls)
        self.sides = [each.create_side() for each in self.inputs]

    def numbers(self, side: int, data: pa.RecordBatch, now_ms: int) -> Array:
        """The numbers of the keys of a batch, whose rows in all inputs are looked at or changed next."""
        return self._numbers.numbers([data.column(key) for key in self.inputs[side].spec.keys], data.num_rows)

    def changed(self, side: int, numbers: Array) -> None:
        """Rows of these keys have changed."""

    def state_bytes(self, side: int) -> int:
        """About how large the rows of an input are."""
        return self.sides[side].memory_bytes

    def end_batch(self) -> None:
        """A batch is done."""

    def end_epoch(self, now_ms: int) -> None:
        """Forgets what has expired, and makes room where many rows are gone."""
        ttls = [each.spec.ttl_ms for each in self.inputs if each.spec.ttl_ms]
        if ttls and now_ms >= self.next_expiry_ms:
            for each in self.sides:
                each.expire(now_ms)
            self.next_expiry_ms = now_ms + min(ttls) // 4
        live = sum(map(len, self.sides))
        # Rows that meet others without being kept have left numbers, too.
        spare = max(sum(each.gone for each in self.sides), len(self._numbers) - live)
        if spare > _FEW_ROWS and spare > live:
            self._pack()

    def _pack(self) -> None:
        kept = [each.live_rows() for each in self.sides]
        self._clear()
        for side, rows in enumerate(kept):
            self._put(side, *rows)

    def _put(self, side: int, data: pa.RecordBatch, matches: Array, times: Array | None) -> None:
        keys = [data.column(key) for key in self.inputs[side].spec.keys]
        self.sides[side].put(data, self._numbers.numbers(keys, data.num_rows), matches, times)

    # Snapshots

    def marks(self) -> dict[str, list[Any]]:
        """What all subtasks together have to know after a restart, or one who reads the files of a backend."""
        return {}

    def restore_marks(self, marks: Mapping[str, Sequence[Any]]) -> None:
        """Takes back what `marks` gave."""

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins."""

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        """The rows of all inputs by key group."""
        for own, side in zip(self.inputs, self.sides):
            data, matches, times = side.live_rows()
            buffer = self._buffer(own)
            buffer.add(ColumnBatch(own.kept(data, matches), times))
            yield from buffer.snapshot_parts(self._key_groups)

    def restore(self, parts: Iterable[tuple[int, GroupPart]], now_ms: int) -> None:
        """Takes back rows, some at a time: there may be more than memory holds."""
        for each in parts:
            for side, own in enumerate(self.inputs):
                buffer = self._buffer(own)
                buffer.restore([each])
                rows = buffer.all()
                if rows is not None:
                    times = np.full(len(rows), now_ms, np.int64) if rows.timestamps is None else rows.timestamps
                    self._put(side, *own.split(rows.data), times)
            self.end_batch()

    @staticmethod
    def _buffer(own: JoinInput) -> RowBuffer:
        return RowBuffer(own.name, own.spec.keys, [to_type_info(each) for each in own.key_types], own.kept_schema)

    def native_files(self) -> tuple[LocalFile, ...]:
        """Files that hold the state; none."""
        return ()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        """Takes back key groups from such files."""
        raise NotImplementedError("the rows of a join in memory have no files")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint is complete."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """A checkpoint was given up."""

    def close(self) -> None:
        """The end of the subtask."""
