"""Hands records to Kafka's client: what a record is, who makes it of elements, and the producer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.failures import client_logger, explain
from funke.engine.connectors.sink import WriterContext
from funke.engine.errors import SinkError

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["OutputRecord", "RecordProducer", "RecordWriter"]

_ROOM_S = 0.1
_FLUSH_S = 1.0


class OutputRecord(NamedTuple):
    """A record to be written; without a partition, the key or chance decides."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Any = None


class RecordWriter(ABC):
    """Turns elements into records; is pickled into slots."""

    # Whether it takes batches of columns as well.
    takes_columns: bool = False

    def open(self, context: WriterContext) -> None:
        """Called once in the slot."""

    @abstractmethod
    def records(self, values: list[Any], timestamps: list[int] | None) -> list[OutputRecord]:
        """The records of elements, in order."""

    def records_of(self, batch: ColumnBatch) -> list[OutputRecord]:
        """The records of columns."""
        raise NotImplementedError


class RecordProducer:
    """A producer of the client's, whose failures are raised by the next call."""

    def __init__(self, properties: ClientProperties, **own: Any) -> None:
        from confluent_kafka import Producer

        self._properties = properties
        self._failure: SinkError | None = None
        own |= {"on_delivery": self._on_delivery, "delivery.report.only.error": True, "error_cb": self._on_error}
        self.client = Producer(properties.producer(**own), logger=client_logger())

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and error.name() not in ("_PURGE_QUEUE", "_PURGE_INFLIGHT"):
            self._fail(error, f"topic '{message.topic()}'")

    def _on_error(self, error: Any) -> None:
        if error.fatal() or error.name() in ("_AUTHENTICATION", "_SSL"):
            self._fail(error, "")

    def _fail(self, error: Any, about: str) -> None:
        self._failure = self._failure or SinkError(explain(error, self._properties, about))

    def send(self, records: Iterable[OutputRecord]) -> None:
        """Hands records to the client, as soon as it has room for them."""
        produce = self.client.produce
        for record in records:
            topic, value, key, partition, timestamp, headers = record
            options: dict[str, Any] = {}
            if partition is not None:
                options["partition"] = partition
            if timestamp is not None:
                options["timestamp"] = timestamp
            if headers:
                options["headers"] = headers
            while True:
                try:
                    produce(topic, value, key, **options)
                    break
                except BufferError:
                    self.client.poll(_ROOM_S)
                    self.check()
        self.client.poll(0)
        self.check()

    def check(self) -> None:
        """Raises what has gone wrong."""
        if self._failure is not None:
            raise self._failure

    def flush(self) -> None:
        """Waits until all records have arrived; the client itself gives up after `delivery.timeout.ms`."""
        while self.client.flush(_FLUSH_S):
            self.check()
        self.check()

    def close(self) -> None:
        """Drops what has not been sent."""
        self.client.purge()
        self.client.flush(_ROOM_S)
