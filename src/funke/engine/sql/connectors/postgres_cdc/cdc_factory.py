"""The connector postgres-cdc: its options, and what reads its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.jdbc.database import PostgresDatabase
from funke.engine.connectors.postgres_cdc.change_rows import METADATA, output_fields
from funke.engine.connectors.postgres_cdc.settings import CdcSettings
from funke.engine.connectors.postgres_cdc.source import PostgresCdcSource
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.operations import CustomOperator
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import ALL_CHANGES, UPSERTS
from funke.engine.sql.connectors.table_source import INSERTS, SourceTaker, TableSource
from funke.engine.sql.operators.batch_elements import unpack_batches
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.logical.row_type import RowField

if TYPE_CHECKING:
    from funke.engine.types.logical.data_type import DataType
    from funke.engine.types.row import RowKind

__all__ = ["PostgresCdcFactory", "PostgresCdcTableSource"]

_HOST = TableOption("hostname", description="The host of the server.")
_PORT = TableOption("port", "Integer", "5432", "Its port.")
_USER = TableOption("username", description="Who connects; must be allowed to replicate.")
_PASSWORD = TableOption("password", description="The password; not shown anywhere.")
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
_CHUNK = TableOption(
    "scan.incremental.snapshot.chunk.size", "Integer", "8096", "About so many rows are read as one part."
)
_CHUNK_KEY = TableOption(
    "scan.incremental.snapshot.chunk.key-column", description="The column of the primary key by which parts are cut."
)
_HEARTBEAT = TableOption(
    "heartbeat.interval",
    "Duration",
    "30 s",
    "How often the server hears of an idle job.",
    older_keys=("heartbeat.interval.ms",),
)
_TIMEOUT = TableOption("connect.timeout", "Duration", "30 s", "How long connecting may take.")
_NO_EFFECT = tuple(
    TableOption(key, kind, default, "Has no effect here.")
    for key, kind, default in (
        ("scan.incremental.snapshot.enabled", "Boolean", "true"),
        ("scan.incremental.snapshot.backfill.skip", "Boolean", "false"),
        ("scan.incremental.close-idle-reader.enabled", "Boolean", "false"),
        ("scan.snapshot.fetch.size", "Integer", "1024"),
        ("chunk-meta.group.size", "Integer", "1000"),
        ("chunk-key.even-distribution.factor.upper-bound", "Double", "1000.0"),
        ("chunk-key.even-distribution.factor.lower-bound", "Double", "0.05"),
        ("connect.max-retries", "Integer", "3"),
        ("connection.pool.size", "Integer", "20"),
    )
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
_SKIPPED = TableOption(
    "debezium.skipped.operations",
    description="'t' goes on when a table is truncated, whose rows stay in the results; without it that is an error.",
)


class PostgresCdcFactory(TableFactory):
    identifier = "postgres-cdc"
    purpose = (
        "Tables of PostgreSQL and everything that changes in them: rows that are there, then the log. Needs "
        "`wal_level = logical` and the driver psycopg (`funke[jdbc]`)."
    )
    reads = True
    required_options = (_HOST, _USER, _PASSWORD, _DATABASE, _SCHEMA, _TABLE, _SLOT)
    optional_options = (
        _PORT,
        _PLUGIN,
        _MODE,
        _START,
        _CHUNK,
        _CHUNK_KEY,
        _HEARTBEAT,
        _TIMEOUT,
        _PUBLICATION,
        _AUTOCREATE,
        _SKIPPED,
        *_NO_EFFECT,
    )

    def create_source(self, context: TableContext) -> PostgresCdcTableSource:
        values = context.values
        _check(values, context.primary_key)
        database = PostgresDatabase(
            {
                "host": values[_HOST],
                "port": str(values[_PORT]),
                "dbname": values[_DATABASE],
                "user": values[_USER],
                "password": values[_PASSWORD],
                "connect_timeout": max(1, values[_TIMEOUT].to_millis() // 1000),
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
            values[_CHUNK],
            values[_CHUNK_KEY],
            values[_HEARTBEAT].to_millis(),
            values[_SKIPPED] == "t",
            _has_checkpoints(context.configuration),
        )
        return PostgresCdcTableSource(settings)


def _check(values: OptionValues, primary_key: Sequence[str]) -> None:
    if values[_PLUGIN] != "pgoutput":
        raise UnsupportedFeatureError(f"'{_PLUGIN.key}' = '{values[_PLUGIN]}'", "changes are read with pgoutput")
    if not re.fullmatch(r"[a-z0-9_]{1,63}", values[_SLOT]):
        raise ValidationException(
            f"'{_SLOT.key}' = '{values[_SLOT]}' is no name of a slot: small letters, digits and underscores make one."
        )
    if values[_MODE] == "upsert" and not primary_key:
        raise ValidationException("Primary key must be present when upsert mode is selected.")
    if values[_CHUNK] < 2:
        raise ValidationException(f"The value of '{_CHUNK.key}' must be larger than 1, but is {values[_CHUNK]}.")
    if values[_SKIPPED] not in (None, "t", "none"):
        raise UnsupportedFeatureError(f"'{_SKIPPED.key}' = '{values[_SKIPPED]}'", "it may be 't' or 'none'")
    for option in (_SCHEMA, _TABLE):
        try:
            re.compile(values[option])
        except re.error as error:
            raise ValidationException(f"'{option.key}' = '{values[option]}' is no pattern: {error}") from None


def _has_checkpoints(configuration: Mapping[str, Any]) -> bool:
    return configuration.get("execution.checkpointing.interval") not in (None, "", "0", "0 ms", "0s")


@dataclass(frozen=True)
class PostgresCdcTableSource(TableSource):
    """Rows and changes of tables."""

    settings: CdcSettings
    summary = "postgres-cdc"

    @property
    def kinds(self) -> frozenset[RowKind]:  # type: ignore[override]
        if self.settings.start_mode == "snapshot":
            return INSERTS
        return UPSERTS if self.settings.is_upsert else ALL_CHANGES

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(each.name, each.data_type) for each in output_fields(self.settings))

    @property
    def is_bounded(self) -> bool:
        return self.settings.start_mode == "snapshot"

    def create_source(self) -> PostgresCdcSource:
        return PostgresCdcSource(self.settings)

    @property
    def metadata(self) -> Mapping[str, DataType]:
        return METADATA

    def with_metadata(self, columns: Sequence[tuple[str, str]]) -> PostgresCdcTableSource:
        return replace(self, settings=replace(self.settings, metadata=tuple(columns)))

    def stream(self, env: SourceTaker, columns: Sequence[Column]) -> Any:
        """A record of the source is a batch of rows: its parts are read as a whole, or not at all."""
        batches = env._add_source(self.create_source(), f"{self.summary} Source", None)
        unpacked = batches._transform(CustomOperator(unpack_batches), self.summary, row_type_of(columns))
        return batches._keeping_parallelism(unpacked)
