"""Questions to Kafka are asked again while there is no answer yet."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition

from funke.engine.connectors.kafka import offsets
from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.offsets import OffsetsAsker, Partition
from funke.engine.errors import SourceError

WHERE = Partition("t", 0)


class Group:
    """In place of the client: what it has committed is known when it is asked again."""

    def __init__(self, error: int) -> None:
        self.errors: list[KafkaError | None] = [KafkaError(error), None]
        self.asked = 0

    def list_consumer_group_offsets(self, asked: Any, **options: Any) -> dict[str, Future[Any]]:
        assert options["require_stable"]
        partition = TopicPartition("t", 0, 7)
        error = self.errors[self.asked]
        self.asked += 1
        partition_answer = type(
            "Index", (), {"topic": "t", "partition": 0, "offset": 7, "metadata": "", "error": error}
        )
        answer: Future[Any] = Future()
        answer.set_result(
            ConsumerGroupTopicPartitions("g", [partition]) if error is None else _Answer([partition_answer])
        )
        return {"g": answer}


class _Answer:
    def __init__(self, partitions: list[Any]) -> None:
        self.topic_partitions = partitions


def asker(monkeypatch: pytest.MonkeyPatch, error: int) -> OffsetsAsker:
    monkeypatch.setattr(offsets, "_PAUSE_S", 0.0)
    offsets_asker = OffsetsAsker(ClientProperties.of({"bootstrap.servers": "host:1"}))
    offsets_asker._admin = Group(error)
    return offsets_asker


def test_a_transaction_that_is_being_committed_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    # Else whoever recovers would write it again.
    assert asker(monkeypatch, KafkaError.UNSTABLE_OFFSET_COMMIT).marks("g", [WHERE]) == {WHERE: (7, "")}


def test_a_group_that_may_not_be_read_is_no_empty_group(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="does not permit the user to use the group 'g'"):
        asker(monkeypatch, KafkaError.GROUP_AUTHORIZATION_FAILED).marks("g", [WHERE])
