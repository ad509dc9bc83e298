"""Connectors that do not work yet: their builders take everything PyFlink's take, and reject at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from funke.common.serialization import SimpleStringSchema
from funke.common.time import Duration
from funke.datastream.connectors import cassandra, dynamic_kafka, elasticsearch, jdbc, kinesis, pulsar, rabbitmq
from funke.datastream.connectors.hybrid_source import HybridSource
from funke.datastream.connectors.number_seq import NumberSequenceSource
from funke.engine.errors import UnsupportedFeatureError

TEXT = SimpleStringSchema()


def elasticsearch_sink() -> Any:
    builder = elasticsearch.Elasticsearch7SinkBuilder().set_hosts(["host:9200"])
    builder.set_emitter(elasticsearch.ElasticsearchEmitter.static_index("index", "key"))
    return builder.set_bulk_flush_backoff_strategy(elasticsearch.FlushBackoffType.CONSTANT, 5, 1000)


def pulsar_source() -> Any:
    builder = pulsar.PulsarSource.builder().set_service_url("pulsar://host").set_topics("t")
    builder.set_start_cursor(pulsar.StartCursor.earliest()).set_bounded_stop_cursor(pulsar.StopCursor.latest())
    return builder.set_config("key", 1).set_deserialization_schema(TEXT)


def pulsar_sink() -> Any:
    builder = pulsar.PulsarSink.builder().set_topics(["t"]).set_topic_routing_mode(pulsar.TopicRoutingMode.ROUND_ROBIN)
    return builder.delay_sending_message(pulsar.MessageDelayer.fixed(Duration.of_seconds(1)))


def cassandra_sink() -> Any:
    stream: Any = None
    return cassandra.CassandraSink.add_sink(stream).set_query("INSERT").set_host("host").enable_write_ahead_log()


def dynamic_kafka_source() -> Any:
    builder = dynamic_kafka.DynamicKafkaSource.builder().set_stream_ids({"a"})
    service = dynamic_kafka.SingleClusterTopicMetadataService("cluster", {"bootstrap.servers": "host"})
    return builder.set_kafka_metadata_service(service).set_value_only_deserializer(TEXT)


@pytest.mark.parametrize(
    ("make", "feature"),
    [
        (dynamic_kafka_source, "Dynamic Kafka source"),
        (elasticsearch_sink, "Elasticsearch sink"),
        (pulsar_source, "Pulsar source"),
        (pulsar_sink, "Pulsar sink"),
        (cassandra_sink, "Cassandra sink"),
        (lambda: kinesis.KinesisStreamsSink.builder().set_stream_name("s"), "Kinesis streams sink"),
        (lambda: kinesis.KinesisFirehoseSink.builder().set_delivery_stream_name("s"), "Kinesis firehose sink"),
        (lambda: HybridSource.builder(NumberSequenceSource(1, 2)), "Hybrid source"),
    ],
)
def test_build_names_what_is_missing(make: Callable[[], Any], feature: str) -> None:
    builder = make()

    with pytest.raises(UnsupportedFeatureError, match=f"{feature} is not supported") as caught:
        builder.build()
    assert str(caught.value).splitlines()[-1].startswith("  in your job: test_unavailable_connectors.py:")


@pytest.mark.parametrize(
    ("call", "feature"),
    [
        (lambda: kinesis.FlinkKinesisConsumer("s", TEXT, {}), "FlinkKinesisConsumer"),
        (lambda: rabbitmq.RMQSource(rabbit_config(), "q", False, TEXT), "RabbitMQ source"),
        (lambda: rabbitmq.RMQSink(rabbit_config(), "q", TEXT), "RabbitMQ sink"),
    ],
)
def test_connectors_without_a_builder_reject_at_once(call: Callable[[], Any], feature: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=feature) as caught:
        call()
    assert str(caught.value).splitlines()[-1].startswith("  in your job: test_unavailable_connectors.py:")


def rabbit_config() -> rabbitmq.RMQConnectionConfig:
    builder = rabbitmq.RMQConnectionConfig.Builder().set_host("host").set_port(5672).set_virtual_host("/")
    return builder.set_user_name("u").set_password("p").set_prefetch_count(3).build()


def jdbc_connection() -> jdbc.JdbcConnectionOptions:
    builder = jdbc.JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:x").with_driver_name("d")
    return builder.with_user_name("u").with_password("p").build()


def test_connection_options_are_readable() -> None:
    config, connection = rabbit_config(), jdbc_connection()

    assert (config.get_host(), config.get_port(), config.get_virtual_host()) == ("host", 5672, "/")
    assert (config.get_user_name(), config.get_uri()) == ("u", None)
    assert (connection.get_db_url(), connection.get_driver_name()) == ("jdbc:x", "d")
    assert (connection.get_user_name(), connection.get_password()) == ("u", "p")


def test_jdbc_execution_options() -> None:
    defaults = jdbc.JdbcExecutionOptions.defaults()
    builder = jdbc.JdbcExecutionOptions.builder().with_batch_size(10).with_batch_interval_ms(5).with_max_retries(1)
    options = builder.build()

    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (5000, 0, 3)
    assert (options.get_batch_size(), options.get_batch_interval_ms(), options.get_max_retries()) == (10, 5, 1)
