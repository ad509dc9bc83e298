"""The common part of CDC connectors: tables with the rows of a database's tables and all their changes."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.change_capture.settings import CaptureSettings
from funke.engine.connectors.change_capture.source import ChangeSource
from funke.engine.connectors.source import Source
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.builder import OF_INPUT, GraphBuilder, StreamRef
from funke.engine.graph.operations import CustomOperator
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import ALL_CHANGES, UPSERTS
from funke.engine.sql.connectors.table_source import INSERTS, TableSource
from funke.engine.sql.operators.batch_elements import unpack_batches, unpack_inserts
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.logical import RowField

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType
    from funke.engine.types.row import RowKind

__all__ = [
    "APPEND_ONLY",
    "CHUNK",
    "CHUNK_KEY",
    "HEARTBEAT",
    "HOST",
    "NO_EFFECT",
    "PASSWORD",
    "SKIPPED",
    "TIMEOUT",
    "ChangeTableFactory",
    "ChangeTableSource",
    "connection_of",
    "rejected",
]

HOST = TableOption("hostname", description="The host of the server.")
PASSWORD = TableOption("password", description="The password; not shown anywhere.")
CHUNK = TableOption(
    "scan.incremental.snapshot.chunk.size", "Integer", "8096", "The approximate number of rows of a part."
)
CHUNK_KEY = TableOption(
    "scan.incremental.snapshot.chunk.key-column", description="The column of the primary key by which parts are cut."
)
HEARTBEAT = TableOption(
    "heartbeat.interval",
    "Duration",
    "30 s",
    "How often the server hears of an idle job.",
    older_keys=("heartbeat.interval.ms",),
)
TIMEOUT = TableOption("connect.timeout", "Duration", "30 s", "How long connecting may take.")
SKIPPED = TableOption(
    "debezium.skipped.operations",
    description="'t' goes on when a table is truncated, whose rows stay in the results; without it that is an error.",
)
APPEND_ONLY = TableOption(
    "scan.read-changelog-as-append-only.enabled",
    "Boolean",
    "false",
    "All changes come as inserts; the METADATA column `row_kind` has their kind.",
)
NO_EFFECT = tuple(
    TableOption(key, kind, default, "Has no effect here.")
    for key, kind, default in (
        ("scan.incremental.snapshot.enabled", "Boolean", "true"),
        ("scan.incremental.snapshot.backfill.skip", "Boolean", "false"),
        ("scan.incremental.close-idle-reader.enabled", "Boolean", "false"),
        ("scan.incremental.snapshot.unbounded-chunk-first.enabled", "Boolean", "false"),
        ("scan.snapshot.fetch.size", "Integer", "1024"),
        ("chunk-meta.group.size", "Integer", "1000"),
        ("chunk-key.even-distribution.factor.upper-bound", "Double", "1000.0"),
        ("chunk-key.even-distribution.factor.lower-bound", "Double", "0.05"),
        ("connect.max-retries", "Integer", "3"),
        ("connection.pool.size", "Integer", "20"),
    )
)


def rejected(key: str, why: str, kind: str = "Boolean", default: str = "false") -> TableOption:
    """An option that is known, and may only have its default."""
    return TableOption(key, kind, default, f"Only {default}: {why}.")


class ChangeTableFactory(TableFactory):
    """Makes sources of change tables; there is a subclass for each database."""

    reads = True
    source_type: type[ChangeSource[Any]]
    # Options that are patterns of names, and those that may only have their defaults.
    patterns: tuple[TableOption, ...]
    defaults_only: tuple[TableOption, ...]

    def create_source(self, context: TableContext) -> ChangeTableSource:
        values = context.values
        self.validate(context)
        _validate_shared(values, self.patterns, self.defaults_only)
        settings = replace(
            self.create_settings(values, tuple(RowField(each.name, each.type) for each in context.columns)),
            chunk_rows=values[CHUNK],
            chunk_column=values[CHUNK_KEY],
            heartbeat_ms=values[HEARTBEAT].to_millis(),
            ignores_truncate=values[SKIPPED] == "t",
            is_parallel=_has_checkpoints(context.configuration),
        )
        return ChangeTableSource(settings, self.identifier, self.source_type, values[APPEND_ONLY])

    def validate(self, context: TableContext) -> None:
        """Rejects values that are wrong for this database."""

    @abstractmethod
    def create_settings(self, values: OptionValues, fields: tuple[RowField, ...]) -> CaptureSettings:
        """The settings from the options of this database."""


def connection_of(values: OptionValues, user: TableOption) -> dict[str, Any]:
    """The parameters of a connection that have the same names in all drivers."""
    return {
        "host": values[HOST],
        "user": values[user],
        "password": values[PASSWORD],
        # The drivers count whole seconds, and take 0 for no limit.
        "connect_timeout": max(1, values[TIMEOUT].to_millis() // 1000),
    }


def _validate_shared(
    values: OptionValues, patterns: Iterable[TableOption], defaults_only: Iterable[TableOption]
) -> None:
    """Rejects values that are wrong for any database, and options that may not be set."""
    for option in defaults_only:
        if values[option]:
            raise UnsupportedFeatureError(f"'{option.key}' = '{values.strings[option.key]}'", option.description)
    if values[CHUNK] < 2:
        raise ValidationException(f"The value of '{CHUNK.key}' must be larger than 1, but is {values[CHUNK]}.")
    if values[SKIPPED] not in (None, "t", "none"):
        raise UnsupportedFeatureError(f"'{SKIPPED.key}' = '{values[SKIPPED]}'", "expected 't' or 'none'")
    for option in patterns:
        try:
            re.compile(values[option])
        except re.error as error:
            raise ValidationException(f"'{option.key}' = '{values[option]}' is not a pattern: {error}") from None


def _has_checkpoints(configuration: Mapping[str, Any]) -> bool:
    """Whether several subtasks may read the rows of a table."""
    # A change must not overtake the row that another subtask still reads: the log begins behind a checkpoint that has
    # all parts. Without checkpoints a single subtask reads all in order.
    return configuration.get("execution.checkpointing.interval") not in (None, "", "0", "0 ms", "0s")


@dataclass(frozen=True)
class ChangeTableSource(TableSource):
    """Rows and changes of tables."""

    settings: CaptureSettings
    identifier: str
    source_type: type[ChangeSource[Any]]
    # Whether changes come as inserts.
    is_append_only: bool = False

    @property
    def summary(self) -> str:
        return self.identifier

    def create_source(self) -> Source:
        return self.source_type(self.settings)

    @property
    def kinds(self) -> frozenset[RowKind]:  # type: ignore[override]
        # A snapshot alone has rows and no changes.
        if self.is_bounded or self.is_append_only:
            return INSERTS
        return UPSERTS if self.settings.is_upsert else ALL_CHANGES

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(each.name, each.data_type) for each in self.settings.output_fields)

    @property
    def is_bounded(self) -> bool:
        return self.settings.is_bounded

    @property
    def metadata(self) -> Mapping[str, DataType]:
        return self.settings.metadata_types

    def with_metadata(self, columns: Sequence[tuple[str, str]]) -> ChangeTableSource:
        return replace(self, settings=replace(self.settings, metadata=tuple(columns)))

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        """A record of the source is a batch of rows: its parts are read as a whole, or not at all."""
        name, uid = f"{self.summary} Source", builder.new_uid(uid_prefix)
        batches = builder.add_source(self.create_source(), name=name, type_info=None, uid=uid)
        return builder.add(
            CustomOperator(unpack_inserts if self.is_append_only else unpack_batches),
            [batches],
            name=self.summary,
            type_info=row_type_of(columns),
            uid=builder.new_uid(uid_prefix),
            parallelism=OF_INPUT,
        )
