"""Hands records to Kafka's client: what a record is, who makes it of elements, and the producer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.failures import client_logger, explain
from funke.engine.connectors.sink import WriterContext
from funke.engine.errors import SinkError

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["OutputRecords", "RecordProducer", "RecordWriter"]

_ROOM_S = 0.1
_FLUSH_S = 1.0


class OutputRecords(NamedTuple):
    """Records to be written, by their parts: lists of the same length, None for what no record has.

    Not a record after the other: that takes twice the time to make, and more to stage.
    """

    # One for all, or one for each.
    topic: str | Sequence[str]
    values: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None = None
    # Where there is none, -1: then the key or chance decides.
    partitions: Sequence[int] | None = None
    # Where there is none, 0.
    timestamps: Sequence[int] | None = None
    headers: Sequence[Any] | None = None

    @property
    def topics(self) -> Iterable[str]:
        """The topic of each."""
        return repeat(self.topic, len(self.values)) if isinstance(self.topic, str) else self.topic


class RecordWriter(ABC):
    """Turns elements into records; is pickled into slots."""

    # Whether it takes batches of columns as well.
    takes_columns: bool = False

    def open(self, context: WriterContext) -> None:
        """Called once in the slot."""

    @abstractmethod
    def records(self, values: list[Any], timestamps: list[int] | None) -> OutputRecords:
        """The records of elements, in order."""

    def records_of(self, batch: ColumnBatch) -> OutputRecords:
        """The records of columns."""
        raise NotImplementedError


class RecordProducer:
    """A Kafka producer whose failures are raised by the next call."""

    def __init__(self, properties: ClientProperties, **own: Any) -> None:
        from confluent_kafka import Producer

        self._properties = properties
        self._failure: SinkError | None = None
        # Whether brokers have been unreachable since the last check.
        self._has_lost_brokers = False
        # What was last said about that.
        self._lost: Any = None
        own |= {"on_delivery": self._on_delivery, "delivery.report.only.error": True, "error_cb": self._on_error}
        self.client = Producer(properties.producer(**own), logger=client_logger())

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and error.name() not in ("_PURGE_QUEUE", "_PURGE_INFLIGHT"):
            is_late_for_want_of_brokers = error.name() == "_MSG_TIMED_OUT" and self._lost is not None
            self._fail(self._lost if is_late_for_want_of_brokers else error, f"topic '{message.topic()}'")

    def _on_error(self, error: Any) -> None:
        if error.name() in ("_TRANSPORT", "_ALL_BROKERS_DOWN"):
            self._has_lost_brokers, self._lost = True, error
        if error.fatal() or error.name() in ("_AUTHENTICATION", "_SSL"):
            self._fail(error, "")

    def _fail(self, error: Any, about: str) -> None:
        self._failure = self._failure or SinkError(explain(error, self._properties, about))

    def send(self, records: OutputRecords) -> None:
        """Hands records to the client, as soon as it has room for them."""
        produce = self.client.produce
        keys = repeat(None) if records.keys is None else records.keys
        partitions = repeat(-1) if records.partitions is None else records.partitions
        timestamps = repeat(0) if records.timestamps is None else records.timestamps
        parts = zip(records.topics, records.values, keys, partitions, timestamps)
        if records.headers is not None:
            for (topic, value, key, partition, timestamp), headers in zip(parts, records.headers):
                self._insist(topic, value, key, partition, timestamp=timestamp, headers=headers or [])
        else:
            for topic, value, key, partition, timestamp in parts:
                try:
                    produce(topic, value, key, partition, timestamp=timestamp)
                except BufferError:
                    self._insist(topic, value, key, partition, timestamp=timestamp)
        self.client.poll(0)
        self.check()

    def _insist(self, *record: Any, **more: Any) -> None:
        while True:
            try:
                self.client.produce(*record, **more)
                return
            except BufferError:
                self.client.poll(_ROOM_S)
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
