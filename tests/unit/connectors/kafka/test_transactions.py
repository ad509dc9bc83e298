"""A client that hangs does not hold up the job for ever."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from funke.engine.connectors.kafka import transactions
from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.offsets import Partition
from funke.engine.connectors.kafka.transactions import TransactionalProducer
from funke.engine.errors import SinkError


class Hanging:
    """In place of Kafka's client."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def flush(self, seconds: float) -> int:
        return 0

    def send_offsets_to_transaction(self, offsets: Any, group: Any, seconds: float) -> None:
        self.may_end.wait(60)


def test_a_marker_that_is_never_put_fails_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_MARK_S", 0.02)
    monkeypatch.setattr(transactions, "_GRACE_S", 0.02)
    producer = TransactionalProducer.__new__(TransactionalProducer)
    producer.id, producer._failure = "t-1", None
    producer._properties = ClientProperties.of({"bootstrap.servers": "host:1"})
    producer.client = Hanging()
    with pytest.raises(SinkError, match=r"does not come back from marking the transaction of 't-1' at 'host:1'"):
        producer.mark(Partition("t", 0), 3, None)
    producer.client.may_end.set()
    producer.mark(Partition("t", 0), 3, None)
