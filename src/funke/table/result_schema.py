"""The columns of a result as programs see them."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.sql.binding.relations import Column
from funke.table.catalog import PhysicalColumn, ResolvedSchema
from funke.table.table_schema import TableSchema

__all__ = ["resolved_schema_of", "table_schema_of"]


def table_schema_of(columns: Sequence[Column]) -> TableSchema:
    """The columns by name and type."""
    return TableSchema([each.name for each in columns], [each.type for each in columns])


def resolved_schema_of(columns: Sequence[Column]) -> ResolvedSchema:
    """The columns by name and type, and with what they are."""
    return ResolvedSchema.of([PhysicalColumn(each.name, each.type) for each in columns])
