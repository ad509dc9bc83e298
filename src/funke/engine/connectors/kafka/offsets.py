"""Where reading a partition starts and stops: earliest, latest, committed, by time, by number."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.failures import client_logger, explain
from funke.engine.errors import SourceError

__all__ = ["Offsets", "OffsetsAsker", "Partition"]

OffsetKind = Literal["earliest", "latest", "committed", "timestamp", "offsets"]
Reset = Literal["earliest", "latest", "none"]
T = TypeVar("T")
# How long Kafka may take to answer a question.
ANSWER_S = 60.0
_PAUSE_S, _LOOK_S = 0.1, 1.0
# Soon there is an answer: leaders and coordinators move, partitions were just made, transactions are being committed.
_UNSETTLED = {
    "NOT_LEADER_FOR_PARTITION",
    "LEADER_NOT_AVAILABLE",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "UNKNOWN_TOPIC_OR_PART",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "UNSTABLE_OFFSET_COMMIT",
}


@dataclass(frozen=True, order=True)
class Partition:
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"partition {self.number} of topic '{self.topic}'"


@dataclass(frozen=True)
class Offsets:
    """Flink's offsets initializer: `reset` is for partitions that it says nothing about."""

    kind: OffsetKind
    reset: Reset = "earliest"
    timestamp_ms: int = 0
    numbers: Mapping[Partition, int] = field(default_factory=dict)


