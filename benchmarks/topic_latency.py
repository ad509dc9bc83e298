"""How long records take through a job between two topics: a writer, the job and a reader in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from kafka_topics import PARTITIONS, servers

__all__ = ["topic_latency_ms"]

WARM_UP_S, MEASURED_S = 10, 30


def topic_latency_ms(programs: Path, job: list[str], *jar: str) -> tuple[float, float]:
    """Milliseconds from producer to consumer, median and 99th percentile, of a job that is given by its command."""
    from tests.harness.kafka_broker import KafkaBroker

    broker = KafkaBroker(servers(), "")
    source, target = (broker.create_topic(f"latency-{uuid.uuid4().hex[:8]}", PARTITIONS) for _ in range(2))
    path = os.path.dirname(job[0]) + os.pathsep + os.environ.get("PATH", "")
    running = subprocess.Popen(
        [*job, servers(), source, target, *jar],
        cwd=programs,
        stdin=subprocess.PIPE,
        env={**os.environ, "PATH": path, "_python_worker_execution_mode": "process"},
    )
    own = [sys.executable, str(programs / "kafka_latency.py")]
    writer = subprocess.Popen([*own, "write", servers(), source])
    try:
        reader = [*own, "read", servers(), target, str(WARM_UP_S), str(MEASURED_S)]
        line = subprocess.run(reader, capture_output=True, text=True, check=True).stdout
    finally:
        writer.terminate()
        writer.wait()
        running.communicate(b"\n", 60)
    _, p50, p99, _ = line.split()
    return float(p50), float(p99)
