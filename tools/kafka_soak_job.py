"""The job that `tools/kafka_soak.py` disturbs: transfers from a topic, a balance by account, into a topic and a table.

    SOAK_SERVERS=host:port SOAK_DATABASE=jdbc:… SOAK_USER=… SOAK_PASSWORD=… funke run tools/kafka_soak_job.py

Both are written exactly once. It looks for new partitions every second and has no end, unless SOAK_PAUSE_S is set: then
it reads what is there when it starts, and takes so many seconds for each transfer. SOAK_TOPICS=in,out are other names.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from funke.common import Configuration, Row, SimpleStringSchema, Types, WatermarkStrategy
from funke.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from funke.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from funke.datastream.state import ValueStateDescriptor

SOURCE, TARGET, GROUP = "transfers", "balances", "soak"
FIELDS = ("id", "account", "count", "balance")


@dataclass(frozen=True)
class Systems:
    """Where the job reads and writes; the program is told by its environment."""

    servers: str
    database: JdbcConnectionOptions
    # Topics; the table has the name of the target.
    source: str
    target: str
    # Without one, the job has no end.
    pause_s: float | None = None


def variables_of(servers: str, database: str, user: str, password: str) -> dict[str, str]:
    """What the program's environment must hold."""
    return {"SOAK_SERVERS": servers, "SOAK_DATABASE": database, "SOAK_USER": user, "SOAK_PASSWORD": password}


def table(name: str) -> str:
    """The statement that makes the table."""
    return f"CREATE TABLE {name} (id BIGINT, account BIGINT, count BIGINT, balance BIGINT)"


class Balance(KeyedProcessFunction):
    """After each transfer: how many its account has had, and what they come to."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Gets the state."""
        kind = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.account = runtime_context.get_state(ValueStateDescriptor("account", kind))

    def process_element(self, value: dict[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[dict[str, int]]:
        """One record for each."""
        count, balance = self.account.value() or (0, 0)
        count, balance = count + 1, balance + value["amount"]
        self.account.update((count, balance))
        yield {"id": value["id"], "account": value["account"], "count": count, "balance": balance}


def build(env: StreamExecutionEnvironment, systems: Systems) -> None:
    """Describes the job."""
    parsed: Any = _transfers(env, systems).map(_reading(systems.pause_s), Types.PICKLED_BYTE_ARRAY())
    by_account = parsed.key_by(lambda transfer: transfer["account"], Types.LONG())
    balances = by_account.process(Balance(), Types.PICKLED_BYTE_ARRAY())
    balances.map(json.dumps, Types.STRING()).sink_to(_topic_sink(systems)).name("topic")
    kind = Types.ROW([Types.LONG()] * len(FIELDS))
    rows = balances.map(lambda balance: Row(*(balance[name] for name in FIELDS)), kind)
    insert = f"INSERT INTO {systems.target} VALUES (?, ?, ?, ?)"
    rows.add_sink(JdbcSink.exactly_once_sink(insert, kind, systems.database)).name("table")


def _transfers(env: StreamExecutionEnvironment, systems: Systems) -> DataStream:
    source = KafkaSource.builder().set_bootstrap_servers(systems.servers).set_topics(systems.source)
    source = source.set_group_id(GROUP).set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source = source.set_property("partition.discovery.interval.ms", "1000")
    if systems.pause_s is not None:
        # Little at a time, so that checkpoints come in between.
        source = source.set_property("max.poll.records", "20").set_bounded(KafkaOffsetsInitializer.latest())
    source = source.set_value_only_deserializer(SimpleStringSchema())
    return env.from_source(source.build(), WatermarkStrategy.no_watermarks(), SOURCE)


def _reading(pause_s: float | None) -> Any:
    if pause_s is None:
        return json.loads

    def read(text: str) -> Any:
        time.sleep(pause_s)
        return json.loads(text)

    return read


def _topic_sink(systems: Systems) -> KafkaSink:
    record = KafkaRecordSerializationSchema.builder().set_topic(systems.target)
    record = record.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(systems.servers).set_record_serializer(record.build())
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(systems.target)
    return sink.build()


def main() -> None:
    """Runs the job."""
    variables = os.environ
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(variables["SOAK_DATABASE"])
    options = options.with_user_name(variables["SOAK_USER"]).with_password(variables["SOAK_PASSWORD"])
    pause_s = float(variables["SOAK_PAUSE_S"]) if "SOAK_PAUSE_S" in variables else None
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    topics = variables.get("SOAK_TOPICS", f"{SOURCE},{TARGET}").split(",")
    build(env, Systems(variables["SOAK_SERVERS"], options.build(), *topics, pause_s))
    env.execute("kafka soak")


if __name__ == "__main__":
    main()
