"""A Kafka broker for measurements, with topics of JSON records of about 200 bytes in four partitions."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The connector for PyFlink; Funke needs none.
CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
PARTITIONS = 4


@cache
def servers() -> str:
    """Starts the broker, which ends with this process, and returns where it listens."""
    import contextlib

    from tests.harness.kafka_broker import shared_broker

    # Kept until this process ends, and the lock that says so with it.
    stack = contextlib.ExitStack()
    broker = stack.enter_context(shared_broker(ROOT / ".bench" / "kafka"))
    _KEPT.append(stack)
    broker.create_topic("bench-copies", PARTITIONS)
    return broker.bootstrap_servers


_KEPT: list[object] = []


@cache
def topic(rows: int) -> str:
    """A topic with so many records."""
    from tests.harness.kafka_broker import KafkaBroker

    broker = KafkaBroker(servers(), "")
    name = broker.create_topic(f"bench-{rows}", PARTITIONS)
    pad = "x" * 150
    broker.produce(name, [json.dumps({"id": row, "key": f"key-{row % 1000}", "pad": pad}) for row in range(rows)])
    return name


@cache
def connector_jar() -> str:
    """The jar that PyFlink needs, fetched once."""
    folder = ROOT / ".bench" / "jars"
    jars = list(folder.glob("flink-sql-connector-kafka-*.jar"))
    if not jars:
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={CONNECTOR}", f"-DoutputDirectory={folder}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        jars = list(folder.glob("flink-sql-connector-kafka-*.jar"))
    return str(jars[0])
