"""Writes records to Kafka: at most once, at least once, or exactly once in transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.last_rows import HoldingBack, LastRowsWriter
from funke.engine.connectors.kafka.producing import RecordProducer, RecordWriter
from funke.engine.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from funke.engine.errors import ConfigurationError

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["Guarantee", "KafkaSink"]

Guarantee = Literal["none", "at-least-once", "exactly-once"]


@dataclass(frozen=True)
class KafkaSink(Sink):
    """What to write, where, and how sure that has to be."""

    properties: ClientProperties
    records: RecordWriter
    guarantee: Guarantee = "none"
    transactional_id_prefix: str | None = None
    # For tables: of rows with the same key the last one is enough.
    holding_back: HoldingBack | None = None

    def __post_init__(self) -> None:
        """Rejects what could not be exactly once."""
        if self.guarantee == "exactly-once" and not self.transactional_id_prefix:
            raise ConfigurationError(
                "EXACTLY_ONCE delivery guarantee requires a transactionalIdPrefix to be set to provide unique "
                "transaction names across multiple KafkaSinks writing to the same Kafka cluster; "
                "call set_transactional_id_prefix()"
            )

    @property
    def takes_columns(self) -> bool:  # type: ignore[override]
        """Whether its writers take columns."""
        return self.records.takes_columns

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Connects."""
        from funke.engine.connectors.kafka.transactions import StagingWriter, TransactionWriter

        self.records.open(context)
        writer: SinkWriter
        if self.guarantee != "exactly-once":
            writer = _PlainWriter(self, context)
        else:
            writer = StagingWriter(self, context) if context.has_epochs else TransactionWriter(self, context)
        return writer if self.holding_back is None else LastRowsWriter(writer, self.holding_back, context)

    def create_committer(self) -> Committer | None:
        """What sees to it that transactions are committed."""
        from funke.engine.connectors.kafka.transactions import TransactionCommitter

        return TransactionCommitter(self) if self.guarantee == "exactly-once" else None


class _PlainWriter(SinkWriter):
    """Sends records as they come."""

    def __init__(self, sink: KafkaSink, context: WriterContext) -> None:
        self._records = sink.records
        self._is_sure = sink.guarantee != "none"
        self._producer = RecordProducer(sink.properties)

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._producer.send(self._records.records(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        self._producer.send(self._records.records_of(batch))

    def flush(self, end_of_input: bool) -> None:
        """The client sends by itself; at the end everything must have arrived."""
        if end_of_input:
            self._producer.flush()
        else:
            self._producer.client.poll(0)
            self._producer.check()

    def prepare_commit(self) -> list[Any]:
        """A checkpoint is complete only when what was written before it has arrived."""
        if self._is_sure:
            self._producer.flush()
        return []

    def close(self) -> None:
        self._producer.close()
