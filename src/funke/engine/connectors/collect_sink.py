"""The sink behind `execute_and_collect()`: records go to the driver as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = ["CollectSink"]


@dataclass(frozen=True)
class CollectSink(Sink):
    """Sends lists of records to the driver on the channel `collect:<name>`."""

    name: str

    @property
    def channel(self) -> str:
        """The channel the records arrive on."""
        return f"collect:{self.name}"

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _CollectWriter(context, self.channel)


class _CollectWriter(SinkWriter):
    def __init__(self, context: WriterContext, channel: str) -> None:
        self._send = context.send_to_driver
        self._channel = channel

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        if values:
            self._send(self._channel, values)
