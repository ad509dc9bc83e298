"""The connector postgres-cdc: its options, and what reads its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.connectors.jdbc.database import PostgresDatabase
from funke.engine.connectors.postgres_cdc.change_rows import METADATA, output_fields
from funke.engine.connectors.postgres_cdc.settings import CdcSettings
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
    ChangeTableSource,
    check_shared,
    has_checkpoints,
    refused,
)
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import ALL_CHANGES, UPSERTS
from funke.engine.types.logical.row_type import RowField

if TYPE_CHECKING:
    from funke.engine.types.logical.data_type import DataType
    from funke.engine.types.row import RowKind

__all__ = ["PostgresCdcFactory", "PostgresCdcTableSource"]

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
    "Reads the tables and then the log, the log from now on, the log from where the slot stands, or the tables alone.",
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
    "So many checkpoints later the server hears of a position: it keeps its log for those that are restored by hand.",
)
_IDS = TableOption("table-id.include-database", "Boolean", "false", "Has no effect here.")
_REFUSED = (
    refused("scan.newly-added-table.enabled", "which tables are read is settled when the job starts"),
    refused("scan.include-partitioned-tables.enabled", "partitioned tables are not read"),
    refused("debezium.slot.drop.on.stop", "the slot stays: drop it with pg_drop_replication_slot"),
)


class PostgresCdcFactory(TableFactory):
    identifier = "postgres-cdc"
    purpose = (
        "Tables of PostgreSQL and everything that changes in them: rows that are there, then the log. Needs "
        "`wal_level = logical` and the driver psycopg (`funke[jdbc]`)."
    )
    reads = True
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
        *_REFUSED,
    )

    def create_source(self, context: TableContext) -> PostgresCdcTableSource:
        values = context.values
        _check(values, context.primary_key)
        database = PostgresDatabase(
            {
                "host": values[HOST],
                "port": str(values[_PORT]),
                "dbname": values[_DATABASE],
                "user": values[_USER],
                "password": values[PASSWORD],
                "connect_timeout": max(1, values[TIMEOUT].to_millis() // 1000),
            }
        )
        settings = CdcSettings(
            database,
            values[_SCHEMA],
            values[_TABLE],
            tuple(RowField(each.name, each.type) for each in context.columns),
            values[_SLOT],
            values[_PUBLICATION],
            values[_AUTOCREATE] == "filtered",
            values[_START],
            values[_MODE] == "upsert",
            values[CHUNK],
            values[CHUNK_KEY],
            values[HEARTBEAT].to_millis(),
            values[SKIPPED] == "t",
            has_checkpoints(context.configuration),
            confirm_delay=values[_DELAY],
        )
        return PostgresCdcTableSource(settings, values[APPEND_ONLY])


def _check(values: OptionValues, primary_key: Sequence[str]) -> None:
    if values[_PLUGIN] != "pgoutput":
        raise UnsupportedFeatureError(f"'{_PLUGIN.key}' = '{values[_PLUGIN]}'", "changes are read with pgoutput")
    if not re.fullmatch(r"[a-z0-9_]{1,63}", values[_SLOT]):
        raise ValidationException(
            f"'{_SLOT.key}' = '{values[_SLOT]}' is no name of a slot: small letters, digits and underscores make one."
        )
    if values[_MODE] == "upsert" and not primary_key:
        raise ValidationException("Primary key must be present when upsert mode is selected.")
    if values[_DELAY] < 0:
        raise ValidationException(f"The value of '{_DELAY.key}' must not be negative, but is {values[_DELAY]}.")
    check_shared(values, (_SCHEMA, _TABLE), _REFUSED)


@dataclass(frozen=True)
class PostgresCdcTableSource(ChangeTableSource):
    """Rows and changes of tables of PostgreSQL."""

    settings: CdcSettings
    summary = "postgres-cdc"
    metadata: ClassVar[Mapping[str, DataType]] = METADATA

    @property
    def kinds(self) -> frozenset[RowKind]:  # type: ignore[override]
        found = super().kinds
        return UPSERTS if self.settings.is_upsert and found == ALL_CHANGES else found

    @property
    def fields(self) -> tuple[RowField, ...]:
        return output_fields(self.settings)

    def create_source(self) -> PostgresCdcSource:
        return PostgresCdcSource(self.settings)
