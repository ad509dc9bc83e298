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
    """Tells in which clusters and topics a stream lies."""


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Every stream is the topic of its name in one cluster."""

    def __init__(self, kafka_cluster_id: str, properties: dict[str, str]) -> None:
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = properties


class KafkaStreamSubscriber:
    """Tells which streams are read."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Reads a set of streams."""

    def __init__(self, stream_ids: set[str]) -> None:
        self.stream_ids = stream_ids


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Reads the streams whose names match a pattern."""

    def __init__(self, stream_pattern: str) -> None:
        self.stream_pattern = stream_pattern


class KafkaRecordDeserializationSchema(DeserializationSchema):
    """Turns Kafka records into elements."""

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
    """Reads streams that may lie in several clusters."""

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """Start the settings of a source."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder(KeptSettings):
    """Collects the settings of a source."""

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
