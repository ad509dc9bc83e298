"""Tables of the connector postgres-cdc: what their options mean, and which queries can read them."""

from __future__ import annotations

import pytest

from funke.datastream.connectors.postgres_cdc import PostgresSource
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.table_source import INSERTS
from funke.engine.types.row import RowKind
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from tests.harness.sql_tables import source_of

OPTIONS = (
    "'connector' = 'postgres-cdc', 'hostname' = 'db', 'username' = 'me', 'password' = 'hush', "
    "'database-name' = 'shop', 'schema-name' = 'public', 'table-name' = 'orders', 'slot.name' = 'orders'"
)


def table(options="", columns="id BIGINT, total INT, PRIMARY KEY (id) NOT ENFORCED"):
    more = f", {options}" if options else ""
    return f"CREATE TABLE t ({columns}) WITH ({OPTIONS}{more})"


def test_options_have_flinks_defaults():
    source = source_of(table())
    settings = source.settings
    assert (settings.chunk_rows, settings.heartbeat_ms, settings.start_mode) == (8096, 30_000, "initial")
    assert (settings.publication, settings.database.settings["port"]) == ("dbz_publication", "5432")
    assert source.kinds == frozenset(RowKind) and not source.is_bounded
    assert "hush" not in repr(source)
    assert source_of(table("'heartbeat.interval.ms' = '500'")).settings.heartbeat_ms == 500
    bounded = source_of(table("'scan.startup.mode' = 'snapshot'"))
    assert bounded.is_bounded and bounded.kinds == INSERTS
    appended = "'scan.read-changelog-as-append-only.enabled' = 'true', 'changelog-mode' = 'upsert'"
    assert source_of(table(appended)).kinds == INSERTS
    assert source_of(table("'scan.lsn-commit.checkpoints-num-delay' = '3'")).settings.confirm_delay == 3


def test_metadata_stands_behind_the_columns():
    source = source_of(table()).with_metadata([("op_ts", "at"), ("row_kind", "kind")])
    assert [each.name for each in source.columns] == ["id", "total", "at", "kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'slot.name' = 'My Slot'", "is not a slot name"),
        ("'scan.incremental.snapshot.chunk.size' = '1'", "must be larger than 1"),
        ("'debezium.something' = '1'", "Unsupported options found for 'postgres-cdc'"),
        ("'schema-name' = '('", "is not a pattern"),
    ],
)
def test_options_that_make_no_sense_are_rejected(options, message):
    key = options.partition(" = ")[0]
    kept = ", ".join(each for each in OPTIONS.split(", ") if not each.startswith(key))
    with pytest.raises(ValidationException, match=message) as rejected:
        source_of(f"CREATE TABLE t (id INT) WITH ({kept}, {options})")
    assert "hush" not in str(rejected.value)


def test_what_is_not_there_is_rejected():
    with pytest.raises(UnsupportedFeatureError, match="changes are read with pgoutput"):
        source_of(table("'decoding.plugin.name' = 'wal2json'"))
    with pytest.raises(ValidationException, match="Primary key must be present when upsert mode is selected"):
        source_of(table("'changelog-mode' = 'upsert'", "id INT"))
    with pytest.raises(UnsupportedFeatureError, match="partitioned tables are not read"):
        source_of(table("'scan.include-partitioned-tables.enabled' = 'true'"))


def test_upserts_are_for_tables_with_a_key():
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql(table("'changelog-mode' = 'upsert'"))
    tables.execute_sql(
        "CREATE TABLE o (id BIGINT, total INT, PRIMARY KEY (id) NOT ENFORCED) "
        "WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/tmp/nowhere.db', 'table-name' = 'o')"
    )
    assert "ChangelogNormalize" not in tables.explain_sql("INSERT INTO o SELECT * FROM t")
    for text in ("SELECT SUM(total) FROM t", "INSERT INTO o SELECT * FROM t WHERE total > 0"):
        assert "ChangelogNormalize(key=[id])" in tables.explain_sql(text)


def test_a_builder_for_streams_says_what_is_missing():
    builder = PostgresSource.builder().username("me").table_list("a", "b.*")
    with pytest.raises(ConfigurationError, match=r"needs row_type\(\), slot_name\(\), database\(\)"):
        builder.build()
    kind = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT())])
    source = builder.database("shop").slot_name("s").row_type(kind).build()
    assert source.engine_source._settings.table_pattern == "(?:a)|(?:b.*)"
    with pytest.raises(ConfigurationError, match="not 'now'"):
        builder.startup_mode("now")
