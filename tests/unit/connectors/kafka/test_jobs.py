"""Streams that read and write Kafka, on a real broker; slots are threads, no Spark is needed."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from funke.common import Duration, SimpleStringSchema, Types, WatermarkStrategy
from funke.datastream import DataStream, StreamExecutionEnvironment
from funke.datastream.connectors.base import DeliveryGuarantee
from funke.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from funke.datastream.formats.json import JsonRowDeserializationSchema
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.producing import OutputRecords, RecordProducer
from funke.engine.connectors.kafka.transactions import TransactionalProducer
from funke.engine.errors import JobExecutionError, SinkError
from funke.engine.jobs.attempts.stream_coordinator import StreamCoordinator
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.runtime.pipelined import slot_loop
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from tests.harness.stream_threads import StreamRun, run_stream, write_at_once

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker

EARLIEST, LATEST = KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.latest()


@pytest.fixture(autouse=True)
def no_forks_and_quick_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SnapshotTaker, "start", write_at_once)
    # Tests wait for what slots report.
    monkeypatch.setattr(slot_loop, "_REPORT_S", 0.05)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def new_topic(kafka: KafkaBroker, partitions: int = 1, **configuration: str) -> str:
    return kafka.create_topic(f"topic-{uuid4().hex[:12]}", partitions, **configuration)


def source_of(kafka: KafkaBroker, *topics: str) -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap_servers)
    builder = builder.set_value_only_deserializer(SimpleStringSchema()).set_starting_offsets(EARLIEST)
    return builder.set_topics(*topics) if topics else builder


def sink_to(
    kafka: KafkaBroker, topic: str, guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE
) -> KafkaSink:
    records = KafkaRecordSerializationSchema.builder().set_topic(topic)
    records = records.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_record_serializer(records.build())
    return sink.set_delivery_guarantee(guarantee).set_transactional_id_prefix(f"to-{topic}").build()


def stream_of(env: StreamExecutionEnvironment, builder: KafkaSourceBuilder) -> DataStream:
    return env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "records")


def run(env: StreamExecutionEnvironment, **options: Any) -> StreamRun:
    return run_stream(env._builder.graph, **options)


def read(env: StreamExecutionEnvironment, builder: KafkaSourceBuilder) -> list[Any]:
    stream_of(env, builder).sink_to(CollectSink("out"))
    return run(env).collected


def stop_when(condition: Callable[[StreamCoordinator], bool]) -> Callable[[StreamCoordinator], None]:
    """Cancels an unbounded job, or lets the test fail after a while."""

    def watch(coordinator: StreamCoordinator) -> None:
        end = time.monotonic() + 60
        while not condition(coordinator) and time.monotonic() < end:
            time.sleep(0.02)
        coordinator.cancel()

    return lambda coordinator: threading.Thread(target=watch, args=(coordinator,), daemon=True).start()


def test_a_bounded_source_reads_all_partitions_and_ends(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic = new_topic(kafka, 3)
    kafka.produce(topic, [str(number) for number in range(3_000)])
    records = read(env, source_of(kafka, topic).set_bounded(LATEST))
    assert sorted(map(int, records)) == list(range(3_000))


def test_topics_by_pattern_and_partitions_by_number(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    mark = uuid4().hex[:8]
    topics = [kafka.create_topic(f"{mark}-{name}", 2) for name in ("a", "b", "other")]
    for topic in topics:
        for partition in range(2):
            kafka.produce(topic, [f"{topic[9:]}{partition}"], partition)
    by_pattern = source_of(kafka).set_topic_pattern(f"{mark}-[ab]").set_bounded(LATEST)
    assert sorted(read(env, by_pattern)) == ["a0", "a1", "b0", "b1"]
    env = StreamExecutionEnvironment.get_execution_environment()
    by_number = source_of(kafka).set_partitions({KafkaTopicPartition(topics[0], 1)}).set_bounded(LATEST)
    assert read(env, by_number) == ["a1"]


@pytest.mark.parametrize(
    ("starting", "stopping", "expected"),
    [
        (EARLIEST, LATEST, "0123456789"),
        (LATEST, LATEST, ""),
        (KafkaOffsetsInitializer.timestamp(5_000), LATEST, "456789"),
        (KafkaOffsetsInitializer.timestamp(99_000), LATEST, ""),
        (EARLIEST, KafkaOffsetsInitializer.timestamp(5_000), "0123"),
    ],
)
def test_where_reading_starts_and_stops(
    env: StreamExecutionEnvironment,
    kafka: KafkaBroker,
    starting: KafkaOffsetsInitializer,
    stopping: KafkaOffsetsInitializer,
    expected: str,
) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, [(None, str(number), 1_000 + number * 1_000) for number in range(10)])
    records = read(env, source_of(kafka, topic).set_starting_offsets(starting).set_bounded(stopping))
    assert "".join(records) == expected


def test_offsets_by_number_and_what_is_said_of_partitions_without_one(
    env: StreamExecutionEnvironment, kafka: KafkaBroker
) -> None:
    topic = new_topic(kafka, 2)
    for partition in range(2):
        kafka.produce(topic, [f"{partition}{number}" for number in range(3)], partition)
    settings = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 2})
    records = read(env, source_of(kafka, topic).set_starting_offsets(settings).set_bounded(LATEST))
    assert sorted(records) == ["02", "10", "11", "12"]


def test_transactions_that_were_aborted_are_read_only_when_uncommitted_records_are_wanted(
    env: StreamExecutionEnvironment, kafka: KafkaBroker
) -> None:
    from confluent_kafka import Producer

    topic = new_topic(kafka)
    for text, is_kept in (("kept", True), ("dropped", False)):
        name = f"test-{uuid4().hex}"
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": name})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, text)
        producer.flush()
        producer.commit_transaction(30) if is_kept else producer.abort_transaction(30)
    committed = source_of(kafka, topic).set_property("isolation.level", "read_committed")
    assert read(env, committed.set_bounded(LATEST)) == ["kept"]
    env = StreamExecutionEnvironment.get_execution_environment()
    assert read(env, source_of(kafka, topic).set_bounded(LATEST)) == ["kept", "dropped"]


class Whole(KafkaRecordDeserializer):
    def deserialize_record(self, record: KafkaRecord) -> Any:
        return (record.partition, record.offset, record.timestamp, record.key, record.value, record.headers)


def test_records_with_key_headers_and_timestamp(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, [("k", "v", 5_000, [("h", b"1")]), (None, None, 6_000)])
    records = read(env, source_of(kafka, topic).set_deserializer(Whole()).set_bounded(LATEST))
    assert records == [(0, 0, 5_000, b"k", b"v", (("h", b"1"),)), (0, 1, 6_000, None, None, ())]


def test_a_malformed_record_is_named(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, ["1", "two", "3"])

    class Numbers(SimpleStringSchema):
        def deserialize(self, message: bytes) -> Any:
            return int(message)

    builder = source_of(kafka, topic).set_value_only_deserializer(Numbers()).set_bounded(LATEST)
    with pytest.raises(JobExecutionError, match=f"topic '{topic}', partition 0, offset 1.*ValueError"):
        read(env, builder)


def test_malformed_records_are_left_out_and_counted(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, ['{"id": 1}', "{nonsense", (None, None), '{"id": 3}'])
    kind = Types.ROW_NAMED(["id"], [Types.LONG()])
    schema = JsonRowDeserializationSchema.builder().type_info(kind)
    builder = source_of(kafka, topic).set_value_only_deserializer(schema.ignore_parse_errors().build())
    stream_of(env, builder).sink_to(CollectSink("out"))

    def are_counted(coordinator: StreamCoordinator) -> bool:
        results = [each for report in coordinator.statistics.subtasks.values() for each in report.metrics.values()]
        return coordinator.statistics.records_read == 2 and any(each.get("numRecordsInErrors") == 1 for each in results)

    with pytest.raises(JobExecutionError, match="cancelled"):
        run(env, on_start=stop_when(are_counted))
    # Text has no form for a record without a value.
    with pytest.raises(JobExecutionError, match=r"offset 2.: it has no value, which a KafkaRecordDeserializer takes"):
        read(StreamExecutionEnvironment.get_execution_environment(), source_of(kafka, topic).set_bounded(LATEST))


def test_records_come_while_the_job_runs_and_partitions_are_found(
    env: StreamExecutionEnvironment, kafka: KafkaBroker
) -> None:
    from confluent_kafka.admin import NewPartitions

    # Both subtasks have more than one: they must not be too busy to be given another.
    topic = new_topic(kafka, 4)
    builder = source_of(kafka, topic).set_property("partition.discovery.interval.ms", "100")
    stream_of(env, builder).sink_to(CollectSink("out"))
    seen: list[str] = []

    def grow(coordinator: StreamCoordinator) -> bool:
        records = coordinator.statistics.records_read
        if not seen:
            kafka.produce(topic, ["first"])
            seen.append("first")
        elif records == 1 and len(seen) == 1:
            client = kafka.client()
            client.create_partitions([NewPartitions(topic, 5)])[topic].result(30)
            kafka.produce(topic, ["second"], 4)
            seen.append("second")
        elif records == 2:
            seen.append("all")
        return seen[-1] == "all"

    with pytest.raises(JobExecutionError, match="cancelled"):
        run(env, on_start=stop_when(grow))
    assert seen == ["first", "second", "all"]


REPORTED: list[str] = []


def tell(value: str) -> str:
    """Notes what has come through; slots are threads here."""
    REPORTED.append(value)
    return value


def test_the_first_record_of_an_endless_job_comes_through_without_a_second_one(
    env: StreamExecutionEnvironment, kafka: KafkaBroker
) -> None:
    # More subtasks than partitions, and an exchange behind them.
    topic, sent = new_topic(kafka, 1), list[str]()
    REPORTED.clear()
    stream = stream_of(env, source_of(kafka, topic)).key_by(lambda value: value)
    stream.map(tell).sink_to(CollectSink("out"))

    def has_declared(coordinator: StreamCoordinator) -> bool:
        if coordinator.statistics.subtasks and not sent:
            sent.append("first")
            kafka.produce(topic, sent)
        return bool(REPORTED)

    with pytest.raises(JobExecutionError, match="cancelled"):
        run(env, on_start=stop_when(has_declared))
    assert REPORTED == ["first"]


def test_a_job_goes_on_from_any_checkpoint(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic, count = new_topic(kafka, 2), 2_000
    kafka.produce(topic, [str(number) for number in range(count)])
    group = f"group-{topic}"
    builder = source_of(kafka, topic).set_group_id(group).set_property("max.poll.records", "20")
    slowly = stream_of(env, builder.set_bounded(LATEST)).map(_until_checkpoints, Types.STRING())
    slowly.sink_to(CollectSink("out"))
    settings = CheckpointSettings(interval_ms=20, retained=1_000)
    first = run(
        env,
        settings=settings,
        on_start=lambda coordinator: _checkpoint_coordinators.append(coordinator._checkpoint_coordinator),
    )
    assert sorted(map(int, first.collected)) == list(range(count))
    checkpoints = [each for each in first.checkpoint_coordinator.store.completed if each.kind == "checkpoint"]
    assert len(checkpoints) > 2
    middle = checkpoints[len(checkpoints) // 2]
    rest = run(env, start=middle).collected
    _checkpoint_coordinators.clear()
    # What the checkpoint does not hold, each once, and nothing else.
    assert 0 < len(rest) < count and len(set(rest)) == len(rest)
    states = [middle.source(operator_id) for operator_id in middle.sources]
    assert len(rest) == count - states[0].records


def test_the_group_is_reported(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic, count = new_topic(kafka, 2), 2_000
    kafka.produce(topic, [str(number) for number in range(count)])
    group = f"group-{topic}"
    builder = source_of(kafka, topic).set_group_id(group).set_property("max.poll.records", "20")
    stream_of(env, builder.set_bounded(LATEST)).map(_slowly, Types.STRING()).sink_to(CollectSink("out"))
    run(env, settings=CheckpointSettings(interval_ms=20, retained=1_000))
    env = StreamExecutionEnvironment.get_execution_environment()
    again = source_of(kafka, topic).set_group_id(group).set_bounded(LATEST)
    assert read(env, again.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())) == []


def test_event_time_lag_and_commits_of_partitions(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic, slow = new_topic(kafka, 2), new_topic(kafka)
    own = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("group", Duration.of_seconds(1))
    builder = source_of(kafka, topic).set_group_id(topic)
    ahead = env.from_source(builder.build(), own.with_idleness(Duration.of_seconds(2)), "ahead")
    env.set_parallelism(1)
    ahead.set_parallelism(1).sink_to(CollectSink("out"))
    env.from_source(source_of(kafka, slow).build(), own, "slow").sink_to(CollectSink("out"))
    seen: list[str] = []
    puts: Counter[tuple[str, int]] = Counter()

    def put(name: str, timestamp: int, partition: int = 0) -> None:
        kafka.produce(name, [(None, "x", timestamp)], partition)
        puts[name, partition] += 1

    def go_on(coordinator: StreamCoordinator) -> bool:
        first, second = coordinator._sources.coordinators
        reports = coordinator.statistics.subtasks.values()
        metrics: dict[str, Any] = {}
        for report in reports:
            if report.vertex_id == first.vertex.id:
                metrics = report.metrics[first.vertex.operators[0].node_id]
        if not seen:
            put(topic, 5_000, 1), put(topic, 10_000, 0), put(slow, 5_000)
            seen.append("begun")
        elif len(seen) == 1:
            if (first.watermark, second.watermark) == (4_999, 4_999):
                seen.append("the slowest partition counts")
            else:
                # On a busy machine this takes a while; meanwhile partition 1 must not fall idle.
                put(topic, 5_000, 1)
        elif len(seen) == 2:
            # Partition 1 falls idle while the other one has records.
            put(topic, 11_000)
            time.sleep(0.1)
            if first.watermark == 10_999 and first.reported_limit == 5_999:
                put(topic, 12_000)
                seen.append("a partition that is idle does not count")
        elif len(seen) == 3 and metrics["pendingRecords"] > 0:
            assert metrics["records-lag-max"] == metrics["pendingRecords"] and first.watermark == 10_999
            put(slow, 20_000)
            seen.append("who is ahead of the group waits")
        elif len(seen) == 4 and first.watermark == 11_999 and metrics["pendingRecords"] == 0:
            group = f"KafkaSourceReader.topic.{topic}.partition.1"
            if metrics["commitsSucceeded"] > 0 and metrics[f"{group}.committedOffset"] == puts[topic, 1]:
                assert metrics["commitsFailed"] == 0 and metrics[f"{group}.currentOffset"] == puts[topic, 1] - 1
                seen.append("the group is told")
        return len(seen) == 5

    with pytest.raises(JobExecutionError, match="cancelled"):
        run(env, settings=CheckpointSettings(interval_ms=50), on_start=stop_when(go_on))
    assert seen[1:] == [
        "the slowest partition counts",
        "a partition that is idle does not count",
        "who is ahead of the group waits",
        "the group is told",
    ]


def test_a_transaction_may_not_be_longer_than_the_broker_allows(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    records = KafkaRecordSerializationSchema.builder().set_topic(topic)
    records = records.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap_servers).set_record_serializer(records.build())
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(topic)
    built: Any = sink.set_property("transaction.timeout.ms", "900001").build()
    said = (
        r"transactions of 900001 ms; set 'transaction.timeout.ms' .* at most the broker's 'transaction.max.timeout.ms'"
    )
    with pytest.raises(SinkError, match=said):
        TransactionalProducer(built.engine_sink, topic)


# Of the job that runs: slots are threads here.
_checkpoint_coordinators: list[Any] = []


def _until_checkpoints(value: str) -> str:
    """So slowly that checkpoints come while there is something to read, however busy the machine is."""
    time.sleep(0.0002 if len(_checkpoint_coordinators[0].store.completed) > 3 else 0.01)
    return value


def _slowly(value: str) -> str:
    time.sleep(0.0002)
    return value


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_records_are_written_and_each_once(
    env: StreamExecutionEnvironment, kafka: KafkaBroker, guarantee: DeliveryGuarantee
) -> None:
    topic, target, count = new_topic(kafka, 2), new_topic(kafka, 2), 1_000
    kafka.produce(topic, [str(number) for number in range(count)])
    builder = source_of(kafka, topic).set_property("max.poll.records", "20").set_bounded(LATEST)
    stream_of(env, builder).map(_slowly, Types.STRING()).sink_to(sink_to(kafka, target, guarantee))
    run(env, settings=CheckpointSettings(interval_ms=50))
    assert Counter(map(int, kafka.values(target, count))) == Counter(range(count))


def test_a_crash_after_the_checkpoint_loses_and_doubles_nothing(
    env: StreamExecutionEnvironment, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from funke.engine.connectors.kafka.transactions import TransactionWriter

    topic, target, count = new_topic(kafka, 2), new_topic(kafka, 2), 500
    kafka.produce(topic, [str(number) for number in range(count)])
    builder = source_of(kafka, topic).set_property("max.poll.records", "20").set_bounded(LATEST)
    sink = sink_to(kafka, target, DeliveryGuarantee.EXACTLY_ONCE)
    stream_of(env, builder).map(_slowly, Types.STRING()).sink_to(sink)
    commit = TransactionWriter.notify_checkpoint_complete
    commits = []

    def dies(writer: TransactionWriter, checkpoint_id: int) -> None:
        commits.append(checkpoint_id)
        if len(commits) == 2:
            raise OSError("the slot is gone")
        commit(writer, checkpoint_id)

    monkeypatch.setattr(TransactionWriter, "notify_checkpoint_complete", dies)
    kept: list[Any] = []
    with pytest.raises(JobExecutionError, match="the slot is gone"):
        run(
            env,
            settings=CheckpointSettings(interval_ms=100),
            on_start=lambda coordinator: kept.append(coordinator._checkpoint_coordinator),
            number=1,
        )
    run(env, start=kept[0].store.completed[-1], number=2)
    assert Counter(map(int, kafka.values(target, count))) == Counter(range(count))


def test_the_older_source_and_sink(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    topic, target = new_topic(kafka), new_topic(kafka)
    kafka.produce(topic, ["a", "b"])
    servers = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"older-{topic}"}
    with pytest.warns(DeprecationWarning):
        consumer = FlinkKafkaConsumer(topic, SimpleStringSchema(), servers)
    consumer.set_start_from_earliest()
    stream = env.add_source(consumer)
    stream.add_sink(FlinkKafkaProducer(target, SimpleStringSchema(), servers))
    with pytest.raises(JobExecutionError, match="cancelled"):
        run(env, on_start=stop_when(lambda coordinator: coordinator.statistics.records_read == 2))
    assert kafka.values(target, 2) == [b"a", b"b"]


def test_errors_are_one_sentence(env: StreamExecutionEnvironment, kafka: KafkaBroker) -> None:
    from tests.harness.kafka_broker import PASSWORD, USER

    def failure(builder: KafkaSourceBuilder) -> str:
        with pytest.raises(JobExecutionError) as caught:
            read(StreamExecutionEnvironment.get_execution_environment(), builder)
        return str(caught.value)

    servers = kafka.bootstrap_servers
    assert f"Kafka at '{servers}' does not have topic 'nowhere'" in failure(source_of(kafka, "nowhere"))
    topic = new_topic(kafka)

    def guarded(password: str) -> KafkaSourceBuilder:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        login = f'{module} required username="{USER}" password="{password}";'
        builder = source_of(kafka, topic).set_bootstrap_servers(kafka.guarded_servers)
        builder.set_property("security.protocol", "SASL_PLAINTEXT").set_property("sasl.mechanism", "PLAIN")
        return builder.set_property("sasl.jaas.config", login).set_property("request.timeout.ms", "5000")

    said = failure(guarded("wrong-secret"))
    assert f"Kafka at '{kafka.guarded_servers}' rejects the user name or password (PLAIN)" in said
    assert "wrong-secret" not in said and "wrong-secret" not in repr(guarded("wrong-secret").build().engine_source)
    said = failure(guarded(PASSWORD))
    assert f"does not permit the user to use topic '{topic}'" in said
    assert PASSWORD not in said
    for password, message in (
        (f"not {PASSWORD}", "rejects the user name or password"),
        (PASSWORD, "transactional id 'own'"),
    ):
        properties = ClientProperties.of({**guarded(password).properties, "bootstrap.servers": kafka.guarded_servers})
        sink: Any = sink_to(kafka, topic, DeliveryGuarantee.EXACTLY_ONCE).engine_sink
        with pytest.raises(SinkError, match=message) as rejected:
            TransactionalProducer(replace(sink, properties=properties), "own")
        assert PASSWORD not in str(rejected.value)
    silent = source_of(kafka, topic).set_bootstrap_servers("127.0.0.1:1").set_property("request.timeout.ms", "500")
    assert "Kafka cannot be reached at '127.0.0.1:1'" in failure(silent)


@pytest.mark.parametrize(
    ("is_there", "message"),
    [
        (True, "has not taken a record for topic 'nowhere' in time .*: it does not exist"),
        (False, "cannot be reached at"),
    ],
)
def test_records_that_nobody_takes_are_reported(kafka: KafkaBroker, is_there: bool, message: str) -> None:
    servers = kafka.bootstrap_servers if is_there else "127.0.0.1:1"
    settings = {"bootstrap.servers": servers, "delivery.timeout.ms": "1500", "request.timeout.ms": "1000"}
    producer = RecordProducer(ClientProperties.of(settings))
    producer.send(OutputRecords("nowhere", [b"x"]))
    with pytest.raises(SinkError, match=message):
        producer.flush()
