"""Rows that Spark has read, on their way to a source subtask: Arrow batches in frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from funke.engine.runtime.blocks.frames import ROWS, Frame

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_batches", "row_frames"]


def row_frames(slot: int, batches: Iterator[pa.RecordBatch]) -> Iterator[Frame]:
    """A frame for each batch."""
    import pyarrow as pa

    for batch in batches:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)
        yield Frame(slot, ROWS, 0, out.getvalue().to_pybytes())


def arrow_batches(frames: Iterator[Frame]) -> Iterator[pa.RecordBatch]:
    """The batches that frames hold."""
    import pyarrow as pa

    for frame in frames:
        yield from pa.ipc.open_stream(frame.payload)
