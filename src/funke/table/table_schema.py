"""The columns of a table by name and type: what Flink had before `Schema` and `ResolvedSchema`."""

from __future__ import annotations

from collections.abc import Iterable

from funke.engine.types.logical.sql_text import to_sql_text
from funke.table.schema import Schema
from funke.table.types import DataType, DataTypes, RowType

__all__ = ["TableSchema", "DataType", "RowType"]


class TableSchema:
    """Names and types of columns.

    >>> from funke.table import DataTypes, TableSchema
    >>> schema = TableSchema.builder().field("item", DataTypes.STRING()).field("price", DataTypes.INT()).build()
    >>> schema.get_field_names(), schema.get_field_data_type("price")
    (['item', 'price'], IntType(true))
    """

    def __init__(self, field_names: list[str] | None = None, data_types: list[DataType] | None = None) -> None:
        self._names = list(field_names or ())
        self._types = list(data_types or ())
        self._lines = [f"{name}: {to_sql_text(data_type)}" for name, data_type in zip(self._names, self._types)]
        if len(self._names) != len(self._types):
            raise ValueError(
                f"a schema needs a type for each name, got {len(self._names)} names, {len(self._types)} types"
            )

    def copy(self) -> TableSchema:
        """Return a copy."""
        return TableSchema(self._names, self._types)._shown_as(self._lines)

    def _shown_as(self, lines: Iterable[str]) -> TableSchema:
        """Say more than names and types in the text: times, watermark, primary key."""
        self._lines = list(lines)
        return self

    def get_field_data_types(self) -> list[DataType]:
        """Return the types of all columns."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """Return the type of a column, by name or position; None if there is no such column."""
        if not isinstance(field, int | str):
            raise TypeError(f"Expected field index or field name, got {type(field)}")
        if isinstance(field, str):
            return dict(zip(self._names, self._types)).get(field)
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        """Return the number of columns."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """Return the names of all columns."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """Return the name of a column; None if there is no such column."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """Return the type of a row, which is never null."""
        fields = [DataTypes.FIELD(name, data_type) for name, data_type in zip(self._names, self._types)]
        return DataTypes.ROW(fields, nullable=False)

    def _to_schema(self) -> Schema:
        return Schema.new_builder().from_fields(self._names, self._types).build()

    def __repr__(self) -> str:
        return "root\n" + "".join(f" |-- {line}\n" for line in self._lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and (self._names, self._types) == (other._names, other._types)

    def __hash__(self) -> int:
        return hash(repr(self))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Begin to collect columns."""
        return TableSchema.Builder()

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            if name is None or data_type is None:
                raise AssertionError("a column needs a name and a data type")
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """Return the schema."""
            return TableSchema(self._names, self._types)
