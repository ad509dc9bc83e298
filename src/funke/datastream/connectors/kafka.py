"""Kafka sources and sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any

from funke.common.serialization import DeserializationSchema, SerializationSchema
from funke.common.typeinfo import TypeInformation
from funke.datastream.connectors.base import DeliveryGuarantee, Sink, Source, StreamTransformer, SupportsPreprocessing
from funke.datastream.connectors.kept_settings import Choice, KeptSettings
from funke.datastream.functions import SinkFunction, SourceFunction
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.types.enum_members import require_member
from funke.passed_on_names import pass_on_names

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "Semantic",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicPartition",
    "KafkaOffsetsInitializer",
    "KafkaOffsetResetStrategy",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
]

pass_on_names(__name__)

_REASON = "the Kafka connector is not available yet"


class Semantic(Enum):
    """The guarantee of the older producer."""

    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2


class KafkaOffsetResetStrategy(Enum):
    """Where reading starts when there is no valid offset."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class FlinkKafkaConsumerBase(KeptSettings, SourceFunction, ABC):
    """Settings of the older source."""

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumerBase:
        """Choose whether offsets are committed with checkpoints."""
        return self._keep(commit_offsets_on_checkpoints=commit_on_checkpoints)

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Start at the first record."""
        return self._keep(set_start_from_earliest=True)

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Start with the records to come."""
        return self._keep(set_start_from_latest=True)

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Start at the first record that is not older."""
        return self._keep(start_from_timestamp=startup_offsets_timestamp)

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Start at the offsets the group has committed."""
        return self._keep(set_start_from_group_offsets=True)

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Turn filter restored partitions with subscribed topics off."""
        return self._keep(disable_filter_restored_partitions_with_subscribed_topics=True)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the elements."""
        produced: TypeInformation = self.settings["deserialization_schema"].get_produced_type()
        return produced


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """The older source."""

    def __init__(
        self, topics: str | list[str], deserialization_schema: DeserializationSchema, properties: dict[str, str]
    ) -> None:
        raise UnsupportedFeatureError("FlinkKafkaConsumer", _REASON)


class FlinkKafkaProducerBase(KeptSettings, SinkFunction, ABC):
    """Settings of the older sink."""

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """Choose whether failures are only logged."""
        return self._keep(log_failures_only=log_failures_only)

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Choose whether a checkpoint waits for pending records."""
        return self._keep(flush_on_checkpoint=flush_on_checkpoint)

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducerBase:
        """Choose whether timestamps are written."""
        return self._keep(write_timestamp_to_kafka=write_timestamp_to_kafka)


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """The older sink."""

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: dict[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        raise UnsupportedFeatureError("FlinkKafkaProducer", _REASON)

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Ignore transactions that have timed out when the job recovers."""
        return self._keep(ignore_failures_after_transaction_timeout=True)


