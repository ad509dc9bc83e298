"""A string where a member of an enumeration is needed: the error says what to write, with the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from funke.common import Duration, ExecutionConfig, Row, RowKind
from funke.datastream import EmbeddedRocksDBStateBackend, StreamExecutionEnvironment
from funke.datastream.connectors.cassandra import MapperOptions
from funke.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder
from funke.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSink
from funke.datastream.connectors.pulsar import PulsarSink
from funke.datastream.state import StateTtlConfig
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import TypeMismatchError

ENV = StreamExecutionEnvironment.get_execution_environment()
TTL = StateTtlConfig.new_builder(Duration.of_seconds(1))


@pytest.mark.parametrize(
    ("setter", "arguments", "expected"),
    [
        (ENV.set_runtime_mode, "BATCH", "RuntimeExecutionMode.BATCH"),
        (ENV.set_runtime_mode, "batch", "RuntimeExecutionMode.BATCH"),
        (lambda mode: ENV.enable_checkpointing(1000, mode), "EXACTLY_ONCE", "CheckpointingMode.EXACTLY_ONCE"),
        (ENV.set_stream_time_characteristic, "EventTime", "TimeCharacteristic.EventTime"),
        (ENV.get_checkpoint_config().set_checkpointing_mode, "AT_LEAST_ONCE", "CheckpointingMode.AT_LEAST_ONCE"),
        (
            ENV.get_checkpoint_config().set_externalized_checkpoint_retention,
            "RETAIN_ON_CANCELLATION",
            "ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION",
        ),
        (
            ENV.get_checkpoint_config().enable_externalized_checkpoints,
            "DELETE_ON_CANCELLATION",
            "ExternalizedCheckpointCleanup.DELETE_ON_CANCELLATION",
        ),
        (EmbeddedRocksDBStateBackend().set_predefined_options, "DEFAULT", "PredefinedOptions.DEFAULT"),
        (EmbeddedRocksDBStateBackend().set_priority_queue_state_type, "HEAP", "PriorityQueueStateType.HEAP"),
        (ExecutionConfig().set_execution_mode, "PIPELINED", "ExecutionMode.PIPELINED"),
        (ExecutionConfig().set_default_input_dependency_constraint, "ANY", "InputDependencyConstraint.ANY"),
        (TTL.set_update_type, "OnReadAndWrite", "StateTtlConfig.UpdateType.OnReadAndWrite"),
        (TTL.set_state_visibility, "NeverReturnExpired", "StateTtlConfig.StateVisibility.NeverReturnExpired"),
        (TTL.set_ttl_time_characteristic, "ProcessingTime", "StateTtlConfig.TtlTimeCharacteristic.ProcessingTime"),
        (TumblingEventTimeWindows.of(Duration.of_seconds(1)).with_stagger, "NATURAL", "WindowStagger.NATURAL"),
        (Row(1).set_row_kind, "DELETE", "RowKind.DELETE"),
        (lambda kind: Row.of_kind(kind, 1), "INSERT", "RowKind.INSERT"),
        (KafkaOffsetsInitializer.committed_offsets, "LATEST", "KafkaOffsetResetStrategy.LATEST"),
        (lambda strategy: KafkaOffsetsInitializer.offsets({}, strategy), "LATEST", "KafkaOffsetResetStrategy.LATEST"),
        (KafkaSink.builder().set_delivery_guarantee, "EXACTLY_ONCE", "DeliveryGuarantee.EXACTLY_ONCE"),
        (PulsarSink.builder().set_delivery_guarantee, "NONE", "DeliveryGuarantee.NONE"),
        (PulsarSink.builder().set_topic_routing_mode, "ROUND_ROBIN", "TopicRoutingMode.ROUND_ROBIN"),
        (Elasticsearch7SinkBuilder().set_delivery_guarantee, "NONE", "DeliveryGuarantee.NONE"),
        (
            lambda kind: Elasticsearch7SinkBuilder().set_bulk_flush_backoff_strategy(kind, 1, 1),
            "CONSTANT",
            "FlushBackoffType.CONSTANT",
        ),
        (MapperOptions().consistency_level, "ONE", "ConsistencyLevel.ONE"),
    ],
)
def test_a_string_for_a_member_is_rejected_with_the_member(
    setter: Callable[[Any], Any], arguments: str, expected: str
) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        setter(arguments)

    text, location = str(caught.value).splitlines()
    assert f"got '{arguments}'; write " in text and text.endswith(expected)
    assert location.startswith("  in your job: test_enum_arguments.py:")


def test_a_string_that_names_nothing_is_rejected_with_all_members() -> None:
    with pytest.raises(TypeMismatchError, match=r"got 'STREAM'; write RuntimeExecutionMode\.STREAMING, Runtime.*BATCH"):
        ENV.set_runtime_mode("STREAM")  # type: ignore[arg-type]


def test_members_are_taken() -> None:
    row = Row.of_kind(RowKind.DELETE, 1)
    assert row.get_row_kind() is RowKind.DELETE
