"""The columns of a table when all names and types are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from enum import Enum
from typing import Any

from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.catalog.schema_text import column_text, key_text, lines_text, metadata_text
from funke.engine.types.logical.sql_text import quoted, to_sql_text
from funke.table.resolved_expression import ResolvedExpression
from funke.table.schema import Schema
from funke.table.types import DataType, DataTypes

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class _ByContent:
    """Equal when everything in it is."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class Column(_ByContent, ABC):
    """A column: physical, computed, or of the connector's metadata.

    >>> from funke.table import DataTypes
    >>> from funke.table.catalog import Column
    >>> column = Column.physical("price", DataTypes.INT()).with_comment("in cents")
    >>> str(column), column.is_physical(), column.is_persisted()
    ("`price` INT COMMENT 'in cents'", True, True)
    """

    def __init__(self, name: str, data_type: DataType) -> None:
        self._name = name
        self._data_type = data_type
        self._comment: str | None = None
        # Whether it is event time or processing time, which its text says.
        self._time: TimeAttribute | None = None

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """Return a column that the connector stores."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """Return a column that is computed from others."""
        return ComputedColumn(name, resolved_expression)

    @staticmethod
    def metadata(name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool) -> MetadataColumn:
        """Return a column of the connector's own, such as a message's timestamp."""
        return MetadataColumn(name, data_type, metadata_key, is_virtual)

    def with_comment(self, comment: str | None) -> Any:
        """Return the column with another comment."""
        return self._changed(_comment=comment)

    @abstractmethod
    def is_physical(self) -> bool:
        """Tell whether the connector stores it."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Tell whether it is written to a sink."""

    def get_data_type(self) -> DataType:
        """Return the type."""
        return self._data_type

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_comment(self) -> str | None:
        """Return what the column is for, if that is given."""
        return self._comment

    def as_summary_string(self) -> str:
        """Return the column as text."""
        return column_text(self._name, self._type_text(), self.explain_extras() or "", self._comment)

    @abstractmethod
    def explain_extras(self) -> str | None:
        """Return what stands behind the type."""

    def copy(self, new_type: DataType) -> Any:
        """Return the column with another type."""
        return self._changed(_data_type=new_type)

    def rename(self, new_name: str) -> Any:
        """Return the column with another name."""
        return self._changed(_name=new_name)

    def _type_text(self) -> str:
        text = to_sql_text(self._data_type)
        return text if self._time is None else f"{text} {self._time}"

    def _changed(self, **changes: Any) -> Any:
        changed = copy(self)
        changed.__dict__.update(changes)
        return changed

    def __str__(self) -> str:
        return self.as_summary_string()


class PhysicalColumn(Column):
    """A column that the connector stores.

    >>> from funke.table import DataTypes
    >>> from funke.table.catalog import Column, PhysicalColumn
    >>> column: PhysicalColumn = Column.physical("price", DataTypes.INT())
    >>> str(column.rename("cents"))
    '`cents` INT'
    """

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def explain_extras(self) -> str | None:
        return None

    def copy(self, new_data_type: DataType) -> Any:
        """Return the column with another type."""
        return super().copy(new_data_type)


class ComputedColumn(Column):
    """A column that is computed from others.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.catalog import ComputedColumn
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql("CREATE TABLE orders (price INT, twice AS price * 2) WITH ('connector' = 'datagen')")
    >>> column = t_env.from_path("orders").get_resolved_schema().get_column("twice")
    >>> isinstance(column, ComputedColumn), str(column)
    (True, '`twice` INT AS `price` * 2')
    """

    def __init__(self, name: str, resolved_expression: ResolvedExpression) -> None:
        super().__init__(name, resolved_expression.get_output_data_type())
        self._expression = resolved_expression

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def get_expression(self) -> ResolvedExpression:
        """Return what is computed."""
        return self._expression

    def explain_extras(self) -> str | None:
        return f"AS {self._expression.as_summary_string()}"

    def copy(self, new_data_type: DataType) -> Any:
        """Return the column with another type."""
        return super().copy(new_data_type)


class MetadataColumn(Column):
    """A column of the connector's own.

    >>> from funke.table import DataTypes
    >>> from funke.table.catalog import Column, MetadataColumn
    >>> column: MetadataColumn = Column.metadata("partition", DataTypes.INT(), None, is_virtual=True)
    >>> str(column), column.is_persisted()
    ('`partition` INT METADATA VIRTUAL', False)
    """

    def __init__(self, name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool) -> None:
        super().__init__(name, data_type)
        self._metadata_key = metadata_key
        self._is_virtual = is_virtual

    def is_virtual(self) -> bool:
        """Tell whether it is left out when rows are written."""
        return self._is_virtual

    def get_metadata_key(self) -> str | None:
        """Return the connector's name for it, if that is not the column's."""
        return self._metadata_key

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self._is_virtual

    def explain_extras(self) -> str | None:
        return metadata_text(self._metadata_key, self._is_virtual)

    def copy(self, new_data_type: DataType) -> Any:
        """Return the column with another type."""
        return super().copy(new_data_type)


