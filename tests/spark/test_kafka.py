"""Kafka in batch mode: a bounded source and a sink that writes exactly once, as streams and as tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from funke.common import SimpleStringSchema, Types, WatermarkStrategy
from funke.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from funke.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def topics(kafka: KafkaBroker) -> tuple[str, str]:
    source, target = (kafka.create_topic(f"{name}-{uuid4().hex[:8]}", 2) for name in ("batch", "sums"))
    kafka.produce(source, [json.dumps({"name": "ab"[n % 2], "amount": n}) for n in range(1_000)])
    return source, target


def test_a_batch_job_from_kafka_to_kafka(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    source, target = topics(kafka)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH).set_parallelism(2)
    reading = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_topics(source)
    reading = reading.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    reading = reading.set_bounded(KafkaOffsetsInitializer.latest())
    reading = reading.set_value_only_deserializer(SimpleStringSchema())
    record = KafkaRecordSerializationSchema.builder().set_topic(target)
    record = record.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_record_serializer(record.build())
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(target)
    stream = env.from_source(reading.build(), WatermarkStrategy.no_watermarks(), "records").map(json.loads)
    pairs = stream.map(lambda record: (record["name"], record["amount"]), Types.TUPLE([Types.STRING(), Types.LONG()]))
    sums = pairs.key_by(lambda pair: pair[0]).reduce(lambda one, other: (one[0], one[1] + other[1]))
    sums.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()).sink_to(sink.build())
    env.execute()
    assert sorted(kafka.values(target, 2)) == [b"a 249500", b"b 250000"]


def test_a_query_in_batch_mode_over_a_topic(kafka: KafkaBroker) -> None:
    source, target = topics(kafka)
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "2")
    for name, topic, columns, more in (
        ("orders", source, "name STRING, amount BIGINT", ", 'scan.bounded.mode' = 'latest-offset'"),
        ("sums", target, "name STRING, total BIGINT, pieces BIGINT", ""),
    ):
        t_env.execute_sql(f"""
            CREATE TABLE {name} ({columns}) WITH (
                'connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json',
                'properties.bootstrap.servers' = '{kafka.bootstrap_servers}', 'scan.startup.mode' = 'earliest-offset',
                'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{topic}'{more}
            )
        """)
    t_env.execute_sql("INSERT INTO sums SELECT name, SUM(amount), COUNT(*) FROM orders GROUP BY name").wait()
    found = sorted((json.loads(value) for value in kafka.values(target, 2)), key=lambda row: row["name"])
    assert found == [
        {"name": "a", "total": 249_500, "pieces": 500},
        {"name": "b", "total": 250_000, "pieces": 500},
    ]
