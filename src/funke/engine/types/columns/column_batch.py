"""A batch in the form of columns: what operators for tables work on.

Nothing here loads Arrow: a slot whose job has no columns does without it, which saves it a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["ColumnBatch"]


@dataclass(frozen=True, eq=False)
class ColumnBatch:
    """An Arrow record batch; each of its rows may have an event time and a kind.

    `timestamps` are milliseconds (int64), None when the rows have none. `kinds` are the values of RowKind (int8), None
    when all rows are inserts. Batches are never changed, so receivers may share them.
    """

    data: pa.RecordBatch
    timestamps: np.ndarray[Any, Any] | None = None
    kinds: np.ndarray[Any, Any] | None = None

    def __post_init__(self) -> None:
        if self.timestamps is None and self.kinds is None:
            return
        for name, beside in (("timestamps", self.timestamps), ("kinds", self.kinds)):
            if beside is not None and len(beside) != len(self):
                raise ValueError(f"{len(beside)} {name} for {len(self)} rows")

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def slice(self, start: int, length: int | None = None) -> ColumnBatch:
        """Return some rows that follow each other, without copying them."""
        end = None if length is None else start + length
        return ColumnBatch(self.data.slice(start, length), *self._beside(slice(start, end)))

    def take(self, positions: Any) -> ColumnBatch:
        """Return the rows at some positions (an array of integers), in that order."""
        return ColumnBatch(self.data.take(positions), *self._beside(positions))

    def filter(self, mask: Any) -> ColumnBatch:
        """Return the rows where a mask (an Arrow array of booleans, without nulls) is true."""
        data = self.data.filter(mask)
        if self.timestamps is None and self.kinds is None:
            return ColumnBatch(data)
        return ColumnBatch(data, *self._beside(mask.to_numpy(zero_copy_only=False)))

    def with_data(self, data: pa.RecordBatch) -> ColumnBatch:
        """Return other columns for the same rows."""
        return ColumnBatch(data, self.timestamps, self.kinds)

    def with_timestamps(self, timestamps: Any) -> ColumnBatch:
        """Return the same rows with other event times."""
        return ColumnBatch(self.data, timestamps, self.kinds)

    def _beside(self, choice: Any) -> tuple[Any, Any]:
        return (
            None if self.timestamps is None else self.timestamps[choice],
            None if self.kinds is None else self.kinds[choice],
        )

    def is_alike(self, other: ColumnBatch) -> bool:
        """Whether the rows of both can stand in one batch."""
        has_stamps = (self.timestamps is None) == (other.timestamps is None)
        return has_stamps and bool(self.data.schema.equals(other.data.schema))

    @staticmethod
    def concat(batches: Sequence[ColumnBatch]) -> ColumnBatch:
        """Return the rows of several batches with the same columns; all of them have event times, or none has."""
        if len(batches) == 1:
            return batches[0]
        import numpy as np
        import pyarrow as pa

        timestamps = kinds = None
        if batches[0].timestamps is not None:
            timestamps = np.concatenate([batch.timestamps for batch in batches])
        if any(batch.kinds is not None for batch in batches):
            kinds = np.concatenate([_kinds_of(batch) for batch in batches])
        return ColumnBatch(pa.concat_batches([batch.data for batch in batches]), timestamps, kinds)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels as an Arrow message: pickling arrays would take along what lies outside of a slice."""
        schema = bytes(self.data.schema.serialize())
        if _has_dictionaries(schema):
            return _from_stream, (_to_stream(self.data), self.timestamps, self.kinds)
        return _from_message, (schema, self.data.serialize(), self.timestamps, self.kinds)


def _kinds_of(batch: ColumnBatch) -> Any:
    import numpy as np

    return np.zeros(len(batch), np.int8) if batch.kinds is None else batch.kinds


# A stream has few schemas: 0.7 instead of 10 µs for each block.
@lru_cache(maxsize=256)
def _schema(data: bytes) -> pa.Schema:
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(data))


def _from_message(schema: bytes, message: Any, timestamps: Any, kinds: Any) -> ColumnBatch:
    import pyarrow as pa

    return ColumnBatch(pa.ipc.read_record_batch(message, _schema(schema)), timestamps, kinds)


@lru_cache(maxsize=256)
def _has_dictionaries(schema: bytes) -> bool:
    """Whether any values are numbers of entries in a dictionary, which is a message of its own."""
    return "dictionary<" in str(_schema(schema).types)


def _to_stream(data: pa.RecordBatch) -> Any:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as stream:
        stream.write_batch(data)
    return sink.getvalue()


def _from_stream(stream: Any, timestamps: Any, kinds: Any) -> ColumnBatch:
    import pyarrow as pa

    return ColumnBatch(pa.ipc.open_stream(stream).read_next_batch(), timestamps, kinds)
