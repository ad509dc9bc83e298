"""Kinesis sources and sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from funke.common.serialization import DeserializationSchema, SerializationSchema
from funke.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper
from funke.datastream.connectors.base import Sink
from funke.datastream.connectors.kept_settings import Choice, KeptSettings
from funke.datastream.functions import SourceFunction
from funke.engine.errors import UnsupportedFeatureError

__all__ = [
    "KinesisShardAssigner",
    "KinesisDeserializationSchema",
    "WatermarkTracker",
    "PartitionKeyGenerator",
    "FlinkKinesisConsumer",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
]

_REASON = "the Kinesis connector is not available yet"


class KinesisShardAssigner(Choice):
    """Which subtask reads a shard."""

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Assign by the hash of the shard."""
        return KinesisShardAssigner("default_shard_assigner")

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Assign so that subtasks read similar ranges of hash keys."""
        return KinesisShardAssigner("uniform_shard_assigner")


class KinesisDeserializationSchema:
    """Turns Kinesis records into elements."""


class WatermarkTracker(Choice):
    """Keeps the event time of shards together."""

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """Keep track of the global watermark in the coordinator."""
        return WatermarkTracker(
            "job_manager_watermark_tracker",
            aggregate_name=aggregate_name,
            log_accumulator_interval_millis=log_accumulator_interval_millis,
        )


class FlinkKinesisConsumer(KeptSettings, SourceFunction):
    """Reads streams."""

    def __init__(
        self,
        streams: str | list[str],
        deserializer: DeserializationSchema | KinesisDeserializationSchema,
        config_props: dict[str, str],
    ) -> None:
        raise UnsupportedFeatureError("FlinkKinesisConsumer", _REASON)

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Set the shard assigner."""
        return self._keep(shard_assigner=shard_assigner)

    def set_periodic_watermark_assigner(
        self, periodic_watermark_assigner: AssignerWithPeriodicWatermarksWrapper
    ) -> FlinkKinesisConsumer:
        """Set the periodic watermark assigner."""
        return self._keep(periodic_watermark_assigner=periodic_watermark_assigner)

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """Set the watermark tracker."""
        return self._keep(watermark_tracker=watermark_tracker)


class PartitionKeyGenerator(Choice):
    """How the partition key of a record is chosen."""

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """Let each subtask write with one key."""
        return PartitionKeyGenerator("fixed")

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """Choose a random key for each record."""
        return PartitionKeyGenerator("random")


class KinesisStreamsSink(Sink):
    """Writes data streams."""

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """Start the settings of a sink."""
        return KinesisStreamsSinkBuilder()


class KinesisStreamsSinkBuilder(KeptSettings):
    """Collects the settings of a sink."""

    def set_stream_name(self, stream_name: str | list[str]) -> KinesisStreamsSinkBuilder:
        """Set the stream name."""
        return self._keep(stream_name=stream_name)

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> KinesisStreamsSinkBuilder:
        """Set the serialization schema."""
        return self._keep(serialization_schema=serialization_schema)

    def set_partition_key_generator(self, partition_key_generator: PartitionKeyGenerator) -> KinesisStreamsSinkBuilder:
        """Set the partition key generator."""
        return self._keep(partition_key_generator=partition_key_generator)

    def set_fail_on_error(self, fail_on_error: bool) -> KinesisStreamsSinkBuilder:
        """Choose whether a failed write fails the job."""
        return self._keep(fail_on_error=fail_on_error)

    def set_kinesis_client_properties(self, kinesis_client_properties: dict[str, str]) -> KinesisStreamsSinkBuilder:
        """Set the kinesis client properties."""
        return self._keep(kinesis_client_properties=kinesis_client_properties)

    def set_max_batch_size(self, max_batch_size: int) -> KinesisStreamsSinkBuilder:
        """Set the max batch size."""
        return self._keep(max_batch_size=max_batch_size)

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> KinesisStreamsSinkBuilder:
        """Set the max in flight requests."""
        return self._keep(max_in_flight_requests=max_in_flight_requests)

    def set_max_buffered_requests(self, max_buffered_requests: int) -> KinesisStreamsSinkBuilder:
        """Set the max buffered requests."""
        return self._keep(max_buffered_requests=max_buffered_requests)

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> KinesisStreamsSinkBuilder:
        """Set the max batch size in bytes."""
        return self._keep(max_batch_size_in_bytes=max_batch_size_in_bytes)

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> KinesisStreamsSinkBuilder:
        """Set the max time in buffer ms."""
        return self._keep(max_time_in_buffer_ms=max_time_in_buffer_ms)

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> KinesisStreamsSinkBuilder:
        """Set the max record size in bytes."""
        return self._keep(max_record_size_in_bytes=max_record_size_in_bytes)

    def build(self) -> KinesisStreamsSink:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Kinesis streams sink", _REASON)


class KinesisFirehoseSink(Sink):
    """Writes delivery streams."""

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """Start the settings of a sink."""
        return KinesisFirehoseSinkBuilder()


class KinesisFirehoseSinkBuilder(KeptSettings):
    """Collects the settings of a sink."""

    def set_delivery_stream_name(self, delivery_stream_name: str) -> KinesisFirehoseSinkBuilder:
        """Set the delivery stream name."""
        return self._keep(delivery_stream_name=delivery_stream_name)

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> KinesisFirehoseSinkBuilder:
        """Set the serialization schema."""
        return self._keep(serialization_schema=serialization_schema)

    def set_fail_on_error(self, fail_on_error: bool) -> KinesisFirehoseSinkBuilder:
        """Choose whether a failed write fails the job."""
        return self._keep(fail_on_error=fail_on_error)

    def set_firehose_client_properties(self, firehose_client_properties: dict[str, str]) -> KinesisFirehoseSinkBuilder:
        """Set the firehose client properties."""
        return self._keep(firehose_client_properties=firehose_client_properties)

    def set_max_batch_size(self, max_batch_size: int) -> KinesisFirehoseSinkBuilder:
        """Set the max batch size."""
        return self._keep(max_batch_size=max_batch_size)

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> KinesisFirehoseSinkBuilder:
        """Set the max in flight requests."""
        return self._keep(max_in_flight_requests=max_in_flight_requests)

    def set_max_buffered_requests(self, max_buffered_requests: int) -> KinesisFirehoseSinkBuilder:
        """Set the max buffered requests."""
        return self._keep(max_buffered_requests=max_buffered_requests)

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> KinesisFirehoseSinkBuilder:
        """Set the max batch size in bytes."""
        return self._keep(max_batch_size_in_bytes=max_batch_size_in_bytes)

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> KinesisFirehoseSinkBuilder:
        """Set the max time in buffer ms."""
        return self._keep(max_time_in_buffer_ms=max_time_in_buffer_ms)

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> KinesisFirehoseSinkBuilder:
        """Set the max record size in bytes."""
        return self._keep(max_record_size_in_bytes=max_record_size_in_bytes)

    def build(self) -> KinesisFirehoseSink:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Kinesis firehose sink", _REASON)