class WatermarkSpec(_ByContent):
    """How the watermarks of an event-time column are computed.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.catalog import WatermarkSpec
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> columns = "t TIMESTAMP(3), WATERMARK FOR t AS t"
    >>> _ = t_env.execute_sql(f"CREATE TABLE clicks ({columns}) WITH ('connector' = 'datagen')")
    >>> spec: WatermarkSpec = t_env.from_path("clicks").get_resolved_schema().get_watermark_specs()[0]
    >>> spec.get_rowtime_attribute(), str(spec)
    ('t', 'WATERMARK FOR `t`: TIMESTAMP(3) AS `t`')
    """

    def __init__(self, rowtime_attribute: str, watermark_expression: ResolvedExpression) -> None:
        self._rowtime_attribute = rowtime_attribute
        self._watermark_expression = watermark_expression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """Return the watermarks of a column."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """Return the name of the column."""
        return self._rowtime_attribute

    def get_watermark_expression(self) -> ResolvedExpression:
        """Return what the watermarks are."""
        return self._watermark_expression

    def as_summary_string(self) -> str:
        """Return it as text."""
        data_type = to_sql_text(self._watermark_expression.get_output_data_type())
        column = ".".join(map(quoted, self._rowtime_attribute.split(".")))
        return f"WATERMARK FOR {column}: {data_type} AS {self._watermark_expression.as_summary_string()}"

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint(_ByContent, ABC):
    """Something that is said to hold for all rows.

    >>> from funke.table.catalog import Constraint, UniqueConstraint
    >>> key: Constraint = UniqueConstraint.primary_key("pk", ["id"])
    >>> key.get_type().name, key.is_enforced()
    ('PRIMARY_KEY', False)
    """

    class ConstraintType(Enum):
        """Kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str) -> None:
        self._name = name

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def is_enforced(self) -> bool:
        """Tell whether the key is checked: never."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        """Return the kind."""
        return self.ConstraintType.PRIMARY_KEY

    @abstractmethod
    def as_summary_string(self) -> str:
        """Return it as text."""

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """Columns that make a row unique.

    >>> from funke.table.catalog import UniqueConstraint
    >>> key = UniqueConstraint.primary_key("pk", ["shop", "id"])
    >>> key.get_columns(), str(key)
    (['shop', 'id'], 'CONSTRAINT `pk` PRIMARY KEY (`shop`, `id`) NOT ENFORCED')
    """

    def __init__(self, name: str, columns: list[str]) -> None:
        super().__init__(name)
        self._columns = list(columns)

    @staticmethod
    def primary_key(name: str, columns: list[str]) -> UniqueConstraint:
        """Return a primary key."""
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        """Return the columns."""
        return list(self._columns)

    def get_type_string(self) -> str:
        """Return the kind as SQL writes it."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        """Return it as text."""
        return key_text(self._name, self._columns)


class ResolvedSchema(_ByContent):
    """Columns, watermarks and primary key of a table.

    >>> from funke.table import DataTypes
    >>> from funke.table.catalog import ResolvedSchema
    >>> print(ResolvedSchema.physical(["id", "item"], [DataTypes.INT(), DataTypes.STRING()]))
    (
      `id` INT,
      `item` STRING
    )
    """

    def __init__(
        self,
        columns: list[Column] | None = None,
        watermark_specs: list[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        if columns is None or watermark_specs is None:
            raise AssertionError("a resolved schema needs columns and watermark_specs")
        self._columns = list(columns)
        self._watermark_specs = list(watermark_specs)
        self._primary_key = primary_key

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """Return a schema of columns."""
        return ResolvedSchema(columns, [])

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """Return a schema of physical columns."""
        if len(column_names) != len(column_data_types):
            raise ValueError("Mismatch between number of columns names and data types.")
        return ResolvedSchema.of([PhysicalColumn(*each) for each in zip(column_names, column_data_types)])

    def get_column_count(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """Return all columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """Return the names of all columns."""
        return [each.get_name() for each in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """Return the types of all columns."""
        return [each.get_data_type() for each in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """Return a column, by name or position; None if there is no such column."""
        if isinstance(column_index_or_name, int):
            is_there = 0 <= column_index_or_name < len(self._columns)
            return self._columns[column_index_or_name] if is_there else None
        return next((each for each in self._columns if each.get_name() == column_index_or_name), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """Return how watermarks are computed."""
        return list(self._watermark_specs)

    def get_primary_key(self) -> UniqueConstraint | None:
        """Return the primary key, if there is one."""
        return self._primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """Return the positions of the primary key's columns."""
        names = self.get_column_names()
        return [] if self._primary_key is None else [names.index(each) for each in self._primary_key.get_columns()]

    def to_source_row_data_type(self) -> DataType:
        """Return the type of a row that is read: with all columns."""
        return _row_type(self._columns)

    def to_physical_row_data_type(self) -> DataType:
        """Return the type of a row that the connector stores."""
        return _row_type([each for each in self._columns if each.is_physical()])

    def to_sink_row_data_type(self) -> DataType:
        """Return the type of a row that is written."""
        return _row_type([each for each in self._columns if each.is_persisted()])

    def _to_schema(self) -> Schema:
        builder = Schema.new_builder()
        for column in self._columns:
            if isinstance(column, ComputedColumn):
                builder.column_by_expression(column.get_name(), column.get_expression())
            elif isinstance(column, MetadataColumn):
                key = column.get_metadata_key()
                builder.column_by_metadata(column.get_name(), column.get_data_type(), key, column.is_virtual())
            else:
                builder.column(column.get_name(), column.get_data_type())
        for watermark in self._watermark_specs:
            builder.watermark(watermark.get_rowtime_attribute(), watermark.get_watermark_expression())
        if self._primary_key is not None:
            builder.primary_key_named(self._primary_key.get_name(), *self._primary_key.get_columns())
        return builder.build()

    def __str__(self) -> str:
        key = [] if self._primary_key is None else [self._primary_key]
        return lines_text(map(str, (*self._columns, *self._watermark_specs, *key)))


def _row_type(columns: list[Column]) -> DataType:
    fields = [DataTypes.FIELD(each.get_name(), each.get_data_type()) for each in columns]
    return DataTypes.ROW(fields, nullable=False)
