"""Tables in Kafka on a real broker: keys, values, metadata, changes. Slots are threads, no Spark is needed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from funke.engine.config.settings import Settings
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.collection import CollectionSource
from funke.engine.connectors.sink import WriterContext
from funke.engine.errors import JobExecutionError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.builder import GraphBuilder
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.catalog.objects import Identifier
from funke.engine.sql.connectors.table_factories import create_table_sink, create_table_source
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.logical.atomic_types import BigIntType, IntType, VarBinaryType, VarCharType
from funke.engine.types.logical.collection_types import MapType
from funke.engine.types.logical.time_types import LocalZonedTimestampType
from funke.engine.types.row import Row, RowKind
from tests.harness.stream_threads import run_stream

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker

TEXT = VarCharType(2**31 - 1)
COLUMNS = (Column("id", BigIntType()), Column("name", TEXT), Column("amount", IntType()))


def new_topic(kafka: KafkaBroker, partitions: int = 1) -> str:
    return kafka.create_topic(f"table-{uuid4().hex[:12]}", partitions)


def table(kafka: KafkaBroker, topic: str, primary_key: tuple[str, ...] = (), **options: str) -> TableContext:
    settings = {
        "connector": "upsert-kafka" if primary_key else "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.bootstrap_servers,
        "scan.bounded.mode": "latest-offset",
        **{key.replace("__", "-").replace("_", "."): value for key, value in options.items()},
    }
    if not primary_key:
        settings = {"scan.startup.mode": "earliest-offset", **settings}
    return TableContext(Identifier("c", "d", "t"), COLUMNS, settings, primary_key=primary_key)


def rows_of(context: TableContext, metadata: list[tuple[str, str]] | None = None) -> list[Any]:
    builder = GraphBuilder(Settings({"parallelism.default": 1}))
    source = create_table_source(context)
    if metadata:
        source = source.with_metadata(metadata)
    builder.add_sink(CollectSink("out"), source.add_to(builder, source.columns, "Scan t"), name="out")
    return run_stream(builder.graph).collected


def write(
    context: TableContext, rows: list[Row], metadata: tuple[str, ...] = (), extra: tuple[Column, ...] = ()
) -> None:
    builder = GraphBuilder(Settings({"parallelism.default": 1}))
    sink = create_table_sink(context)
    if metadata:
        sink = sink.with_metadata(metadata)
    row_type = row_type_of((*COLUMNS, *extra))
    stream = builder.add_source(CollectionSource(rows, row_type), name="rows", type_info=row_type)
    builder.add_sink(sink.create_sink((*COLUMNS, *extra)), stream, name="Kafka")
    run_stream(builder.graph)


def test_json_values_become_rows_with_metadata(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(
        topic,
        [
            (None, json.dumps({"id": 1, "name": "a", "amount": 5}), 7_000, [("h", b"x")]),
            (None, json.dumps({"id": 2, "amount": 6}), 8_000),
        ],
    )
    rows = rows_of(
        table(kafka, topic, format="json"),
        [("partition", "p"), ("offset", "o"), ("timestamp", "t"), ("headers", "hs"), ("topic", "from")],
    )
    assert [tuple(row)[:5] for row in rows] == [(1, "a", 5, 0, 0), (2, None, 6, 0, 1)]
    times = [row[5] for row in rows]
    assert [each if isinstance(each, int) else each.timestamp() for each in times] in ([7.0, 8.0], [7_000, 8_000])
    assert [row[6] for row in rows] == [{"h": b"x"}, {}] and rows[0][7] == topic


def test_csv_and_raw_values(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, ["1,a,5", "2,b,6"])
    assert [tuple(row) for row in rows_of(table(kafka, topic, format="csv"))] == [(1, "a", 5), (2, "b", 6)]


class ByNumber:
    """Rows with an odd id go to partition 1."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        pass

    def partition(self, record: Any, key: Any, value: Any, target_topic: str, partitions: list[int]) -> int:
        assert partitions == [0, 1] and target_topic.startswith("table-") and int.from_bytes(key, "big") == record[0]
        return int(record[0]) % 2


