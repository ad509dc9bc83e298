"""What a reader tells the group: the offsets of checkpoints that are complete, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.enumerator import PartitionRange, partition_split
from funke.engine.connectors.kafka.offsets import Partition
from funke.engine.connectors.kafka.reader import KafkaSplitReader
from funke.engine.connectors.kafka.records import TextReader
from funke.engine.connectors.kafka.source import KafkaSource
from funke.engine.connectors.kafka.subscription import Subscription

A, B = Partition("t", 0), Partition("t", 1)


class Group:
    """Takes the place of the client, and keeps what it is to commit."""

    def __init__(self) -> None:
        self.commits: list[dict[int, int]] = []

    def commit(self, offsets: list[Any], asynchronous: bool) -> None:
        assert asynchronous
        self.commits.append({each.partition: each.offset for each in offsets})


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def reader(group: Group) -> KafkaSplitReader:
    properties = ClientProperties.of({"group.id": "g"})
    reader = KafkaSplitReader(KafkaSource(properties, Subscription(("t",)), TextReader("utf-8")))
    reader.open()
    reader._consumer = group
    return reader


def note(reader: KafkaSplitReader, checkpoint_id: int, offsets: dict[Partition, int]) -> None:
    reader.note(checkpoint_id, [partition_split(PartitionRange(each, offset)) for each, offset in offsets.items()])


def complete(reader: KafkaSplitReader, checkpoint_id: int) -> None:
    reader.notify_checkpoint_complete(checkpoint_id)
    reader._do_what_is_asked()


def test_offsets_wait_for_their_checkpoint(reader: KafkaSplitReader, group: Group) -> None:
    note(reader, 1, {A: 5, B: 7})
    note(reader, 2, {A: 9, B: 8})
    reader._do_what_is_asked()
    assert group.commits == []
    complete(reader, 1)
    assert group.commits == [{0: 5, 1: 7}], "not those of the checkpoint that is still pending"


def test_a_newer_checkpoint_stands_for_the_older_ones(reader: KafkaSplitReader, group: Group) -> None:
    note(reader, 1, {A: 5})
    note(reader, 2, {A: 9})
    complete(reader, 2)
    complete(reader, 1)
    assert group.commits == [{0: 9}], "the group does not go back"


def test_a_checkpoint_without_offsets_commits_nothing(reader: KafkaSplitReader, group: Group) -> None:
    note(reader, 1, {})
    complete(reader, 1)
    complete(reader, 7)
    assert group.commits == []
