"""Reads the tables of the connector jdbc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from funke.engine.connectors.jdbc.database import Database
from funke.engine.connectors.jdbc.scan import JdbcScan, PartitionBounds
from funke.engine.connectors.jdbc.table_read import TableRead
from funke.engine.sql.binding import Column
from funke.engine.sql.connectors.jdbc.condition_text import condition_text
from funke.engine.sql.connectors.jdbc.jdbc_lookup import JdbcLookupTable
from funke.engine.sql.connectors.lookup.lookup_options import LookupSettings
from funke.engine.sql.connectors.table_source import TableSource

if TYPE_CHECKING:
    from funke.engine.sql.binding import BoundExpression

__all__ = ["JdbcTableSource"]


@dataclass(frozen=True)
class JdbcTableSource(TableSource):
    """A table of a database, read once."""

    database: Database
    read: TableRead
    bounds: PartitionBounds | None = None
    fetch_rows: int = 0
    # Whether the database may be asked for the rows of a condition only.
    filters: bool = True
    lookup_settings: LookupSettings = field(default_factory=LookupSettings)
    summary = "jdbc"

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(each.name, each.data_type) for each in self.read.fields)

    @property
    def is_bounded(self) -> bool:
        return True

    def create_source(self) -> JdbcScan:
        rows = {"fetch_rows": self.fetch_rows} if self.fetch_rows else {}
        return JdbcScan(self.database, self.read, self.bounds, **rows)

    def lookup_table(self) -> JdbcLookupTable:
        return JdbcLookupTable(self.database, self.read, self.lookup_settings)

    def with_columns(self, indexes: Sequence[int]) -> JdbcTableSource:
        fields = tuple(self.read.fields[index] for index in indexes)
        return replace(self, read=replace(self.read, fields=fields))

    def with_condition(self, condition: BoundExpression) -> JdbcTableSource | None:
        text = None
        if self.filters:
            fields, value_text = self.read.fields, self.database.value_text
            text = condition_text(condition, lambda column: value_text(fields[column.index].name, column.type))
        if text is None:
            return None
        return replace(self, read=replace(self.read, conditions=(*self.read.conditions, text)))

    def with_limit(self, limit: int) -> JdbcTableSource:
        return replace(self, read=replace(self.read, limit=limit))
