"""The interface of connectors: name, options, and the sources and sinks of tables."""

from __future__ import annotations

import datetime
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.catalog.objects import Identifier
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.connectors.table_source import TableSource

__all__ = ["TableContext", "TableFactory"]


@dataclass(frozen=True)
class TableContext:
    """A table of the catalog as its factory sees it."""

    identifier: Identifier
    # The physical columns.
    columns: tuple[Column, ...]
    options: Mapping[str, str]
    partition_keys: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    is_batch: bool = False
    zone: datetime.tzinfo = field(default_factory=lambda: ZoneInfo("UTC"))
    # The configuration of the session.
    configuration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> OptionValues:
        return OptionValues(self.options)


class TableFactory(ABC):
    """Makes sources and sinks for the tables whose option `connector` is its identifier.

    Packages add theirs with an entry point of the group `funke.table_factories` that names a class.
    """

    identifier: str
    # Its purpose, in one sentence of the documents.
    purpose: str = ""
    reads: bool = False
    writes: bool = False
    # Whether options about watermarks are known to it, too.
    takes_common_options: bool = True
    required_options: tuple[TableOption, ...] = ()
    optional_options: tuple[TableOption, ...] = ()
    # Prefixes of options without a fixed list of keys: they are passed on unchanged.
    free_prefixes: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[TableOption, ...]:
        return (*self.required_options, *self.optional_options)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        """Return the required and optional options of one table; formats and columns may bring their own."""
        return self.required_options, self.optional_options

    def create_source(self, context: TableContext) -> TableSource:
        """Return the source of a table whose options were checked; called only if `reads`."""
        raise NotImplementedError

    def create_sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table whose options were checked; called only if `writes`."""
        raise NotImplementedError