class KafkaSource(Source):
    """Reads topics."""

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Start the settings of a source."""
        return KafkaSourceBuilder()


class KafkaSourceBuilder(KeptSettings):
    """Collects the settings of a source."""

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the bootstrap servers."""
        return self._keep(bootstrap_servers=bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the group id."""
        return self._keep(group_id=group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Set the topics."""
        return self._keep(topics=topics)

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Set the topic pattern."""
        return self._keep(topic_pattern=topic_pattern)

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Set the partitions."""
        return self._keep(partitions=partitions)

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Set the starting offsets."""
        return self._keep(starting_offsets=starting_offsets_initializer)

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stop at the given offsets, in an unbounded job."""
        return self._keep(unbounded=stopping_offsets_initializer)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stop at the given offsets, and end."""
        return self._keep(bounded=stopping_offsets_initializer)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> KafkaSourceBuilder:
        """Set the value only deserializer."""
        return self._keep(value_only_deserializer=deserialization_schema)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the client id prefix."""
        return self._keep(client_id_prefix=prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set the property."""
        return self._keep_property(key, value)

    def set_properties(self, props: dict[str, str]) -> KafkaSourceBuilder:
        """Set the properties."""
        return self._keep_properties(props)

    def build(self) -> KafkaSource:
        """Refuse: the connector does not work yet."""
        raise UnsupportedFeatureError("Kafka source", _REASON)


class KafkaTopicPartition:
    """One partition of a topic."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KafkaTopicPartition):
            return False
        return (self._topic, self._partition) == (other._topic, other._partition)

    def __hash__(self) -> int:
        return hash((self._topic, self._partition))

    def __repr__(self) -> str:
        return f"KafkaTopicPartition({self._topic!r}, {self._partition})"


class KafkaOffsetsInitializer(Choice):
    """Where reading starts or stops."""

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets the group has committed."""
        require_member(KafkaOffsetResetStrategy, offset_reset_strategy, "committed_offsets()")
        return KafkaOffsetsInitializer("committed_offsets", offset_reset_strategy=offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record that is not older than `timestamp`."""
        return KafkaOffsetsInitializer("timestamp", timestamp=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of the partition at the start of the job."""
        return KafkaOffsetsInitializer("latest")

    @staticmethod
    def offsets(
        offsets: dict[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The given offsets, and for other partitions what `offset_reset_strategy` says."""
        require_member(KafkaOffsetResetStrategy, offset_reset_strategy, "offsets()")
        return KafkaOffsetsInitializer("offsets", offsets=offsets, offset_reset_strategy=offset_reset_strategy)


class KafkaSink(Sink, SupportsPreprocessing):
    """Writes topics."""

    def __init__(self, sink: Any, transformer: StreamTransformer | None = None) -> None:
        super().__init__(sink)
        self._transformer = transformer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Start the settings of a sink."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        """Return what prepares the stream for the sink, or None."""
        return self._transformer


class KafkaSinkBuilder(KeptSettings):
    """Collects the settings of a sink."""

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the bootstrap servers."""
        return self._keep(bootstrap_servers=bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set the delivery guarantee."""
        require_member(DeliveryGuarantee, delivery_guarantee, "set_delivery_guarantee()")
        return self._keep(delivery_guarantee=delivery_guarantee)

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the transactional id prefix."""
        return self._keep(transactional_id_prefix=transactional_id_prefix)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """Set the record serializer."""
        return self._keep(record_serializer=record_serializer)

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set the property."""
        return self._keep_property(key, value)

    def build(self) -> KafkaSink:
        """Refuse: the connector does not work yet."""
        raise UnsupportedFeatureError("Kafka sink", _REASON)


class KafkaTopicSelector(ABC):
    """Chooses the topic of a record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic of a record."""


class _FunctionTopicSelector(KafkaTopicSelector):
    """Chooses the topic by a plain function."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def apply(self, data: Any) -> str:
        """Call the function."""
        return self._function(data)


class KafkaRecordSerializationSchema(SerializationSchema):
    """Turns elements into Kafka records: topic, key and value."""

    def __init__(
        self,
        topic_selector: KafkaTopicSelector | None = None,
        topic: str | None = None,
        key_serialization_schema: SerializationSchema | None = None,
        value_serialization_schema: SerializationSchema | None = None,
    ) -> None:
        self.topic_selector = topic_selector
        self.topic = topic
        self.key_serialization_schema = key_serialization_schema
        self.value_serialization_schema = value_serialization_schema

    def serialize(self, value: Any) -> bytes:
        """Return the value of the record of an element."""
        if self.value_serialization_schema is None:
            raise ConfigurationError("a Kafka record needs a schema of values; call set_value_serialization_schema()")
        return self.value_serialization_schema.serialize(value)

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Start the settings of a schema."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """Collects the settings of a record schema."""

    def __init__(self) -> None:
        self._topic: str | None = None
        self._topic_selector: KafkaTopicSelector | None = None
        self._key_serialization_schema: SerializationSchema | None = None
        self._value_serialization_schema: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to one topic."""
        self._topic, self._topic_selector = topic, None
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record by a selector or a plain function."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic_selector = topic_selector
        elif callable(topic_selector):
            self._topic_selector = _FunctionTopicSelector(topic_selector)
        else:
            raise TypeError(f"topic_selector must be a KafkaTopicSelector or a callable, got {topic_selector!r}")
        self._topic = None
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of keys."""
        self._key_serialization_schema = key_serialization_schema
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of values."""
        self._value_serialization_schema = value_serialization_schema
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema."""
        return KafkaRecordSerializationSchema(
            self._topic_selector, self._topic, self._key_serialization_schema, self._value_serialization_schema
        )
