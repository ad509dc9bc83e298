"""Copies a topic exactly once while the broker is killed and started again at random, and verifies what readers see.

python tools/kafka_soak.py [--seconds 60] [--seed 1]

Slots are threads of this process, so that no Spark is needed; the broker is one of its own.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from funke.common import SimpleStringSchema, Types, WatermarkStrategy
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from funke.engine.errors import JobExecutionError
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.runtime.snapshot_taking import SnapshotTaker
from tests.harness.kafka_broker import BrokerProcess
from tests.harness.stream_threads import run_stream, write_at_once

RATE = 500


def slowly(value: str) -> str:
    time.sleep(1 / RATE)
    return value


def job(servers: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics("source")
    source = source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source = source.set_bounded(KafkaOffsetsInitializer.latest()).set_property("max.poll.records", "50")
    source = source.set_value_only_deserializer(SimpleStringSchema())
    record = KafkaRecordSerializationSchema.builder().set_topic("target")
    record = record.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(record.build())
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("soak")
    stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "source")
    stream.map(slowly, Types.STRING()).sink_to(sink.build())
    return env


def disturb(broker: BrokerProcess, chance: random.Random, is_over: threading.Event) -> None:
    # Clients wait up to ten seconds before they try to connect again.
    while not is_over.wait(chance.uniform(10, 25)):
        pause = chance.uniform(0.5, 5)
        print(f"the broker is gone for {pause:.1f} s", flush=True)
        broker.stop()
        time.sleep(pause)
        broker.start()


def run_to_the_end(env: StreamExecutionEnvironment) -> int:
    """Runs attempts until one ends, each from the last checkpoint; returns how many there were."""
    start: Any = None
    for number in range(1, 100):
        kept: list[Any] = []
        try:
            settings = CheckpointSettings(interval_ms=500)
            run_stream(
                env._nodes,
                settings=settings,
                start=start,
                number=number,
                on_start=lambda coordinator, kept=kept: kept.append(coordinator._keeper),  # type: ignore[misc]
            )
            return number
        except JobExecutionError as error:
            print(f"attempt {number}: {str(error).splitlines()[0]}", flush=True)
            start = kept[0].store.completed[-1] if kept and kept[0].store.completed else start
            time.sleep(1)
    raise SystemExit("the job does not end")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    # Whoever ends this must not leave a broker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    SnapshotTaker.start = write_at_once  # type: ignore[method-assign,assignment]
    broker, is_over = BrokerProcess(), threading.Event()
    count = options.seconds * RATE * 2
    disturbing = threading.Thread(target=disturb, args=(broker, random.Random(options.seed), is_over))
    try:
        broker.start()
        broker.address.create_topic("source", 4)
        broker.address.create_topic("target", 2)
        broker.address.produce("source", [str(number) for number in range(count)])
        disturbing.start()
        attempts = run_to_the_end(job(broker.address.bootstrap_servers))
        is_over.set()
        disturbing.join()
        found = Counter(map(int, broker.address.values("target", count + 1, seconds=10)))
    finally:
        is_over.set()
        broker.close()
    lost, doubled = count - len(found), sum(found.values()) - len(found)
    print(f"{count} records, {attempts} attempts: {lost} lost, {doubled} doubled", flush=True)
    return 1 if lost or doubled else 0


if __name__ == "__main__":
    sys.exit(main())
