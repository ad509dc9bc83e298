"""The columns of a table as a program declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import SchemaDefinition
from funke.engine.sql.catalog.schema_text import schema_text
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.statements import ColumnDefinition, WatermarkDefinition
from funke.engine.types.logical.sql_text import from_sql_text
from funke.table.expression import Expression
from funke.table.expression_members.operands import literal, to_syntax
from funke.table.types import DataType, RowType

if TYPE_CHECKING:
    from funke.table.catalog import ResolvedSchema

__all__ = ["Schema", "DataType", "Expression"]


class Schema:
    """Columns, watermark and primary key, before they are checked.

    >>> from funke.table import DataTypes, Schema
    >>> columns = Schema.new_builder().column("id", DataTypes.INT().not_null()).column("t", DataTypes.TIMESTAMP(3))
    >>> print(columns.watermark("t", "t - INTERVAL '5' SECOND").primary_key("id").build())
    (
      `id` INT NOT NULL,
      `t` TIMESTAMP(3),
      WATERMARK FOR `t` AS [t - INTERVAL '5' SECOND],
      CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED
    )
    """

    def __init__(self, definition: SchemaDefinition) -> None:
        self._definition = definition

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Begin to collect columns."""
        return Schema.Builder()

    def __str__(self) -> str:
        return schema_text(self._definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._definition == other._definition

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._columns: list[ColumnDefinition] = []
            self._type_strings: dict[str, str] = {}
            self._watermark: WatermarkDefinition | None = None
            self._primary_key: tuple[str, ...] = ()
            self._primary_key_name = ""

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take over everything from another schema."""
            definition = unresolved_schema._definition
            self._columns += definition.columns
            self._type_strings |= dict(definition.type_strings)
            if definition.watermark is not None:
                self._set_watermark(definition.watermark)
            if definition.primary_key:
                self.primary_key_named(definition.primary_key_name, *definition.primary_key)
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """Take over everything from a schema that has been checked."""
            return self.from_schema(resolved_schema._to_schema())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Add the fields of a row type as columns."""
            if not isinstance(data_type, RowType):
                raise ValidationException("Data type of ROW expected.")
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(self, field_names: list[str], field_data_types: list[DataType]) -> Schema.Builder:
            """Add columns by their names and types."""
            if len(field_names) != len(field_data_types):
                raise ValidationException("Field names and field data types must have the same length.")
            for name, data_type in zip(field_names, field_data_types):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """Add a column; the type may be a text of SQL."""
            return self._add(ColumnDefinition(_name(column_name), self._data_type(column_name, data_type)))

        def column_by_expression(self, column_name: str, expr: str | Expression[Any]) -> Schema.Builder:
            """Add a column that is computed from others, by an expression or a text of SQL."""
            return self._add(ColumnDefinition(_name(column_name), expression=_expression(expr)))

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Add a column of the connector's own, such as a message's timestamp; a virtual one is not written."""
            definition = ColumnDefinition(
                _name(column_name),
                self._data_type(column_name, data_type),
                is_metadata=True,
                metadata_key=metadata_key,
                is_virtual=is_virtual,
            )
            return self._add(definition)

        def watermark(self, column_name: str, watermark_expr: str | Expression[Any]) -> Schema.Builder:
            """Make a column the event time, with watermarks by an expression or a text of SQL."""
            return self._set_watermark(WatermarkDefinition((_name(column_name),), _expression(watermark_expr)))

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Declare the columns that make a row unique; that is not checked."""
            return self.primary_key_named(f"PK_{'_'.join(column_names)}", *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Declare the columns that make a row unique, and name the constraint."""
            if self._primary_key:
                raise ValidationException("Multiple primary keys are not supported.")
            if not constraint_name:
                raise ValidationException("Primary key constraint name must not be empty.")
            if not column_names:
                raise ValidationException("Primary key constraint must be defined for at least a single column.")
            self._primary_key, self._primary_key_name = column_names, constraint_name
            return self

        def build(self) -> Schema:
            """Return the schema."""
            definition = SchemaDefinition(
                tuple(self._columns),
                self._watermark,
                self._primary_key,
                self._primary_key_name,
                tuple(self._type_strings.items()),
            )
            return Schema(definition)

        def _data_type(self, column_name: str, data_type: str | DataType) -> DataType:
            if isinstance(data_type, str):
                self._type_strings[column_name] = data_type
            return _data_type(data_type)

        def _add(self, column: ColumnDefinition) -> Schema.Builder:
            self._columns.append(column)
            return self

        def _set_watermark(self, watermark: WatermarkDefinition) -> Schema.Builder:
            if self._watermark is not None:
                raise ValidationException("Multiple watermark definitions are not supported yet.")
            self._watermark = watermark
            return self


def _name(column_name: str) -> str:
    if not isinstance(column_name, str):
        raise ConfigurationError(at_user_line(f"the name of a column must be a str, got {column_name!r}"))
    return column_name


def _data_type(data_type: str | DataType) -> DataType:
    if isinstance(data_type, str):
        return from_sql_text(data_type)
    if not isinstance(data_type, DataType):
        raise ConfigurationError(at_user_line(f"the type of a column must be a DataType or a str, got {data_type!r}"))
    return data_type


def _expression(expr: str | Expression[Any]) -> syntax.Expression:
    return syntax.Call("call_sql", (literal(expr),)) if isinstance(expr, str) else to_syntax(expr)
