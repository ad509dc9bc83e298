"""Transfers between accounts: who writes them into a topic, and what must become of them in a topic and a table."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.kafka_soak_job import FIELDS

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker
    from tests.harness.postgres_server import PostgresServer

__all__ = ["Outcome", "TransferWriter", "committed", "outcome", "transfer"]

ACCOUNTS = 40
_PER_SECOND = 500
_PATIENCE_S = 180.0


def transfer(number: int) -> dict[str, int]:
    """Always the same for a number."""
    return {"id": number, "account": number * 7 % ACCOUNTS, "amount": number % 13 - 6}


class TransferWriter:
    """Writes transfers, so many a second, whether the brokers are there or not."""

    def __init__(self, servers: str, topic: str, per_second: int = _PER_SECOND) -> None:
        from confluent_kafka import Producer

        settings = {"enable.idempotence": True, "topic.metadata.refresh.interval.ms": 1_000, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": servers, **settings})
        self._topic, self._per_second = topic, per_second
        self._is_over = threading.Event()
        self.count = 0
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        begin = time.monotonic()
        while not self._is_over.wait(0.01):
            while self.count < (time.monotonic() - begin) * self._per_second:
                created = transfer(self.count)
                self._producer.produce(self._topic, json.dumps(created), str(created["account"]))
                self.count += 1
            self._producer.poll(0)

    def stop(self) -> None:
        """No more of them."""
        self._is_over.set()
        self._thread.join()

    def finish(self) -> int:
        """No more of them, and all have arrived: so many."""
        self.stop()
        left = self._producer.flush(_PATIENCE_S)
        assert left == 0, f"{left} transfers have not arrived"
        return self.count


def committed(broker: KafkaBroker, topic: str, count: int, seconds: float) -> list[Any]:
    """What readers of committed records see: as many as are wanted, or what there is when the time is up."""
    return [json.loads(value) for value in broker.values(topic, count, seconds)]


@dataclass(frozen=True)
class Outcome:
    """What is wrong with one of the results."""

    lost: int
    doubled: int
    wrong_accounts: int

    @property
    def is_exact(self) -> bool:
        """Whether nothing is."""
        return not (self.lost or self.doubled or self.wrong_accounts)

    def __str__(self) -> str:
        return f"{self.lost} lost, {self.doubled} doubled, {self.wrong_accounts} of {ACCOUNTS} balances wrong"


def outcome(seen: list[Any], count: int) -> Outcome:
    """Compares balances with what so many transfers come to."""
    ids = Counter(each["id"] for each in seen)
    return Outcome(count - len(ids), ids.total() - len(ids), len(_wrong_accounts(seen, count)))


def rows(database: PostgresServer, table: str) -> list[Any]:
    """The balances of a table."""
    result_rows = database.rows(f"SELECT {', '.join(FIELDS)} FROM {table}")
    return [dict(zip(FIELDS, row)) for row in result_rows]


def _wrong_accounts(seen: list[Any], count: int) -> list[int]:
    """Accounts whose transfers were not counted one by one, or whose last balance is not the sum of all."""
    sums, counts = Counter[int](), Counter[int]()
    for item in map(transfer, range(count)):
        sums[item["account"]] += item["amount"]
        counts[item["account"]] += 1
    numbers: dict[int, dict[int, int]] = {account: {} for account in counts}
    for each in seen:
        numbers[each["account"]][each["count"]] = each["balance"]
    return [
        account
        for account, number in counts.items()
        if sorted(numbers[account]) != list(range(1, number + 1)) or numbers[account][number] != sums[account]
    ]
