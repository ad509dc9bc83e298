"""The sink that keeps nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = ["DiscardSink"]


@dataclass(frozen=True)
class DiscardSink(Sink):
    """Takes records and forgets them."""

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _DiscardWriter()


class _DiscardWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Does nothing."""
