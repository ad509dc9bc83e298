"""Names of Flink 1.x: what they are called today is noted once, what cannot be is rejected with the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration
from funke.dataset import ExecutionEnvironment
from funke.datastream import StreamExecutionEnvironment
from funke.engine.errors import GraphError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.connectors.old_properties import modern_options
from funke.java_gateway import get_gateway
from funke.table import (
    BatchTableEnvironment,
    CsvTableSink,
    CsvTableSource,
    DataTypes,
    EnvironmentSettings,
    StreamTableEnvironment,
    TableConfig,
    TableEnvironment,
)
from funke.table import descriptors as old
from funke.table.flink_1 import old_name_notes
from funke.table.flink_1.old_name_notes import MODERN_NAMES
from funke.table.flink_1.old_table_names import ConnectTableDescriptor

PAGE = Path(__file__).parents[3] / "docs" / "flink-1.x.md"
KAFKA = {"connector.type": "kafka", "connector.version": "universal", "connector.topic": "t", "update-mode": "append"}


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_name_notes, "_noted", set())


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    return StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())


def notes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The old names that were noted."""
    lines = capsys.readouterr().err.splitlines()
    return [re.sub(r" \(.*?\) is of Flink 1.x.*", "", line.removeprefix("note: ")) for line in lines if "1.x" in line]


def test_a_name_is_noted_once_with_the_users_line_and_its_spelling_of_today(
    t_env: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    table = t_env.from_elements([(1,)], ["n"])
    t_env.register_table("one", table)
    t_env.register_table("two", table)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"note: register_table\(\) \(test_old_names\.py:\d+\) is of Flink 1\.x; today: create_temporary_view\(\)", line
    )


def configured(t_env: TableEnvironment) -> None:
    config = TableConfig()
    config.set_null_check(config.get_null_check())
    config.set_decimal_context(10, "UP")
    config.set_parallelism(config.get_parallelism())


def inserted(t_env: TableEnvironment) -> None:
    t_env.sql_update("CREATE TABLE s (n BIGINT) WITH ('connector' = 'blackhole')")
    t_env.insert_into("s", t_env.from_elements([(1,)], ["n"]))
    t_env.explain()


OLD = "CREATE TABLE t (n INT) WITH ('connector.type' = 'filesystem', 'connector.path' = 'p', 'format.type' = 'csv')"
USES: list[tuple[Callable[[TableEnvironment], Any], list[str]]] = [
    (lambda _: EnvironmentSettings.new_instance().use_blink_planner().build(), ["use_blink_planner()"]),
    (
        lambda _: EnvironmentSettings.new_instance().use_old_planner().use_any_planner(),
        ["use_old_planner()", "use_any_planner()"],
    ),
    (
        lambda _: EnvironmentSettings.from_configuration(Configuration()).to_configuration(),
        ["EnvironmentSettings.from_configuration()", "EnvironmentSettings.to_configuration()"],
    ),
    (
        lambda _: BatchTableEnvironment.create(ExecutionEnvironment.get_execution_environment()),
        ["ExecutionEnvironment", "BatchTableEnvironment"],
    ),
    (lambda t_env: StreamTableEnvironment.create(t_env._env, TableConfig()), ["a TableConfig in create()"]),
    (lambda t_env: t_env.scan(str(t_env.from_elements([(1,)], ["n"]))), ["scan()"]),
    (lambda t_env: t_env.from_elements([(1,)], ["n"]).select("n"), ["expressions as texts"]),
    (
        configured,
        [
            "get_null_check()",
            "set_null_check()",
            "set_decimal_context()",
            "TableConfig.get_parallelism()",
            "TableConfig.set_parallelism()",
        ],
    ),
    (inserted, ["sql_update()", "TableEnvironment.insert_into()", "TableEnvironment.explain()"]),
    (lambda t_env: t_env.execute_sql(OLD), ["'connector.type'"]),
    (lambda t_env: t_env.connect(old.FileSystem()), ["connect()"]),
    (
        lambda t_env: t_env.from_table_source(CsvTableSource("p", ["n"], [DataTypes.INT()])),
        ["CsvTableSource", "from_table_source()"],
    ),
    (
        lambda t_env: t_env.register_table_sink("s", CsvTableSink(["n"], [DataTypes.INT()], "p")),
        ["CsvTableSink", "register_table_sink()"],
    ),
]