class OffsetsAsker:
    """Asks Kafka for topics and offsets; one connection for all questions, made when the first is asked."""

    def __init__(self, properties: ClientProperties) -> None:
        self._properties = properties
        self._admin: Any = None
        # Two threads that call the client at once wait for each other.
        self._lock = threading.Lock()

    def _client(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            self._admin = AdminClient(self._properties.admin(error_cb=self._note), logger=client_logger())
        return self._admin

    def _note(self, error: Any) -> None:
        """A wrong password is not tried again."""
        if error.name() in ("_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED"):
            self._rejection = error

    _rejection: Any = None

    def _failure(self, error: Any, about: str = "") -> SourceError:
        return SourceError(explain(self._rejection or error, self._properties, about))

    def partitions_of(self, is_wanted: Callable[[str], bool]) -> dict[str, list[Partition]]:
        """The topics that are wanted, with their partitions."""
        topics = self._describe(None)
        return {name: topics[name] for name in sorted(topics) if is_wanted(name)}

    def partitions_of_topics(self, names: Iterable[str]) -> list[Partition]:
        """All partitions of some topics, which must be there."""
        partitions: list[Partition] = []
        for name in names:
            partitions += self._describe(name)[name]
        return partitions

    def _describe(self, topic: str | None) -> dict[str, list[Partition]]:
        described = self._metadata(() if topic is None else (topic,))
        for name, details in described.items():
            if topic is not None and details.error is not None:
                raise self._failure(details.error, f"topic '{name}'")
        return {name: [Partition(name, number) for number in sorted(d.partitions)] for name, d in described.items()}

    def _metadata(self, topics: tuple[str, ...]) -> dict[str, Any]:
        """Topic metadata from the brokers, polled in short steps, so that a rejected client fails early."""
        from confluent_kafka import KafkaException

        end = time.monotonic() + self._patience_s()
        while True:
            left_s = max(0.01, end - time.monotonic())
            try:
                with self._lock:
                    metadata: dict[str, Any] = self._client().list_topics(*topics, timeout=min(_LOOK_S, left_s)).topics
                return metadata
            except KafkaException as error:
                self._client().poll(0)
                is_silent = error.args[0].name() in ("_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN")
                if self._rejection is not None or not is_silent or time.monotonic() >= end:
                    raise self._failure(error, "") from None

    def _patience_s(self) -> float:
        timeout_text = self._properties.get("default.api.timeout.ms") or self._properties.get("request.timeout.ms")
        return int(timeout_text) / 1000 if timeout_text else ANSWER_S / 2

    def resolve(self, offsets: Offsets, partitions: list[Partition]) -> dict[Partition, int]:
        """The number that each partition has for the offsets, as things stand now."""
        if not partitions:
            return {}
        if offsets.kind == "earliest":
            return self._listed(partitions, "earliest")
        if offsets.kind == "latest":
            return self._listed(partitions, "latest")
        if offsets.kind == "timestamp":
            listed = self._listed(partitions, "timestamp", offsets.timestamp_ms)
            # Nothing is that new.
            late = [each for each in partitions if listed[each] < 0]
            return listed | self._listed(late, "latest") if late else listed
        numbers = dict(offsets.numbers) if offsets.kind == "offsets" else self._committed(partitions)
        missing = [each for each in partitions if each not in numbers]
        return {each: numbers[each] for each in partitions if each in numbers} | self._reset(offsets, missing)

    def _reset(self, offsets: Offsets, missing: list[Partition]) -> dict[Partition, int]:
        if not missing:
            return {}
        if offsets.reset == "none":
            names = ", ".join(map(str, missing))
            what = "the group has committed no offset" if offsets.kind == "committed" else "no offset is given"
            raise SourceError(
                f"{what} for {names}; choose what to do then: KafkaOffsetResetStrategy.EARLIEST, or for a table "
                "'properties.auto.offset.reset' = 'earliest'"
            )
        return self._listed(missing, offsets.reset)

    def _listed(self, partitions: list[Partition], kind: str, timestamp_ms: int = 0) -> dict[Partition, int]:
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        by_time = kind == "timestamp"
        spec = OffsetSpec.for_timestamp(timestamp_ms) if by_time else getattr(OffsetSpec, kind)()
        is_committed = (self._properties.get("isolation.level") or "").lower() == "read_committed"
        level = IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED
        asked = {TopicPartition(each.topic, each.number): spec for each in partitions}

        def ask() -> dict[Partition, int]:
            with self._lock:
                answers = self._client().list_offsets(asked, isolation_level=level, request_timeout=self._patience_s())
            return {
                Partition(partition.topic, partition.partition): answer.result(ANSWER_S).offset
                for partition, answer in answers.items()
            }

        return self._answered(ask, ", ".join(sorted({f"topic '{each.topic}'" for each in partitions})))

    def _answered(self, ask: Callable[[], T], about: str) -> T:
        """Repeats the request while the coordinator is being elected or is still loading."""
        from confluent_kafka import KafkaException

        end = time.monotonic() + self._patience_s()
        while True:
            try:
                return ask()
            except (KafkaException, TimeoutError) as error:
                is_settled = isinstance(error, TimeoutError) or error.args[0].name() not in _UNSETTLED
                if is_settled or time.monotonic() > end:
                    raise self._failure(error, about) from None
            time.sleep(_PAUSE_S)

    def _committed(self, partitions: list[Partition]) -> dict[Partition, int]:
        group = self._properties.get("group.id")
        if not group:
            raise SourceError("to start from committed offsets, 'group.id' is needed: call set_group_id()")
        marks = self.marks(group, partitions)
        return {each: offset for each, (offset, _) in marks.items()}

    def marks(self, group: str, partitions: list[Partition]) -> dict[Partition, tuple[int, str]]:
        """What a group has committed: offsets, each with a text; transactions that are being committed are awaited."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

        asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(each.topic, each.number) for each in partitions])]

        def ask() -> dict[Partition, tuple[int, str]]:
            client, seconds = self._client(), self._patience_s()
            answers = client.list_consumer_group_offsets(asked, require_stable=True, request_timeout=seconds)
            topic_partitions = answers[group].result(ANSWER_S).topic_partitions
            for partition in topic_partitions:
                # Not as if nothing were committed: a transaction may be about to be.
                if partition.error is not None:
                    raise KafkaException(partition.error)
            return {
                Partition(partition.topic, partition.partition): (partition.offset, partition.metadata or "")
                for partition in topic_partitions
                if partition.offset >= 0
            }

        return self._answered(ask, f"the group '{group}'")

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Tells the group how far it is; it does not hurt if that fails."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        group = self._properties.get("group.id")
        assert group is not None
        partitions = [TopicPartition(each.topic, each.number, offset) for each, offset in offsets.items()]
        asked = [ConsumerGroupTopicPartitions(group, partitions)]
        try:
            with self._lock:
                answers = self._client().alter_consumer_group_offsets(asked, request_timeout=self._patience_s())
            answered = answers[group].result(ANSWER_S).topic_partitions
            failure = next((partition.error for partition in answered if partition.error is not None), None)
        except Exception as error:
            failure = error
        if failure is not None:
            client_logger().warning("offsets of the group '%s' were not committed: %s", group, failure)
