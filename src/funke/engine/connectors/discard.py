"""The sink that keeps nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["DiscardSink"]


@dataclass(frozen=True)
class DiscardSink(Sink):
    """Takes records and forgets them."""

    takes_columns = True

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _DiscardWriter()


class _DiscardWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Does nothing."""

    def write_columns(self, batch: ColumnBatch) -> None:
        """Does nothing."""