def test_keys_of_raw_values_of_avro_metadata_and_a_partitioner_of_the_program(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka, 2)
    options = {
        "key_format": "raw",
        "key_fields": "id",
        "value_format": "avro",
        "value_fields__include": "EXCEPT_KEY",
        "sink_partitioner": f"{__name__}.ByNumber",
    }
    context = table(kafka, topic, **options)
    extra = (Column("at", LocalZonedTimestampType(3)), Column("hs", MapType(TEXT, VarBinaryType(2**31 - 1))))
    at = datetime(2020, 1, 2, 3, 4, 5, 678000, UTC)
    rows = [Row(1, "a", 5, at, {"h": b"x"}), Row(2, None, 6, None, None), Row(3, "c", None, at, {})]
    write(context, rows, ("timestamp", "headers"), extra)
    results = sorted(kafka.records(topic, 3), key=lambda message: message.key())
    assert [message.key() for message in results] == [bytes([0, 0, 0, 0, 0, 0, 0, number]) for number in (1, 2, 3)]
    assert [message.partition() for message in results] == [1, 0, 1]
    assert (
        results[0].timestamp()[1] == results[2].timestamp()[1] == int(at.timestamp() * 1000) < results[1].timestamp()[1]
    )
    assert [message.headers() for message in results] == [[("h", b"x")], None, None]
    assert sorted(tuple(row) for row in rows_of(context)) == [(1, "a", 5), (2, None, 6), (3, "c", None)]


@pytest.mark.parametrize(
    ("partitioner", "expected"), [("default", None), ("round-robin", None), ("fixed", [1]), ("Java.Unknown", "refused")]
)
def test_which_partition_rows_go_to(partitioner: str, expected: list[int] | str | None) -> None:
    from tests.harness.kafka_broker import KafkaBroker

    context = table(KafkaBroker("host:1", "host:2"), "t", format="json", sink_partitioner=partitioner)
    if expected == "refused":
        with pytest.raises(ValidationException, match="Could not find and instantiate partitioner class"):
            create_table_sink(context)
        return
    sink: Any = create_table_sink(context)
    records = replace(sink.records, partitions=lambda topic: 2)
    row_type = row_type_of(COLUMNS)
    records.open(WriterContext("job", 3, 4, 0, row_type, lambda: 0, lambda message: None))
    assert records.records([Row(1, "a", 5)], None).partitions == expected


def test_round_robin_is_for_rows_without_a_key() -> None:
    from tests.harness.kafka_broker import KafkaBroker

    options = {"key_format": "json", "key_fields": "id", "value_format": "json", "sink_partitioner": "round-robin"}
    with pytest.raises(ValidationException, match=r"only works when option 'key.fields' is not specified"):
        create_table_sink(table(KafkaBroker("host:1", "host:2"), "t", **options))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startup_mode": "specific-offsets", "startup_specific__offsets": "partition:0,offset:2"}, [2, 10, 11, 12]),
        ({"startup_mode": "timestamp", "startup_timestamp__millis": "2000"}, [1, 2, 11, 12]),
        ({"startup_mode": "latest-offset"}, []),
        ({"bounded_mode": "specific-offsets", "bounded_specific__offsets": "partition:1,offset:1"}, [10]),
        ({"bounded_mode": "timestamp", "bounded_timestamp__millis": "2000"}, [0, 10]),
    ],
)
def test_where_tables_begin_and_end(kafka: KafkaBroker, options: dict[str, str], expected: list[int]) -> None:
    topic = new_topic(kafka, 2)
    for number in (0, 1):
        rows = [(None, json.dumps({"id": 10 * number + index}), 1_000 + 1_000 * index) for index in range(3)]
        kafka.produce(topic, rows, number)
    result_rows = rows_of(table(kafka, topic, format="json", **{f"scan_{key}": text for key, text in options.items()}))
    assert sorted(row[0] for row in result_rows) == expected


def test_a_group_that_has_been_nowhere(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, ['{"id": 1}'])
    options = {"format": "json", "scan_startup_mode": "group-offsets", "properties_group_id": topic}
    with pytest.raises(
        JobExecutionError, match=r"has committed no offset .* 'properties.auto.offset.reset' = 'earliest'"
    ):
        rows_of(table(kafka, topic, **options))
    assert len(rows_of(table(kafka, topic, **options, properties_auto_offset_reset="earliest"))) == 1


