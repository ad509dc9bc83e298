"""What the group is told when: only what a complete checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from funke.engine.connectors.kafka import enumerator as module
from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.enumerator import KafkaEnumerator
from funke.engine.connectors.kafka.offsets import Offsets, Partition
from funke.engine.connectors.kafka.records import TextReader
from funke.engine.connectors.kafka.source import KafkaSource
from funke.engine.connectors.kafka.subscription import Subscription
from funke.engine.connectors.source import ReadOutcome

A, B, EMPTY = (Partition("t", number) for number in range(3))


class Broker:
    """In place of the one who asks Kafka."""

    committed: list[dict[Partition, int]]

    def __init__(self, properties: ClientProperties) -> None:
        Broker.committed = []

    def partitions_of_topics(self, names: Any) -> list[Partition]:
        return [A, B, EMPTY]

    def resolve(self, offsets: Offsets, partitions: list[Partition]) -> dict[Partition, int]:
        ends = {A: 10, B: 20, EMPTY: 0}
        return ends if offsets.kind == "latest" else dict.fromkeys(ends, 0)

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        self.committed.append(dict(offsets))


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> KafkaSource:
    monkeypatch.setattr(module, "OffsetsAsker", Broker)
    properties = ClientProperties.of({"group.id": "g"})
    return KafkaSource(
        properties, Subscription(("t",)), TextReader("utf-8"), stopping=Offsets("latest"), is_bounded=True
    )


def test_the_group_learns_where_partitions_end_from_a_checkpoint_behind_all_of_them(source: KafkaSource) -> None:
    enumerator = KafkaEnumerator(source)
    a, b = enumerator.poll(1)
    enumerator.report(ReadOutcome(a, 10, None))
    enumerator.note(1)
    enumerator.report(ReadOutcome(b, 20, None))
    # The last partition has ended behind it.
    enumerator.notify_checkpoint_complete(1)
    assert Broker.committed == []
    enumerator.note(2)
    enumerator.notify_checkpoint_aborted(2)
    enumerator.notify_checkpoint_complete(2)
    assert Broker.committed == []
    enumerator.note(3)
    enumerator.notify_checkpoint_complete(3)
    assert Broker.committed == [{A: 10, B: 20, EMPTY: 0}]


def test_partitions_that_ended_in_an_earlier_attempt_are_known(source: KafkaSource) -> None:
    first = KafkaEnumerator(source)
    a, b = first.poll(1)
    first.report(ReadOutcome(a, 10, None))
    second = KafkaEnumerator(source, first.snapshot())
    second.report(ReadOutcome(b, 20, None))
    second.note(5)
    second.notify_checkpoint_complete(5)
    assert Broker.committed == [{A: 10, B: 20, EMPTY: 0}]
