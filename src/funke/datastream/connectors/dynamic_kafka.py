"""Kafka sources over topics of several clusters: PyFlink's builders, whose settings are kept."""

from __future__ import annotations

from typing import Any

from funke.common.serialization import DeserializationSchema
from funke.common.typeinfo import TypeInformation
from funke.datastream.connectors.base import Source
from funke.datastream.connectors.kafka import KafkaOffsetsInitializer
from funke.datastream.connectors.kept_settings import KeptSettings
from funke.engine.errors import UnsupportedFeatureError

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

_REASON = "topics of several clusters are not read as one; use KafkaSource for each"


class KafkaMetadataService:
    """Tells in which clusters and topics a stream lies.

    >>> from funke.datastream.connectors.dynamic_kafka import KafkaMetadataService, SingleClusterTopicMetadataService
    >>> service = SingleClusterTopicMetadataService("cluster", {"bootstrap.servers": "localhost:9092"})
    >>> isinstance(service, KafkaMetadataService)
    True
    """


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Every stream is the topic of its name in one cluster.

    >>> from funke.datastream.connectors.dynamic_kafka import SingleClusterTopicMetadataService
    >>> service = SingleClusterTopicMetadataService("cluster", {"bootstrap.servers": "localhost:9092"})
    >>> service.kafka_cluster_id
    'cluster'
    """

    def __init__(self, kafka_cluster_id: str, properties: dict[str, str]) -> None:
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = properties


class KafkaStreamSubscriber:
    """Tells which streams are read.

    >>> from funke.datastream.connectors.dynamic_kafka import KafkaStreamSetSubscriber, KafkaStreamSubscriber
    >>> isinstance(KafkaStreamSetSubscriber({"orders"}), KafkaStreamSubscriber)
    True
    """


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Reads a set of streams.

    >>> from funke.datastream.connectors.dynamic_kafka import KafkaStreamSetSubscriber
    >>> sorted(KafkaStreamSetSubscriber({"orders", "payments"}).stream_ids)
    ['orders', 'payments']
    """

    def __init__(self, stream_ids: set[str]) -> None:
        self.stream_ids = stream_ids


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Reads the streams whose names match a pattern.

    >>> from funke.datastream.connectors.dynamic_kafka import StreamPatternSubscriber
    >>> StreamPatternSubscriber("orders-.*").stream_pattern
    'orders-.*'
    """

    def __init__(self, stream_pattern: str) -> None:
        self.stream_pattern = stream_pattern


class KafkaRecordDeserializationSchema(DeserializationSchema):
    """Turns Kafka records into elements.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.dynamic_kafka import KafkaRecordDeserializationSchema
    >>> KafkaRecordDeserializationSchema.value_only(SimpleStringSchema()).deserialize(b"to be")
    'to be'
    """

    def __init__(self, value_schema: DeserializationSchema) -> None:
        self.value_schema = value_schema

    def deserialize(self, message: bytes) -> Any:
        """Return the element of the value of a record."""
        return self.value_schema.deserialize(message)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the elements."""
        return self.value_schema.get_produced_type()

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema:
        """Look at the value of a record only."""
        return KafkaRecordDeserializationSchema(deserialization_schema)


class DynamicKafkaSource(Source):
    """Reads streams that may lie in several clusters.

    >>> from funke.datastream.connectors.dynamic_kafka import DynamicKafkaSource
    >>> DynamicKafkaSource.builder().set_stream_ids({"orders"}).build()  # use KafkaSource
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: Dynamic Kafka source is not supported: topics of several clusters...
    """

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """Start the settings of a source."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder(KeptSettings):
    """Collects the settings of a source.

    >>> from funke.datastream.connectors.dynamic_kafka import DynamicKafkaSource, DynamicKafkaSourceBuilder
    >>> builder = DynamicKafkaSource.builder().set_stream_pattern("orders-.*").set_group_id("reports")
    >>> isinstance(builder, DynamicKafkaSourceBuilder), builder.settings["group_id"]  # build() is not supported yet
    (True, 'reports')
    """

    def set_stream_ids(self, stream_ids: set[str]) -> DynamicKafkaSourceBuilder:
        """Set the stream ids."""
        return self._keep(stream_ids=stream_ids)

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Set the stream pattern."""
        return self._keep(stream_pattern=stream_pattern)

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> DynamicKafkaSourceBuilder:
        """Set the kafka stream subscriber."""
        return self._keep(kafka_stream_subscriber=kafka_stream_subscriber)

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> DynamicKafkaSourceBuilder:
        """Set the kafka metadata service."""
        return self._keep(kafka_metadata_service=kafka_metadata_service)

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Set the deserializer."""
        return self._keep(deserializer=deserializer)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Set the value only deserializer."""
        return self._keep(value_only_deserializer=deserialization_schema)

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Set the starting offsets."""
        return self._keep(starting_offsets=starting_offsets_initializer)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Stop at the given offsets, and end."""
        return self._keep(bounded=stopping_offsets_initializer)

    def set_properties(self, props: dict[str, str]) -> DynamicKafkaSourceBuilder:
        """Set the properties."""
        return self._keep_properties(props)

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """Set the property."""
        return self._keep_property(key, value)

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """Set the group id."""
        return self._keep(group_id=group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """Set the client id prefix."""
        return self._keep(client_id_prefix=prefix)

    def build(self) -> DynamicKafkaSource:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Dynamic Kafka source", _REASON)
