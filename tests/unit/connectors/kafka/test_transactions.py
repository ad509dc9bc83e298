"""A client that hangs does not hold up the job for ever, and is not led to."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from funke.engine.connectors.kafka import transactions
from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.offsets import Partition
from funke.engine.connectors.kafka.producing import OutputRecords, RecordWriter
from funke.engine.connectors.kafka.sink import KafkaSink
from funke.engine.connectors.kafka.transactions import TransactionalProducer, TransactionWriter
from funke.engine.errors import SinkError
from tests.unit.connectors.sink_harness import SinkHarness


class Hanging:
    """In place of Kafka's client; brokers are away when they are asked for so many times."""

    def __init__(self, away: int = 0) -> None:
        self.may_end = threading.Event()
        self.away = away
        self.brokers = {1: "host:1"}

    def send_offsets_to_transaction(self, offsets: Any, group: Any, seconds: float) -> None:
        self.may_end.wait(60)

    def list_topics(self, timeout: float) -> Hanging:
        if self.away > 0:
            self.away -= 1
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return self


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> TransactionalProducer:
    for name, value in {"_MARK_S": 0.02, "_GRACE_S": 0.02, "_ASK_S": 0.01}.items():
        monkeypatch.setattr(transactions, name, value)
    new_producer = TransactionalProducer.__new__(TransactionalProducer)
    new_producer.id, new_producer._failure, new_producer._has_lost_brokers = "t-1", None, False
    new_producer._properties = ClientProperties.of({"bootstrap.servers": "host:1"})
    return new_producer


def test_a_marker_that_is_never_put_fails_the_attempt(producer: TransactionalProducer) -> None:
    producer.client = Hanging()
    with pytest.raises(SinkError, match=r"does not come back from marking the transaction of 't-1' at 'host:1'"):
        producer.mark(Partition("t", 0), 3, None)
    producer.client.may_end.set()
    producer.mark(Partition("t", 0), 3, None)


def test_brokers_that_are_away_are_awaited(producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch) -> None:
    producer.client = Hanging(away=20)
    list_topics = producer.client.list_topics

    def back_in_the_end(timeout: float) -> Hanging:
        if producer.client.away == 1:
            producer.client.may_end.set()
        return list_topics(timeout)

    monkeypatch.setattr(producer.client, "list_topics", back_in_the_end)
    producer.mark(Partition("t", 0), 3, None)
    assert producer.client.away <= 1


def test_brokers_that_do_not_come_back_are_not_awaited_for_ever(
    producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "_OUTAGE_S", 0.1)
    producer.client = Hanging(away=10**9)
    with pytest.raises(SinkError, match="does not come back"):
        producer.mark(Partition("t", 0), 3, None)
    producer.client.may_end.set()


@dataclass
class Error:
    """What the client reports."""

    kind: str

    def name(self) -> str:
        return self.kind

    def fatal(self) -> bool:
        return False


def test_brokers_that_are_lost_are_noticed_once(producer: TransactionalProducer) -> None:
    producer._on_error(Error("_TIMED_OUT"))
    assert not producer.take_loss()
    for kind in ("_TRANSPORT", "_ALL_BROKERS_DOWN"):
        producer._on_error(Error(kind))
        assert producer.take_loss() and not producer.take_loss()


@dataclass
class Marked:
    """In place of a producer: notes into which groups it puts markers."""

    id: str
    groups: list[str] = field(default_factory=list)
    has_lost: bool = False

    def begin(self) -> None:
        """As it does."""

    def send(self, records: OutputRecords) -> None:
        """As it does."""

    def flush(self) -> None:
        """As it does."""

    def commit(self) -> None:
        """As it does."""

    def take_loss(self) -> bool:
        has_lost, self.has_lost = self.has_lost, False
        return has_lost

    def mark(self, partition: Partition, number: int, group: str) -> None:
        self.groups.append(group)


class Strings(RecordWriter):
    def records(self, values: list[Any], timestamps: list[int] | None) -> OutputRecords:
        return OutputRecords("t", values)


def test_after_brokers_were_lost_markers_go_into_another_group(monkeypatch: pytest.MonkeyPatch) -> None:
    producers: list[Marked] = []

    def create_marked(sink: KafkaSink, name: str) -> Marked:
        producers.append(Marked(name))
        return producers[-1]

    monkeypatch.setattr(transactions, "TransactionalProducer", create_marked)
    monkeypatch.setattr(transactions, "_group_metadata", lambda sink, group: group)
    sink = KafkaSink(ClientProperties.of({}), Strings(), "exactly-once", "mine")
    writer = TransactionWriter(sink, SinkHarness().context())
    written = []
    for checkpoint_id, producer in enumerate([*producers, *producers]):
        producer.has_lost = checkpoint_id == 2
        writer.write([b"x"], None)
        writer.prepare_snapshot(checkpoint_id)
        written += writer.prepare_commit()
        writer.notify_checkpoint_complete(checkpoint_id)
    first = written[0].group
    # Whoever recovers looks for a marker where it was put.
    assert [each.group for each in written] == [first, first, f"{first}-1", f"{first}-1"]
    assert [group for pair in zip(*(each.groups for each in producers)) for group in pair] == [
        each.group for each in written
    ]
