"""The sink behind `execute_and_collect()`: records go to the driver as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.types.driver_messages import CollectedRecords

__all__ = ["CollectSink"]


@dataclass(frozen=True)
class CollectSink(Sink):
    """Sends lists of records to the driver, where they are read by the sink's name."""

    name: str

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _CollectWriter(context, self.name)


class _CollectWriter(SinkWriter):
    def __init__(self, context: WriterContext, name: str) -> None:
        self._send = context.send_to_driver
        self._name = name

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        if values:
            self._send(CollectedRecords(self._name, values))
