"""Tables of the connector mysql-cdc, and its builder for streams: what their options mean."""

from __future__ import annotations

import pytest

from funke.datastream.connectors.mysql_cdc import MySqlSource, StartupOptions
from funke.engine.connectors.mysql_cdc.gtids import GtidSet
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.table_source import INSERTS
from funke.engine.types.row import RowKind
from funke.table import DataTypes
from tests.harness.sql_tables import source_of

OPTIONS = (
    "'connector' = 'mysql-cdc', 'hostname' = 'db', 'username' = 'me', 'password' = 'hush', "
    "'database-name' = 'shop', 'table-name' = 'orders'"
)


def table(options=""):
    more = f", {options}" if options else ""
    return f"CREATE TABLE t (id BIGINT, total INT, PRIMARY KEY (id) NOT ENFORCED) WITH ({OPTIONS}{more})"


def test_options_have_flinks_defaults():
    source = source_of(table())
    settings = source.settings
    assert (settings.chunk_rows, settings.heartbeat_ms, settings.start_mode) == (8096, 30_000, "initial")
    assert settings.database.settings["port"] == 3306 and 5400 <= settings.server_id <= 6400
    assert source.kinds == frozenset(RowKind) and not source.is_bounded
    assert "hush" not in repr(source)
    bounded = source_of(table("'scan.startup.mode' = 'snapshot'"))
    assert bounded.is_bounded and bounded.kinds == INSERTS


def test_where_to_start_and_who_reads():
    offset = "'scan.startup.specific-offset.file' = 'log.000003', 'scan.startup.specific-offset.pos' = '77'"
    settings = source_of(
        table(f"'scan.startup.mode' = 'specific-offset', {offset}, 'server-id' = '5500-5504'")
    ).settings
    assert (settings.start_position, settings.server_id) == (LogPosition("log.000003", 77), 5500)
    seen = "'scan.startup.mode' = 'specific-offset', 'scan.startup.specific-offset.gtid-set' = '0-1-5'"
    settings = source_of(table(seen)).settings
    assert (settings.start_position, settings.start_gtids) == (None, GtidSet.from_text("0-1-5"))
    timed = source_of(table("'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '5'")).settings
    assert (timed.start_mode, timed.start_time_ms) == ("timestamp", 5)


def test_parameters_of_javas_driver():
    ssl = source_of(table("'jdbc.properties.sslMode' = 'REQUIRED'")).settings.database.settings["ssl"]
    assert ssl == source_of(table("'jdbc.properties.useSSL' = 'true'")).settings.database.settings["ssl"]
    with pytest.raises(ConfigurationError, match="the parameter 'zeroDateTime' of a MySQL URL is unknown"):
        source_of(table("'jdbc.properties.zeroDateTime' = 'x'"))


def test_metadata_stands_behind_the_columns():
    source = source_of(table()).with_metadata([("op_ts", "at"), ("row_kind", "kind")])
    assert [each.name for each in source.columns] == ["id", "total", "at", "kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'server-id' = 'seven'", "The server id 'seven' is not a valid numeric"),
        ("'server-time-zone' = 'Nowhere'", "is not a time zone"),
        ("'scan.startup.mode' = 'specific-offset'", "needs 'scan.startup.specific-offset.file'"),
        ("'scan.startup.mode' = 'timestamp'", "needs 'scan.startup.timestamp-millis'"),
        ("'scan.incremental.snapshot.chunk.size' = '1'", "must be larger than 1"),
        ("'debezium.something' = '1'", "Unsupported options found for 'mysql-cdc'"),
        (
            "'scan.startup.mode' = 'specific-offset', 'scan.startup.specific-offset.gtid-set' = '1'",
            "'1' is not a set of GTIDs",
        ),
    ],
)
def test_options_that_make_no_sense_are_rejected(options, message):
    with pytest.raises(ValidationException, match=message) as rejected:
        source_of(table(options))
    assert "hush" not in str(rejected.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'debezium.skipped.operations' = 'd'", "expected 't' or 'none'"),
        ("'scan.newly-added-table.enabled' = 'true'", "settled when the job starts"),
        ("'scan.startup.specific-offset.skip-rows' = '3'", "begins with a whole transaction"),
    ],
)
def test_what_is_not_there_is_rejected(options, message):
    with pytest.raises(UnsupportedFeatureError, match=message):
        source_of(table(options))


def test_a_builder_for_streams_says_what_is_missing():
    builder = MySqlSource.builder().table_list("shop.a", "b.*")
    with pytest.raises(ConfigurationError, match=r"needs row_type\(\), database_list\(\), username\(\)"):
        builder.build()
    kind = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT())])
    assert StartupOptions.specific_offset("0-1-5").gtids == GtidSet.from_text("0-1-5")
    started = StartupOptions.specific_offset("log.000003", 4)
    source = builder.database_list("shop").username("me").row_type(kind).startup_options(started).build()
    settings = source.engine_source._settings
    assert settings.table_pattern == "(?:shop.a)|(?:b.*)"
    assert (settings.start_mode, settings.start_position) == ("specific-offset", LogPosition("log.000003", 4))
