"""The connector postgres-cdc: from its options to a source."""

from __future__ import annotations

import re

from funke.engine.connectors.jdbc.database import PostgresDatabase
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings
from funke.engine.connectors.postgres_cdc.source import PostgresCdcSource
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.change_tables import (
    APPEND_ONLY,
    CHUNK,
    CHUNK_KEY,
    HEARTBEAT,
    HOST,
    NO_EFFECT,
    PASSWORD,
    SKIPPED,
    TIMEOUT,
    ChangeTableFactory,
    connection_of,
    rejected,
)
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.types.logical.row_type import RowField

__all__ = ["PostgresCdcFactory"]

_PORT = TableOption("port", "Integer", "5432", "Its port.")
_USER = TableOption("username", description="Who connects; must be allowed to replicate.")
_DATABASE = TableOption("database-name", description="The database.")
_SCHEMA = TableOption("schema-name", description="A pattern that whole names of schemas match.")
_TABLE = TableOption(
    "table-name", description="A pattern that whole names of tables match; several may have the columns."
)
_SLOT = TableOption("slot.name", description="The replication slot, made if it is missing; it stays when the job ends.")
_PLUGIN = TableOption(
    "decoding.plugin.name", default="pgoutput", description="Only pgoutput, which every server since 10 has."
)
_MODE = TableOption(
    "changelog-mode",
    "Enum",
    "all",
    "'all' brings the rows before updates, which needs REPLICA IDENTITY FULL; 'upsert' needs a primary key.",
    ("all", "upsert"),
)
_START = TableOption(
    "scan.startup.mode",
    "Enum",
    "initial",
    "Reads the tables and then the log, the log from now on, the log from the slot's position, or the tables alone.",
    ("initial", "latest-offset", "committed-offset", "snapshot"),
)
_PUBLICATION = TableOption(
    "debezium.publication.name", default="dbz_publication", description="The publication, made if it is missing."
)
_AUTOCREATE = TableOption(
    "debezium.publication.autocreate.mode",
    "Enum",
    "filtered",
    "'filtered' makes a publication of the tables that are read; 'disabled' makes none.",
    ("filtered", "disabled"),
)

_DELAY = TableOption(
    "scan.lsn-commit.checkpoints-num-delay",
    "Integer",
    "0",
    "How many checkpoints later a position is confirmed: the server keeps its log for restoring them by hand.",
)
_IDS = TableOption("table-id.include-database", "Boolean", "false", "Has no effect here.")
_REJECTED = (
    rejected("scan.newly-added-table.enabled", "which tables are read is settled when the job starts"),
    rejected("scan.include-partitioned-tables.enabled", "partitioned tables are not read"),
    rejected("debezium.slot.drop.on.stop", "the slot stays: drop it with pg_drop_replication_slot"),
)


class PostgresCdcFactory(ChangeTableFactory):
    identifier = "postgres-cdc"
    purpose = (
        "Tables of PostgreSQL with all changes: the present rows, then the log. Needs "
        "`wal_level = logical` and the driver psycopg (`funke[jdbc]`)."
    )
    required_options = (HOST, _USER, PASSWORD, _DATABASE, _SCHEMA, _TABLE, _SLOT)
    optional_options = (
        _PORT,
        _PLUGIN,
        _MODE,
        _START,
        CHUNK,
        CHUNK_KEY,
        HEARTBEAT,
        TIMEOUT,
        _PUBLICATION,
        _AUTOCREATE,
        SKIPPED,
        APPEND_ONLY,
        _DELAY,
        _IDS,
        *NO_EFFECT,
        *_REJECTED,
    )

    source_type = PostgresCdcSource
    patterns = (_SCHEMA, _TABLE)
    defaults_only = _REJECTED

    def validate(self, context: TableContext) -> None:
        values = context.values
        if values[_PLUGIN] != "pgoutput":
            raise UnsupportedFeatureError(f"'{_PLUGIN.key}' = '{values[_PLUGIN]}'", "changes are read with pgoutput")
        # PostgreSQL's own rule for the names of slots: an error here comes before the job runs.
        if not re.fullmatch(r"[a-z0-9_]{1,63}", values[_SLOT]):
            raise ValidationException(
                f"'{_SLOT.key}' = '{values[_SLOT]}' is not a slot name; use up to 63 lower-case letters, digits and "
                "underscores."
            )
        # Without the rows of before a key must say which row an update replaces.
        if values[_MODE] == "upsert" and not context.primary_key:
            raise ValidationException("Primary key must be present when upsert mode is selected.")
        if values[_DELAY] < 0:
            raise ValidationException(f"The value of '{_DELAY.key}' must not be negative, but is {values[_DELAY]}.")

    def create_settings(self, values: OptionValues, fields: tuple[RowField, ...]) -> PostgresCdcSettings:
        return PostgresCdcSettings(
            PostgresDatabase({**connection_of(values, _USER), "port": str(values[_PORT]), "dbname": values[_DATABASE]}),
            values[_SCHEMA],
            values[_TABLE],
            fields,
            values[_SLOT],
            values[_PUBLICATION],
            values[_AUTOCREATE] == "filtered",
            start_mode=values[_START],
            is_upsert=values[_MODE] == "upsert",
            confirm_delay=values[_DELAY],
        )