def test_columns_of_the_key(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    options = {
        "key_format": "json",
        "key_fields": "id",
        "value_format": "json",
        "value_fields__include": "EXCEPT_KEY",
    }
    context = table(kafka, topic, **options)
    write(context, [Row(1, "a", 5), Row(2, "b", 6)])
    records = [(message.key(), message.value()) for message in kafka.records(topic, 2)]
    assert records == [(b'{"id":1}', b'{"name":"a","amount":5}'), (b'{"id":2}', b'{"name":"b","amount":6}')]
    assert [tuple(row) for row in rows_of(context)] == [(1, "a", 5), (2, "b", 6)]
    # The same records, whose key has other names here.
    columns = (Column("k_id", BigIntType()), Column("name", TEXT))
    prefixed = {**context.options, "key.fields": "k_id", "key.fields-prefix": "k_"}
    assert [tuple(row) for row in rows_of(replace(context, columns=columns, options=prefixed))] == [(1, "a"), (2, "b")]


def test_upserts_become_changes_and_changes_upserts(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    context = table(kafka, topic, ("id",), key_format="json", value_format="json")
    changes = [Row(1, "a", 5), Row(2, "b", 6), Row(1, "a", 7), Row(2, "b", 6)]
    changes[2].set_row_kind(RowKind.UPDATE_AFTER)
    changes[3].set_row_kind(RowKind.DELETE)
    write(context, changes)
    assert [message.value() for message in kafka.records(topic, 4)][3] is None
    rows = [(row.get_row_kind().name, *row) for row in rows_of(context)]
    assert rows == [
        ("INSERT", 1, "a", 5),
        ("INSERT", 2, "b", 6),
        ("UPDATE_BEFORE", 1, "a", 5),
        ("UPDATE_AFTER", 1, "a", 7),
        ("DELETE", 2, "b", 6),
    ]


def test_changes_of_debezium_keep_their_kinds(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    before, after = {"id": 1, "name": "a", "amount": 5}, {"id": 1, "name": "a", "amount": 6}
    kafka.produce(
        topic,
        [json.dumps(each) for each in ({"after": before, "op": "c"}, {"before": before, "after": after, "op": "u"})],
    )
    rows = [(row.get_row_kind().name, row[2]) for row in rows_of(table(kafka, topic, format="debezium-json"))]
    assert rows == [("INSERT", 5), ("UPDATE_BEFORE", 5), ("UPDATE_AFTER", 6)]


def test_what_changes_tell_beside_their_rows(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    before, after = {"id": 1, "name": "a", "amount": 5}, {"id": 1, "name": "a", "amount": 6}
    source = {"table": "items", "db": "shop", "ts_ms": 7_000, "lsn": None}
    changes = [{"after": before, "op": "c", "source": source, "ts_ms": 8_000}]
    changes.append({"before": before, "after": after, "op": "u"})
    kafka.produce(topic, [json.dumps(each) for each in changes])
    expected = ["offset", "value.source.table", "value.source.timestamp", "value.ingestion-timestamp"]
    context = table(kafka, topic, value_format="debezium-json")
    rows = rows_of(context, [(key, f"c{index}") for index, key in enumerate(expected)])
    times = [[each and each.timestamp() for each in row[5:]] for row in rows]
    assert [tuple(row)[2:5] for row in rows] == [(5, 0, "items"), (5, 1, None), (6, 1, None)]
    assert times == [[7.0, 8.0], [None, None], [None, None]]
    assert "value.source.table" not in create_table_source(table(kafka, topic, format="json")).metadata


def test_rows_say_which_topic_they_go_to(kafka: KafkaBroker) -> None:
    mark = uuid4().hex[:8]
    topics = [kafka.create_topic(f"{mark}-{name}", 2) for name in "ab"]
    extra = (Column("to", TEXT),)
    rows = [Row(1, "x", 5, topics[0]), Row(2, "y", 6, topics[1]), Row(3, "z", 7, topics[0])]
    context = table(kafka, ";".join(topics), format="json", sink_partitioner="fixed")
    write(context, rows, ("topic",), extra)
    assert [[json.loads(value)["id"] for value in kafka.values(each, 3, 2)] for each in topics] == [[1, 3], [2]]
    assert sorted(row[0] for row in rows_of(context)) == [1, 2, 3]
    with pytest.raises(ValidationException, match="declare a column `topic` STRING METADATA"):
        write(context, [Row(1, "x", 5)])
    for wrong, said in ((None, "'topic' is NULL"), (f"{mark}-c", f"'{mark}-c', which is not one of the table's")):
        with pytest.raises(JobExecutionError, match=said):
            write(context, [Row(1, "x", 5, wrong)], ("topic",), extra)


def test_of_rows_that_are_held_back_the_last_of_each_key_is_written(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    options = {"sink_buffer__flush_max__rows": "4", "sink_buffer__flush_interval": "1 h"}
    context = table(kafka, topic, ("id",), key_format="raw", value_format="json", **options)
    rows = [Row(1, "a", 5), Row(2, "b", 6), Row(1, "a", 7), Row(2, "b", 6), Row(1, "c", 8)]
    rows[3].set_row_kind(RowKind.DELETE)
    context_of_writer = WriterContext("job", 0, 1, 0, row_type_of(COLUMNS), lambda: 0, lambda channel, payload: None)
    writer = create_table_sink(context).create_sink(COLUMNS).create_writer(context_of_writer)
    writer.write(rows[:3], None)
    assert (writer.next_wakeup_ms(), kafka.records(topic, 1, 0.3)) == (3_600_000, [])
    writer.write(rows[3:], None)
    assert writer.next_wakeup_ms() is None
    writer.prepare_commit()
    results = [
        (message.key()[-1], message.value() and json.loads(message.value())["name"])
        for message in kafka.records(topic, 3, 2)
    ]
    assert results == [(2, None), (1, "c")]
    writer.write(rows[:1], None)
    writer.on_processing_time(3_600_000)
    writer.prepare_commit()
    assert len(kafka.records(topic, 3)) == 3
    writer.close()


def test_how_many_subtasks_read(kafka: KafkaBroker) -> None:
    options = {"scan_parallelism": "3", "sink_transaction__naming__strategy": "POOLING"}
    source = create_table_source(table(kafka, "t", format="json", **options))
    assert source.create_source().fixed_parallelism == 3


def test_subjects_of_schemas_are_called_as_the_topic() -> None:
    from tests.harness.kafka_broker import KafkaBroker

    options = {"key_format": "avro-confluent", "value_format": "avro-confluent", "key_fields": "id"}
    options |= {f"{part}_avro__confluent_url": "http://host" for part in ("key", "value")}
    broker = KafkaBroker("host:1", "host:2")
    sink: Any = create_table_sink(table(broker, "t", **options))
    assert (sink.records.key.subject, sink.records.value.subject) == ("t-key", "t-value")
    sink = create_table_sink(table(broker, "t", **options, value_avro__confluent_subject="own"))
    assert (sink.records.key.subject, sink.records.value.subject) == ("t-key", "own")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "value format must be specified"),
        ({"format": "json", "topic__pattern": "x"}, "shouldn't be set together"),
        ({"format": "json", "scan_startup_mode": "timestamp"}, "is required in 'timestamp' mode"),
        ({"format": "json", "scan_startup_mode": "group-offsets"}, "properties.group.id"),
        ({"format": "json", "key_fields": "id"}, "only be declared if a key format"),
        ({"value_format": "json", "key_format": "json", "key_fields": "nope"}, "Could not find the field 'nope'"),
        ({"format": "json", "nonsense": "1"}, "Unsupported options"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], said: str) -> None:
    from tests.harness.kafka_broker import KafkaBroker

    with pytest.raises(ValidationException, match=said):
        create_table_source(table(KafkaBroker("host:1", "host:2"), "t", **options))


def test_a_malformed_message_is_named_or_left_out(kafka: KafkaBroker) -> None:
    topic = new_topic(kafka)
    kafka.produce(topic, ['{"id": 1}', "{nonsense", '{"id": 3}'])
    with pytest.raises(JobExecutionError, match=f"topic '{topic}', partition 0, offset 1"):
        rows_of(table(kafka, topic, format="json"))
    left = rows_of(table(kafka, topic, format="json", **{"json_ignore__parse__errors": "true"}))
    assert [row[0] for row in left] == [1, 3]


def test_rows_know_their_messages_when_others_are_left_out(kafka: KafkaBroker) -> None:
    """An update is two rows; with a message that is none there are as many rows as messages."""
    topic = new_topic(kafka)
    change = {"before": {"id": 1, "amount": 5}, "after": {"id": 1, "amount": 6}, "op": "u"}
    kafka.produce(topic, [json.dumps(change), "{nonsense"])
    options = {"format": "debezium-json", "debezium__json_ignore__parse__errors": "true"}
    rows = rows_of(table(kafka, topic, **options), [("offset", "o")])
    assert [(row[2], row[3]) for row in rows] == [(5, 0), (6, 0)]
