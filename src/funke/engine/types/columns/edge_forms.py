"""Both forms of the batches on one edge; Arrow is loaded when the first batch has to change its form."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.columns.form_change import ColumnsToRows, RowsToColumns
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["EdgeForms"]


class EdgeForms:
    """Converts the batches of an edge whose records are of one type; the receiver may take columns alone."""

    def __init__(self, edge_type: TypeInformation | None, wants_columns: bool = False) -> None:
        self.edge_type = edge_type
        self.wants_columns = wants_columns

    def rows_of(self, batch: ColumnBatch) -> tuple[list[Any], list[int] | None]:
        """Return the values and timestamps of columns."""
        return self._to_rows.convert(batch)

    def columns_of(self, values: list[Any], timestamps: list[int] | None) -> ColumnBatch:
        """Return the columns of values and timestamps."""
        return self._to_columns.convert(values, timestamps)

    @cached_property
    def _to_rows(self) -> ColumnsToRows:
        from funke.engine.types.columns.form_change import ColumnsToRows

        return ColumnsToRows(self.edge_type)

    @cached_property
    def _to_columns(self) -> RowsToColumns:
        from funke.engine.types.columns.form_change import RowsToColumns

        return RowsToColumns(self.edge_type)
