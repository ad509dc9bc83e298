"""Several Kafka brokers of a test's own on loopback, whose partitions get other leaders when the test says so."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tests.harness.kafka_broker import BrokerProcess, KafkaBroker

__all__ = ["BrokerCluster"]

_WAIT_S = 60.0
_REASSIGN = 45


class BrokerCluster:
    """Brokers that all have a replica of everything. The first is the controller as well, which nothing replaces."""

    def __init__(self, brokers: int = 2) -> None:
        first = BrokerProcess(1, brokers)
        with ThreadPoolExecutor() as pool:
            others = pool.map(
                lambda number: BrokerProcess(number, brokers, first.controller_port), range(2, brokers + 1)
            )
            self.processes = [first, *others]
        addresses = [each.address for each in self.processes]
        self.address = KafkaBroker(
            ",".join(each.bootstrap_servers for each in addresses), ",".join(each.guarded_servers for each in addresses)
        )

    def start(self) -> None:
        """Starts those that do not run and waits until all know each other."""
        for each in self.processes:
            if not each.is_running:
                each.launch()
        for each in self.processes:
            each.await_answer()
        self._await(lambda: len(self.address.client().list_topics(timeout=5).brokers) == len(self.processes))
        self._await(self._takes_transactions)

    def _takes_transactions(self) -> bool:
        """Whether those that coordinate transactions have read what they know of them."""
        from confluent_kafka import KafkaException, Producer

        producer = Producer({"bootstrap.servers": self.address.bootstrap_servers, "transactional.id": "first"})
        try:
            producer.init_transactions(10)
        except KafkaException:
            return False
        return True

    def stop(self) -> None:
        """Kills all of them."""
        for each in self.processes:
            each.stop()

    def close(self) -> None:
        for each in self.processes:
            each.close()

    def kill(self, number: int) -> None:
        """Kills one."""
        self.processes[number - 1].stop()

    def leaders(self) -> dict[tuple[str, int], int]:
        """The broker that leads each partition of all topics, -1 where there is none."""
        topics = self.address.client().list_topics(timeout=10).topics
        return {(name, n): p.leader for name, topic in topics.items() for n, p in topic.partitions.items()}

    def move_leaders(self, number: int) -> None:
        """What a tool that balances brokers does: one broker becomes the preferred leader everywhere, then the leader.

        Comes back when it is, and when all replicas are in sync.
        """
        from confluent_kafka import ElectionType

        others = [each.number for each in self.processes if each.number != number]
        self._reassign(self.leaders(), [number, *others])
        client = self.address.client()
        client.elect_leaders(ElectionType.PREFERRED).result(30)
        self._await(lambda: set(self.leaders().values()) == {number} and self._is_in_sync())

    def _is_in_sync(self) -> bool:
        topics = self.address.client().list_topics(timeout=10).topics.values()
        return all(len(p.isrs) == len(self.processes) for topic in topics for p in topic.partitions.values())

    def _reassign(self, partitions: Iterable[tuple[str, int]], replicas: list[int]) -> None:
        """Kafka's request AlterPartitionReassignments in its first version: the client has no function for it."""
        by_topic: dict[str, list[int]] = {}
        for topic, number in partitions:
            by_topic.setdefault(topic, []).append(number)
        assignments = _array([struct.pack(">i", each) for each in replicas])
        topics = [
            _text(topic) + _array([struct.pack(">i", each) + assignments + _END for each in numbers]) + _END
            for topic, numbers in by_topic.items()
        ]
        request = struct.pack(">hhih", _REASSIGN, 0, 1, -1) + _END + struct.pack(">i", 30_000) + _array(topics) + _END
        host, _, port = self.processes[0].address.bootstrap_servers.partition(":")
        with socket.create_connection((host, int(port)), 30) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.makefile("rb")
            content = answer.read(*struct.unpack(">i", answer.read(4)))
        # Behind the number of the request, an empty list and the time to wait.
        (error,) = struct.unpack_from(">h", content, 9)
        assert error == 0, f"Kafka refuses to move partitions: error {error}"

    def _await(self, is_so: Callable[[], bool]) -> None:
        from confluent_kafka import KafkaException

        end = time.monotonic() + _WAIT_S
        while True:
            try:
                if is_so():
                    return
            except KafkaException:
                pass
            assert time.monotonic() < end, f"leaders are {self.leaders()}"
            time.sleep(0.1)


# No tagged fields.
_END = b"\0"


def _number(value: int) -> bytes:
    """As many bytes as it takes, seven bits in each."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _number(rest) if rest else bytes([low])


def _array(items: list[bytes]) -> bytes:
    return _number(len(items) + 1) + b"".join(items)


def _text(text: str) -> bytes:
    return _number(len(text.encode()) + 1) + text.encode()
