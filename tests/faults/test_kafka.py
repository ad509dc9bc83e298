"""Kafka in, a keyed sum, Kafka out, exactly once: slots and the driver's commits die on the way."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import cloudpickle
import pytest

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

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker

pytestmark = pytest.mark.spark

TRANSFERS, ACCOUNTS = 4_000, 20


@pytest.fixture(scope="module", autouse=True)
def functions_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


class Balance(KeyedProcessFunction):
    """The balance of an account after each of its transfers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        number, account, amount = value
        balance = (self.balance.value() or 0) + amount
        self.balance.update(balance)
        yield json.dumps({"id": number, "account": account, "balance": balance})


def parse(text: str) -> tuple[int, int, int]:
    transfer = json.loads(text)
    return transfer["id"], transfer["account"], transfer["amount"]


def run(kafka: KafkaBroker, source: str, target: str, checkpoints: Path, fault: str) -> None:
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(checkpoints))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "5")
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    configuration.set_string("funke.fault", fault)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(300)
    transfers = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.bootstrap_servers)
        .set_topics(source)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_property("max.poll.records", "50")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    record = KafkaRecordSerializationSchema.builder().set_topic(target)
    record = record.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_record_serializer(record.build())
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(target)
    stream = env.from_source(transfers, WatermarkStrategy.no_watermarks(), "transfers")
    parsed = stream.map(slow_parse, Types.TUPLE([Types.INT(), Types.INT(), Types.INT()]))
    parsed.key_by(lambda transfer: transfer[1]).process(Balance(), Types.STRING()).sink_to(sink.build())
    env.execute()


def slow_parse(text: str) -> tuple[int, int, int]:
    import time

    time.sleep(0.0005)
    return parse(text)


@pytest.mark.usefixtures("spark")
def test_slots_that_die_lose_and_double_nothing(kafka: KafkaBroker, tmp_path: Path) -> None:
    source, target = (kafka.create_topic(f"{name}-{uuid4().hex[:8]}", 4) for name in ("transfers", "balances"))
    transfers = [{"id": n, "account": n % ACCOUNTS, "amount": n % 7 - 3} for n in range(TRANSFERS)]
    kafka.produce(source, [(str(each["account"]), json.dumps(each)) for each in transfers])
    faults = ("before-reading:20:kill", "after-barrier:3:kill", "after-metadata:2:raise", "after-metadata:3:sleep=1.5")
    run(kafka, source, target, tmp_path / "chk", ",".join(f"{each}@{tmp_path}/faults" for each in faults))
    happened = {path.name.rpartition(".")[0] for path in (tmp_path / "faults").iterdir() if "." in path.name}
    assert len(happened) >= 3, happened
    balances = [json.loads(value) for value in kafka.values(target, TRANSFERS + 1, seconds=3)]
    assert sorted(each["id"] for each in balances) == list(range(TRANSFERS))
    expected: dict[int, int] = defaultdict(int)
    for each in transfers:
        expected[each["account"]] += each["amount"]
    last = {each["account"]: each["balance"] for each in sorted(balances, key=lambda each: each["id"])}
    assert last == expected
