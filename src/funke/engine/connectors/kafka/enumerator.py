"""Finds the partitions to read, at the start and while the job runs, and hands out each of them once."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.connectors.kafka.offsets import Offsets, OffsetsAsker, Partition
from funke.engine.connectors.source import ReadOutcome, Split, SplitEnumerator
from funke.engine.errors import SourceError

if TYPE_CHECKING:
    from funke.engine.connectors.kafka.source import KafkaSource

__all__ = ["KafkaEnumerator", "PartitionRange", "partition_split"]


@dataclass(frozen=True)
class PartitionRange:
    """What of a partition is to be read: from an offset on, up to another one if there is one."""

    partition: Partition
    start: int
    stop: int | None = None
    # Of a first message with several elements: how many were read before.
    skip: int = 0


@dataclass(frozen=True)
class KnownPartitions:
    """Where a source stands: the discovered partitions, and those not assigned yet."""

    known: frozenset[Partition]
    waiting: tuple[PartitionRange, ...] = ()
    # Those that were read to their end, and where that is.
    ended: tuple[tuple[Partition, int], ...] = ()


def partition_split(part: PartitionRange) -> Split:
    """The split of a partition; its id is the same whatever is left of it."""
    where = part.partition
    return Split(f"{where.topic}-{where.number}", part, is_last=part.stop is not None, is_endless=part.stop is None)


class KafkaEnumerator(SplitEnumerator):
    """Lives in the driver; while the job runs, a thread looks for new partitions."""

    def __init__(self, source: KafkaSource, restored: KnownPartitions | None = None) -> None:
        self._source = source
        self._asker = OffsetsAsker(source.properties)
        self._lock = threading.Lock()
        self._partitions: set[Partition] = set() if restored is None else set(restored.known)
        self._waiting: list[PartitionRange] = [] if restored is None else list(restored.waiting)
        self._ended: dict[Partition, int] = {} if restored is None else dict(restored.ended)
        # Whether all partitions have been read to their end, by checkpoint that has begun.
        self._noted: dict[int, bool] = {}
        if restored is None or source.discovery_ms is not None:
            self._add(self._find(), source.starting if restored is None else Offsets("earliest"))
        self._closed = threading.Event()
        if source.discovery_ms is not None:
            threading.Thread(target=self._discover, name="funke-kafka-discovery", daemon=True).start()

    def _find(self) -> list[Partition]:
        subscription = self._source.subscription
        if subscription.partitions:
            there = set(self._asker.partitions_of_topics(sorted({each.topic for each in subscription.partitions})))
            missing = [each for each in subscription.partitions if each not in there]
            if missing:
                servers = self._source.properties.get("bootstrap.servers")
                raise SourceError(f"Kafka at '{servers}' does not have {', '.join(map(str, missing))}")
            return list(subscription.partitions)
        if subscription.pattern is not None:
            by_topic = self._asker.partitions_of(subscription.filter())
            return [partition for partitions in by_topic.values() for partition in partitions]
        return self._asker.partitions_of_topics(subscription.topics)

    def _add(self, partitions: list[Partition], starting: Offsets) -> None:
        new = [each for each in partitions if each not in self._partitions]
        starts = self._asker.resolve(starting, new)
        stops = {} if self._source.stopping is None else self._asker.resolve(self._source.stopping, new)
        ranges = [PartitionRange(each, starts[each], stops.get(each)) for each in new]
        with self._lock:
            self._partitions.update(new)
            for part in ranges:
                if part.stop is None or part.start < part.stop:
                    self._waiting.append(part)
                else:
                    self._ended[part.partition] = part.start

    def _discover(self) -> None:
        assert self._source.discovery_ms is not None
        while not self._closed.wait(self._source.discovery_ms / 1000):
            # The brokers may be away for a while: the next look is for that.
            with contextlib.suppress(SourceError):
                partitions = self._find()
                if any(each not in self._partitions for each in partitions):
                    # As in Flink: what came into being while the job runs is read from its beginning.
                    self._add(partitions, Offsets("earliest"))
                    self.wake()

    def poll(self, max_records: int) -> list[Split]:
        """Assign the partitions that no reader has."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return [partition_split(part) for part in waiting]

    @property
    def is_finished(self) -> bool:
        """True when no partition will come any more."""
        return self._source.discovery_ms is None and not self._waiting

    def next_poll_ms(self) -> int:
        """New partitions are assigned without a request of the readers."""
        return 1_000

    def report(self, outcome: ReadOutcome) -> None:
        """A partition was read to its end."""
        part: PartitionRange = outcome.split.payload
        if part.stop is not None:
            self._ended[part.partition] = part.stop

    def note(self, checkpoint_id: int) -> None:
        """Keeps in mind whether this checkpoint is behind the end of everything."""
        self._noted[checkpoint_id] = self.is_finished and self._ended.keys() == self._partitions

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the group where partitions end when all have: readers tell it what they read, but end with them."""
        is_behind_all = self._noted.get(checkpoint_id, False)
        self._noted = {number: noted for number, noted in self._noted.items() if number > checkpoint_id}
        if is_behind_all and self._ended and self._source.commits_offsets:
            self._asker.commit(self._ended)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """That checkpoint does not count."""
        self._noted.pop(checkpoint_id, None)

    def snapshot(self) -> KnownPartitions:
        """Which partitions are known, which of them were not handed out, and which have ended."""
        with self._lock:
            return KnownPartitions(frozenset(self._partitions), tuple(self._waiting), tuple(self._ended.items()))

    def close(self) -> None:
        """Stop looking for partitions."""
        self._closed.set()
