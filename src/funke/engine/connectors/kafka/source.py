"""Reads topics of Kafka: which partitions, from where, until where, and what their records become."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.kafka.client_properties import ClientProperties, is_true
from funke.engine.connectors.kafka.offsets import Offsets
from funke.engine.connectors.kafka.subscription import Subscription
from funke.engine.connectors.source import Source, SplitEnumerator, SplitReader

if TYPE_CHECKING:
    from funke.engine.connectors.kafka.records import RecordReader
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["KafkaSource"]

_DISCOVERY_MS = 300_000


@dataclass(frozen=True)
class KafkaSource(Source):
    """What to read, as a value; connections are made by the enumerator and the readers."""

    properties: ClientProperties
    subscription: Subscription
    records: RecordReader
    starting: Offsets = field(default_factory=lambda: Offsets("earliest"))
    stopping: Offsets | None = None
    is_bounded: bool = False
    # A source of tables has its type from the table.
    produced_type: TypeInformation | None = None
    fixed_parallelism: int | None = None

    @property
    def commits_offsets(self) -> bool:
        """Whether the group's offsets are committed when a checkpoint is complete."""
        is_wanted = is_true(self.properties.get("commit.offsets.on.checkpoint", "true"))
        return is_wanted and self.properties.get("group.id") is not None

    @property
    def discovery_ms(self) -> int | None:
        """How often new partitions are looked for; None for never."""
        interval_text = self.properties.get("partition.discovery.interval.ms")
        interval_ms = _DISCOVERY_MS if interval_text is None else int(interval_text)
        return None if self.is_bounded or interval_ms <= 0 else interval_ms

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        """Finds the partitions and asks where they begin and end."""
        from funke.engine.connectors.kafka.enumerator import KafkaEnumerator

        return KafkaEnumerator(self, restored)

    def create_reader(self) -> SplitReader:
        """The reader, which connects in the slot."""
        from funke.engine.connectors.kafka.reader import KafkaSplitReader

        return KafkaSplitReader(self)
