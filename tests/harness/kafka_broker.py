"""A Kafka broker of the tests' own, on loopback: one for all processes of a run, ended when none of them needs it.

A process of its own, `python kafka_broker.py FOLDER`, starts the broker and watches who uses it: users hold a shared
lock, and the system lets go of it also when a process is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
USER, PASSWORD = "writer", "a-kafka-secret"
_START_S = 180.0
_CLUSTER_ID = "funkeTestsKafkaBrokerA"
_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


class BrokerUnavailableError(Exception):
    """No broker can be started here; says why in one line."""


@dataclass(frozen=True)
class KafkaBroker:
    """Where the broker listens: anybody may do anything at one address, and must say who they are at the other."""

    bootstrap_servers: str
    guarded_servers: str

    def client(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def create_topic(self, name: str, partitions: int = 1, replicas: int = 1, **configuration: str) -> str:
        """Makes a topic and waits until it is known."""
        from confluent_kafka.admin import NewTopic

        client = self.client()
        client.create_topics([NewTopic(name, partitions, replicas, config=configuration)])[name].result(30)
        return name

    def produce(self, topic: str, values: list[Any], partition: int | None = None, **settings: Any) -> None:
        """Writes records: values, or tuples of key, value and, if any, timestamp and headers."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, **settings})
        for value in values:
            key, content, *more = value if isinstance(value, tuple) else (None, value)
            options = dict(zip(("timestamp", "headers"), more))
            if partition is not None:
                options["partition"] = partition
            producer.produce(topic, content, key, **options)
            producer.poll(0)
        assert producer.flush(30) == 0

    def records(self, topic: str, count: int, seconds: float = 30, is_committed: bool = True) -> list[Any]:
        """The first messages of a topic, all of them if there are fewer when the time is up."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        settings = {
            "bootstrap.servers": self.bootstrap_servers,
            "group.id": "funke-tests",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if is_committed else "read_uncommitted",
        }
        consumer = Consumer(settings)
        try:
            partitions = consumer.list_topics(topic, 30).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
            results: list[Any] = []
            end = time.monotonic() + seconds
            while len(results) < count and time.monotonic() < end:
                results += [message for message in consumer.consume(1000, 0.1) if message.error() is None]
            return results
        finally:
            consumer.close()

    def values(self, topic: str, count: int, seconds: float = 30) -> list[bytes]:
        """The values of the first messages that are committed."""
        return [message.value() for message in self.records(topic, count, seconds)]


@contextlib.contextmanager
def shared_broker(folder: Path) -> Iterator[KafkaBroker]:
    """The broker of the run that `folder` belongs to; starts it if nobody has."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "users", "ab") as users, open(folder / "start", "ab") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            broker = _read_address(folder) or _start(folder)
        finally:
            fcntl.flock(start, fcntl.LOCK_UN)
        yield broker


def _read_address(folder: Path) -> KafkaBroker | None:
    address = folder / "address"
    return KafkaBroker(*address.read_text().split()) if address.exists() else None


def _start(folder: Path) -> KafkaBroker:
    process = subprocess.Popen([sys.executable, __file__, str(folder)], start_new_session=True)
    end = time.monotonic() + 2 * _START_S
    while (broker := _read_address(folder)) is None:
        if process.poll() is not None:
            raise BrokerUnavailableError((folder / "failure").read_text().strip())
        assert time.monotonic() < end, "the broker did not start"
        time.sleep(0.05)
    return broker


class BrokerProcess:
    """A broker with a folder of its own; it can be stopped and started again with the same data and address.

    The first one of a cluster is also the controller, whose port the others are given.
    """

    def __init__(self, number: int = 1, brokers: int = 1, controller_port: int | None = None) -> None:
        self.number = number
        self.folder = Path(tempfile.mkdtemp(prefix="funke-kafka-"))
        self._ports = _free_ports(3)
        self.controller_port = controller_port or self._ports[2]
        self.address = KafkaBroker(f"127.0.0.1:{self._ports[0]}", f"127.0.0.1:{self._ports[1]}")
        # Imported late: this file is a program as well.
        from tests.harness.jars import fetched_jars, java_command

        jars = fetched_jars("kafka", BrokerUnavailableError)
        self._java = [java_command(BrokerUnavailableError), *_OPTIONS, "-cp", f"{jars}/*"]
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = self.folder / "server.properties"
        settings = _settings(self.folder) | _of_cluster(number, brokers, self._ports, self.controller_port)
        self._settings.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = [*self._java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self.launch()
        self.await_answer()

    def launch(self) -> None:
        """Starts it; it ends with this process, whatever ends that."""
        from tests.harness.own_servers import killed_with_parent

        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._settings)],
                stdout=log,
                stderr=log,
                preexec_fn=killed_with_parent,  # noqa: PLW1509 - nothing but a system call
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def await_answer(self) -> None:
        """Waits until it answers."""
        assert self._process is not None
        end = time.monotonic() + _START_S
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.05)

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with contextlib.suppress(KafkaException, OSError), socket.create_connection(("127.0.0.1", self._ports[0]), 0.2):
            client = AdminClient({"bootstrap.servers": self.address.bootstrap_servers, "log_level": 0})
            return bool(client.list_topics(timeout=5).brokers)
        return False

    def stop(self) -> None:
        """Kills it: what it had not written to its files is in the system's cache."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _settings(folder: Path) -> dict[str, str]:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "listener.security.protocol.map": "OPEN:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "OPEN",
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": f'{login} required user_{USER}="{PASSWORD}";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "log.dirs": str(folder / "data"),
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        # Tests write records with timestamps of years ago, which would be deleted when the broker next looks.
        "log.retention.ms": "-1",
        "num.network.threads": "2",
        "num.io.threads": "2",
        # An aborted transaction that nobody fences is seen by tests soon.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "transaction.max.timeout.ms": "900000",
    }


def _of_cluster(number: int, brokers: int, ports: list[int], controller_port: int) -> dict[str, str]:
    """What tells the brokers of a cluster apart, and that all of them keep what they keep for themselves."""
    listeners = f"OPEN://127.0.0.1:{ports[0]},GUARDED://127.0.0.1:{ports[1]}"
    settings = {
        "node.id": str(number),
        "process.roles": "broker,controller" if number == 1 else "broker",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller_port}" if number == 1 else listeners,
        "advertised.listeners": listeners,
    }
    if brokers > 1:
        # One that has died is noticed soon.
        settings |= {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"}
    kept = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    settings |= {f"{topic}.replication.factor": str(brokers) for topic in kept}
    return settings | {f"{topic}.min.isr": "1" for topic in kept[1:]}


def _supervise(folder: Path) -> None:
    try:
        process = BrokerProcess()
    except BrokerUnavailableError as reason:
        (folder / "failure").write_text(str(reason))
        return
    # Whoever ends the run with a signal to all of its processes must not leave a broker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        process.start()
        temporary = folder / "address.new"
        temporary.write_text(f"{process.address.bootstrap_servers} {process.address.guarded_servers}")
        temporary.rename(folder / "address")
        with open(folder / "users", "ab") as users:
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                time.sleep(0.3)
    finally:
        with contextlib.suppress(FileNotFoundError):
            (folder / "address").unlink()
        process.close()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _supervise(Path(sys.argv[1]))
