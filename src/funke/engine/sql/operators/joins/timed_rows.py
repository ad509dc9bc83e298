"""The state of joins whose rows are forgotten by times of their own, in the memory of the slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.operators.joins.join_rows import JoinInput, JoinRows
from funke.engine.sql.operators.windows.over.row_logs import RowLogs
from funke.engine.sql.state.rows.packed_rows import PackedRows
from funke.engine.sql.state.timed_side import TimedSide
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.keys.key_groups import KeyGroups

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["TimedInput", "TimedRows"]

_HAS_MATCH = pa.field("$has_match", pa.bool_())


class TimedInput(JoinInput):
    """Rows know whether they have a match, not how many."""

    def create_side(self) -> TimedSide:
        return TimedSide(self.spec)

    @property
    def kept_schema(self) -> pa.Schema:
        schema = self.spec.schema
        return schema.append(_HAS_MATCH) if self.counts_matches else schema

    def kept(self, data: pa.RecordBatch, matches: Array) -> pa.RecordBatch:
        if not self.counts_matches:
            return data
        # One bit is enough: the inputs of an interval join only insert, so no row loses a match.
        return pa.RecordBatch.from_arrays([*data.columns, pa.array(matches > 0)], schema=self.kept_schema)

    def unpacked(self, packed: PackedRows, values: Sequence[bytes], now_ms: int) -> tuple[pa.RecordBatch, Array, Array]:
        rows, counts = packed.unpack(values)
        *columns, times = rows.columns
        return pa.RecordBatch.from_arrays(columns, schema=self.kept_schema), times.to_numpy(), counts

    def split(self, kept: pa.RecordBatch) -> tuple[pa.RecordBatch, Array]:
        if not self.counts_matches:
            return kept, np.zeros(kept.num_rows, np.int64)
        *columns, has_match = kept.columns
        data = pa.RecordBatch.from_arrays(columns, schema=self.spec.schema)
        return data, has_match.to_numpy(zero_copy_only=False).astype(np.int64)


class TimedRows(JoinRows):
    """All rows stand in memory; beside them there may be rows that only wait."""

    def __init__(self, inputs: Sequence[TimedInput], key_groups: KeyGroups) -> None:
        self.logs = RowLogs(key_groups, None)
        super().__init__(inputs, key_groups)

    def _clear(self) -> None:
        super()._clear()
        self.timed_sides: list[TimedSide] = []
        for each in self.sides:
            assert isinstance(each, TimedSide)
            self.timed_sides.append(each)

    def earliest(self, side: int) -> int | None:
        """A time that no row of a side is before; None without rows."""
        return self.timed_sides[side].earliest

    def load_expired(self, last_ms: Sequence[int]) -> Iterator[Sequence[int]]:
        """Makes sure that the rows until a time of each side are in memory: step by step, each with such times."""
        yield last_ms

    def marks(self) -> dict[str, list[Any]]:
        return super().marks() | self.logs.marks()

    def restore_marks(self, marks: Mapping[str, Sequence[Any]]) -> None:
        self.logs.restore_marks(marks)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_parts()
        yield from self.logs.snapshot_parts()

    def restore(self, parts: Iterable[tuple[int, GroupPart]], now_ms: int) -> None:
        super().restore(self._without_logs(parts), now_ms)

    def _without_logs(self, parts: Iterable[tuple[int, GroupPart]]) -> Iterator[tuple[int, GroupPart]]:
        for each in parts:
            self.logs.restore([each])
            yield each
