"""The columns of a result as programs see them."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.table.catalog import PhysicalColumn, ResolvedSchema
from funke.table.table_schema import TableSchema
from funke.table.types import DataType

__all__ = ["resolved_schema_of", "table_schema_of"]


def table_schema_of(columns: Sequence[Column]) -> TableSchema:
    """The columns by name and type."""
    return TableSchema([each.name for each in columns], [each.type for each in columns])


def resolved_schema_of(columns: Sequence[Column]) -> ResolvedSchema:
    """The columns by name and type, and with what they are."""
    return ResolvedSchema.of([_column_of(each) for each in columns])


def _column_of(column: Column) -> PhysicalColumn:
    if column.time is None:
        return PhysicalColumn(column.name, column.type)
    return _TimeColumn(column.name, column.type, column.time)


class _TimeColumn(PhysicalColumn):
    """A column that is event time or processing time, which its text says."""

    def __init__(self, name: str, data_type: DataType, time: TimeAttribute) -> None:
        super().__init__(name, data_type)
        self._time = time

    def as_summary_string(self) -> str:
        return f"{super().as_summary_string()} {self._time}"
