"""Kafka: programs in batch mode, and programs without an end, as streams and as tables."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from funke.common import JobStatus, SimpleStringSchema, Time, Types, WatermarkStrategy
from funke.datastream import AggregateFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from funke.datastream.window import TumblingEventTimeWindows
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
    results = sorted((json.loads(value) for value in kafka.values(target, 2)), key=lambda row: row["name"])
    assert results == [
        {"name": "a", "total": 249_500, "pieces": 500},
        {"name": "b", "total": 250_000, "pieces": 500},
    ]


QUERIES = {
    "rows": "SELECT name, amount FROM orders",
    "groups": "SELECT name, SUM(amount) FROM orders GROUP BY name",
    "windows": "SELECT name, SUM(amount) FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' SECOND) "
    "GROUP BY name, window_start, window_end",
    "group windows": "SELECT name, SUM(amount) FROM orders GROUP BY name, TUMBLE(ts, INTERVAL '1' SECOND)",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_without_an_end_shows_its_first_result_while_it_runs(kafka: KafkaBroker, query: str) -> None:
    source = kafka.create_topic(f"endless-{uuid4().hex[:8]}", 1)
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            name STRING, amount BIGINT, ts TIMESTAMP(3) METADATA FROM 'timestamp',
            WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
        ) WITH (
            'connector' = 'kafka', 'topic' = '{source}', 'format' = 'json',
            'properties.bootstrap.servers' = '{kafka.bootstrap_servers}', 'scan.startup.mode' = 'earliest-offset'
        )
    """)
    result = t_env.execute_sql(query)
    # The second record moves event time past the first one's window; nothing else comes.
    kafka.produce(source, [(None, json.dumps({"name": "a", "amount": 7}), at) for at in (1_000, 60_000)])
    with result.collect() as rows:
        assert list(next(rows)) == ["a", 7]
        client = result.get_job_client()
        assert client is not None and client.get_job_status().result() == JobStatus.RUNNING


def test_a_stream_without_an_end_shows_its_first_result_while_it_runs(
    env: StreamExecutionEnvironment, kafka: KafkaBroker
) -> None:
    source = kafka.create_topic(f"endless-{uuid4().hex[:8]}", 1)
    reading = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_topics(source)
    reading = reading.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    reading = reading.set_value_only_deserializer(SimpleStringSchema())
    stream = env.set_parallelism(1).from_source(
        reading.build(), WatermarkStrategy.for_monotonous_timestamps(), "records"
    )
    windows = stream.key_by(lambda value: value).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    counts = windows.aggregate(CountAll(), output_type=Types.INT())
    kafka.produce(source, [(None, "a", 1_000), (None, "a", 1_100), (None, "a", 60_000)])
    with closing(counts.execute_and_collect()) as results:  # type: ignore[type-var]
        assert next(results) == 2  # type: ignore[arg-type]


class CountAll(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: str, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b
