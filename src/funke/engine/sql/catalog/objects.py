"""The objects of catalogs, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax.path_text import format_path
from funke.engine.sql.syntax.statements import ColumnDefinition, WatermarkDefinition

if TYPE_CHECKING:
    from funke.engine.sql.syntax.queries import Query

__all__ = [
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogTable",
    "CatalogView",
    "Identifier",
    "SchemaDefinition",
    "TableObject",
]


@dataclass(frozen=True, order=True)
class Identifier:
    """A name with its catalog and database."""

    catalog: str
    database: str
    name: str

    def __str__(self) -> str:
        return format_path((self.catalog, self.database, self.name))

    @property
    def summary(self) -> str:
        """The name without quotes, as some messages have it."""
        return f"{self.catalog}.{self.database}.{self.name}"


@dataclass(frozen=True)
class SchemaDefinition:
    """Columns, watermark and primary key as they were declared."""

    columns: tuple[ColumnDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str = ""
    # Types of columns that were given as texts, which Flink shows in brackets.
    type_strings: tuple[tuple[str, str], ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class CatalogTable:
    """A table of a connector."""

    schema: SchemaDefinition
    options: Mapping[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    comment: str = ""


@dataclass(frozen=True)
class CatalogView:
    """A named query. `table` is set for a view on a Table object, which has no text."""

    schema: SchemaDefinition
    text: str = ""
    query: Query | None = None
    table: Any = None
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    expanded_text: str = ""


TableObject = CatalogTable | CatalogView


@dataclass(frozen=True)
class CatalogDatabase:
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


@dataclass(frozen=True)
class CatalogFunction:
    """A function by the name of its class; `function` is that of a function that was given as an object."""

    class_name: str
    language: str = "PYTHON"
    options: Mapping[str, str] = field(default_factory=dict)
    function: Any = None


@dataclass(frozen=True)
class CatalogModel:
    """A model for machine learning: its input and its output."""

    input_schema: SchemaDefinition
    output_schema: SchemaDefinition
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


@dataclass(frozen=True)
class CatalogPartition:
    """A partition of a table."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
