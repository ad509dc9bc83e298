"""The builders of Kafka sources and sinks: what they need, and what becomes of it. No broker is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from funke.common import SimpleStringSchema
from funke.datastream.connectors import kafka
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.engine.connectors.kafka.offsets import Offsets, Partition
from funke.engine.connectors.kafka.subscription import Subscription
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

TEXT = SimpleStringSchema()
EARLIEST = kafka.KafkaOffsetsInitializer.earliest()


def kafka_source() -> kafka.KafkaSourceBuilder:
    builder = kafka.KafkaSource.builder().set_bootstrap_servers("host:9092")
    return builder.set_value_only_deserializer(TEXT)


def kafka_sink() -> kafka.KafkaSinkBuilder:
    record = kafka.KafkaRecordSerializationSchema.builder().set_topic("t").set_value_serialization_schema(TEXT).build()
    return kafka.KafkaSink.builder().set_bootstrap_servers("host:9092").set_record_serializer(record)


def test_a_source_is_what_its_builder_was_given() -> None:
    builder = kafka_source().set_topics("a", "b").set_group_id("g").set_client_id_prefix("c")
    source = builder.set_properties({"fetch.min.bytes": "5"}).build().engine_source
    assert source.subscription == Subscription(topics=("a", "b"))
    assert source.starting == Offsets("earliest") and source.stopping is None and not source.is_bounded
    assert source.properties.settings == {
        "bootstrap.servers": "host:9092",
        "group.id": "g",
        "client.id.prefix": "c",
        "fetch.min.bytes": "5",
    }
    assert source.discovery_ms == 300_000 and source.commits_offsets
    bounded = kafka_source().set_topic_pattern("a.*").set_bounded(kafka.KafkaOffsetsInitializer.latest()).build()
    assert bounded.engine_source.discovery_ms is None and bounded.engine_source.is_bounded


def test_offsets() -> None:
    make, strategy = kafka.KafkaOffsetsInitializer, kafka.KafkaOffsetResetStrategy
    assert make.latest().to_offsets() == Offsets("latest", "latest")
    assert make.timestamp(5).to_offsets() == Offsets("timestamp", "latest", 5)
    assert make.committed_offsets(strategy.LATEST).to_offsets() == Offsets("committed", "latest")
    assert make.committed_offsets().to_offsets() == Offsets("committed", "none")
    settings = {kafka.KafkaTopicPartition("t", 1): 7}
    assert make.offsets(settings).to_offsets() == Offsets("offsets", "earliest", numbers={Partition("t", 1): 7})


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda: kafka.KafkaSource.builder().build(), "bootstrap.servers is required"),
        (lambda: kafka_source().build(), "set_topics"),
        (
            lambda: kafka.KafkaSource.builder().set_bootstrap_servers("host").set_topics("a").build(),
            "Deserialization schema is required",
        ),
        (lambda: kafka_source().set_topics("a").set_topic_pattern("a"), "topics is already set for consumption"),
        (
            lambda: (
                kafka_source()
                .set_topics("a")
                .set_starting_offsets(kafka.KafkaOffsetsInitializer.committed_offsets())
                .build()
            ),
            "group.id is required",
        ),
        (lambda: kafka.KafkaSink.builder().build(), "set_bootstrap_servers"),
        (lambda: kafka.KafkaSink.builder().set_bootstrap_servers("host").build(), "set_record_serializer"),
        (
            lambda: kafka_sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build(),
            "requires a transactionalIdPrefix",
        ),
        (
            lambda: kafka_source().set_topics("a").set_property("security.protocol", "nonsense").build(),
            "security.protocol",
        ),
    ],
)
def test_what_is_missing_is_said(make: Callable[[], Any], missing: str) -> None:
    with pytest.raises(ConfigurationError, match=missing):
        make()


def test_properties_without_effect_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "funke.kafka"):
        source = kafka_source().set_topics("a").set_property("no.such.thing", "1").build().engine_source
    assert "the property 'no.such.thing' is unknown to the Kafka client and has no effect" in caplog.text
    assert source.properties.get("no.such.thing") is None


def test_the_older_producer_does_not_lose_records_quietly() -> None:
    producer = kafka.FlinkKafkaProducer("t", TEXT, {"bootstrap.servers": "host"})
    assert producer.engine_sink.guarantee == "at-least-once"
    assert producer.set_flush_on_checkpoint(False).engine_sink.guarantee == "none"
    with pytest.raises(UnsupportedFeatureError, match="set_log_failures_only"):
        producer.set_log_failures_only(True)


def test_a_topic_may_be_chosen_by_a_function() -> None:
    builder = kafka.KafkaRecordSerializationSchema.builder().set_topic_selector(lambda value: f"topic-{value}")
    schema = builder.set_value_serialization_schema(TEXT).set_key_serialization_schema(TEXT).build()
    assert tuple(schema.records.records(["3"], [5])) == (["topic-3"], [b"3"], [b"3"], None, [5], None)
    with pytest.raises(TypeError, match="KafkaTopicSelector or a callable"):
        kafka.KafkaRecordSerializationSchema.builder().set_topic_selector(5)  # type: ignore[arg-type]