@pytest.mark.parametrize(("use", "noted"), USES)
def test_old_names_are_noted(
    use: Callable[[TableEnvironment], Any],
    noted: list[str],
    t_env: StreamTableEnvironment,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use(t_env)
    assert notes(capsys) == noted


def test_of_programs_of_today_nothing_is_noted(
    t_env: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.execute_sql("CREATE TABLE s (n BIGINT) WITH ('connector' = 'blackhole')")
    table = t_env.from_elements([(1,)], ["n"])
    pipeline = table.select(table.n).alias("m").insert_into("s")
    assert "default_database.s" in pipeline.explain()
    assert notes(capsys) == []


@pytest.mark.parametrize("name", MODERN_NAMES)
def test_the_page_lists_every_name(name: str) -> None:
    assert name in PAGE.read_text(encoding="utf-8")


def test_the_page_lists_every_descriptor_and_step_of_a_connection() -> None:
    listed = set(re.findall(r"`(\w+)(?:\(\))?`", PAGE.read_text(encoding="utf-8")))
    steps = {name for name in vars(ConnectTableDescriptor) if not name.startswith("_")}
    kinds = set(old.__all__) - {"ConnectorDescriptor", "FormatDescriptor"}
    assert (steps | kinds) - listed == set()


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        (
            {
                "connector.type": "filesystem",
                "connector.path": "/p",
                "format.type": "csv",
                "format.field-delimiter": ";",
            },
            {"connector": "filesystem", "path": "/p", "format": "csv", "csv.field-delimiter": ";"},
        ),
        (
            {
                **KAFKA,
                "connector.properties.bootstrap.servers": "h:1",
                "connector.startup-mode": "earliest-offset",
                "format.type": "json",
                "format.fail-on-missing-field": "true",
            },
            {
                "connector": "kafka",
                "topic": "t",
                "properties.bootstrap.servers": "h:1",
                "scan.startup.mode": "earliest-offset",
                "format": "json",
                "json.fail-on-missing-field": "true",
            },
        ),
        (
            {
                **KAFKA,
                "connector.properties.0.key": "group.id",
                "connector.properties.0.value": "g",
                "connector.specific-offsets.0.partition": "0",
                "connector.specific-offsets.0.offset": "42",
                "connector.specific-offsets.1.partition": "1",
                "connector.specific-offsets.1.offset": "7",
            },
            {
                "connector": "kafka",
                "topic": "t",
                "properties.group.id": "g",
                "scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:7",
            },
        ),
        (
            {
                "connector.type": "jdbc",
                "connector.url": "jdbc:x",
                "connector.table": "t",
                "connector.read.partition.num": "4",
                "connector.lookup.cache.ttl": "10s",
                "connector.write.flush.interval": "2s",
            },
            {
                "connector": "jdbc",
                "url": "jdbc:x",
                "table-name": "t",
                "scan.partition.num": "4",
                "lookup.cache.ttl": "10s",
                "sink.buffer-flush.interval": "2s",
            },
        ),
        ({"connector": "print", "print-identifier": "p"}, {"connector": "print", "print-identifier": "p"}),
    ],
)
def test_properties_become_options_of_today(properties: dict[str, str], options: dict[str, str]) -> None:
    assert modern_options(properties) == options


@pytest.mark.parametrize(
    ("rejected", "error", "message"),
    [
        (lambda _: modern_options({**KAFKA, "connector.topics": "x"}), ValidationException, "'connector.topics'"),
        (lambda _: get_gateway(), UnsupportedFeatureError, "write functions in Python"),
        (
            lambda t_env: t_env.register_java_function("f", "a.F"),
            UnsupportedFeatureError,
            "write the function in Python",
        ),
        (lambda _: old.Elasticsearch(), UnsupportedFeatureError, "write to Kafka"),
        (lambda _: old.HBase(), UnsupportedFeatureError, "write to Kafka"),
        (
            lambda _: old.Rowtime().timestamps_from_extractor("a.E"),
            UnsupportedFeatureError,
            r"use timestamps_from_field\(\)",
        ),
        (lambda _: old.OldCsv().comment_prefix("//"), UnsupportedFeatureError, "only '#' is known"),
        (lambda _: old.Schema().proctime(), ValidationException, r"Use field\(\) before"),
        (
            lambda t_env: t_env.connect(old.FileSystem()).create_temporary_table("t"),
            TableException,
            r"call with_schema\(\)",
        ),
        (lambda t_env: t_env.register_table_sink("t", "path"), TypeError, "a TableSink is expected, got str"),
        (lambda _: CsvTableSink([], [], "p", write_mode=7), Exception, "Unsupported write_mode: 7"),
        (lambda t_env: t_env.explain(), TableException, r"call insert_into\(\)"),
        (lambda _: ExecutionEnvironment.get_execution_environment().execute(), GraphError, r"call insert_into\(\)"),
        (
            lambda _: BatchTableEnvironment.create(environment_settings=EnvironmentSettings.in_streaming_mode()),
            ValueError,
            "must be set to batch mode",
        ),
    ],
)
def test_what_cannot_be_is_rejected(
    rejected: Callable[[TableEnvironment], Any], error: type[Exception], message: str, t_env: StreamTableEnvironment
) -> None:
    with pytest.raises(error, match=message) as raised:
        rejected(t_env)
    if "topics" not in message:  # what a table's options mean is looked at when it is read
        assert "in your job: test_old_names.py" in str(raised.value)
