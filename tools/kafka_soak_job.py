"""The job that `tools/kafka_soak.py` disturbs: transfers from a topic, a balance by account, into a topic exactly once.

    SOAK_SERVERS=host:port funke run tools/kafka_soak_job.py

It has no end, and looks for new partitions every second.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from funke.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from funke.datastream.state import ValueStateDescriptor

SOURCE, TARGET, GROUP = "transfers", "balances", "soak"


class Balance(KeyedProcessFunction):
    """After each transfer: how many its account has had, and what they come to."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Gets the state."""
        kind = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.account = runtime_context.get_state(ValueStateDescriptor("account", kind))

    def process_element(self, value: dict[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """One record for each."""
        count, balance = self.account.value() or (0, 0)
        count, balance = count + 1, balance + value["amount"]
        self.account.update((count, balance))
        yield json.dumps({**value, "count": count, "balance": balance})


def build(env: StreamExecutionEnvironment, servers: str) -> None:
    """Describes the job."""
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(SOURCE).set_group_id(GROUP)
    source = source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source = source.set_property("partition.discovery.interval.ms", "1000")
    source = source.set_value_only_deserializer(SimpleStringSchema())
    record = KafkaRecordSerializationSchema.builder().set_topic(TARGET)
    record = record.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(record.build())
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(GROUP)
    transfers = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), SOURCE)
    parsed: Any = transfers.map(json.loads, Types.PICKLED_BYTE_ARRAY())
    by_account = parsed.key_by(lambda transfer: transfer["account"], Types.LONG())
    by_account.process(Balance(), Types.STRING()).sink_to(sink.build())


if __name__ == "__main__":
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration())
    build(environment, os.environ["SOAK_SERVERS"])
    environment.execute("kafka soak")
