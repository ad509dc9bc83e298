"""The connector `case`: the rows of its tables stand in the case file that declares them, and come as changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.connectors.source import Source, SplitEnumerator, SplitReader
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors import table_factories
from funke.engine.sql.connectors.lookup.caches import NoCache
from funke.engine.sql.connectors.lookup.lookup import KeyedTable, Lookup, LookupTable
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.connectors.table_source import INSERTS, TableSource
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.operators.time.clock import Clock

__all__ = ["PREFIX", "LookupRows", "case_connector", "columns_of_tables", "rows_of_lookups"]

# Names of source nodes begin so; the name of the table follows.
PREFIX = "case "
_KINDS = {"I": RowKind.INSERT, "UB": RowKind.UPDATE_BEFORE, "UA": RowKind.UPDATE_AFTER, "D": RowKind.DELETE}
_CHANGES = TableOption("changelog-mode", "String", "I", "The kinds of changes: some of I, UB, UA, D with commas.")
_LOOKUP = TableOption("lookup", "Boolean", "false", "Whether it is asked for rows by lookup joins.")
_ASYNC = TableOption("async", "Boolean", "false", "Whether threads ask it.")

# What tables that are looked up hold now: name of the table -> rows.
LookupRows = dict[str, list[tuple[Any, ...]]]
rows_of_lookups: LookupRows = {}
# The physical columns of tables that a query reads.
columns_of_tables: dict[str, tuple[Column, ...]] = {}


@contextlib.contextmanager
def case_connector() -> Iterator[None]:
    """The connector is there meanwhile."""
    factories: Any = table_factories.table_factories()
    factories[CaseFactory.identifier] = CaseFactory()
    try:
        yield
    finally:
        del factories[CaseFactory.identifier]


class CaseFactory(TableFactory):
    identifier = "case"
    purpose = "Tables whose rows stand in a case file."
    reads = True
    writes = True
    optional_options = (_CHANGES, _LOOKUP, _ASYNC)

    def create_source(self, context: TableContext) -> TableSource:
        name = context.identifier.name
        columns_of_tables[name] = context.columns
        values = context.values
        return CaseTable(name, context.columns, _kinds(context), values[_LOOKUP], values[_ASYNC])

    def create_sink(self, context: TableContext) -> TableSink:
        return CaseTableSink(_kinds(context) if _CHANGES.key in context.options else None)


def _kinds(context: TableContext) -> frozenset[RowKind]:
    return frozenset(_KINDS[each.strip()] for each in context.values[_CHANGES].split(","))


@dataclass(frozen=True)
class CaseTable(TableSource):
    """Reads what the test feeds."""

    name: str
    all_columns: tuple[Column, ...]
    kinds: frozenset[RowKind] = INSERTS
    is_looked_up: bool = False
    is_async: bool = False
    indexes: tuple[int, ...] | None = None
    has_all_splits = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.all_columns if self.indexes is None else tuple(self.all_columns[index] for index in self.indexes)

    @property
    def summary(self) -> str:
        return f"{PREFIX}{self.name}"

    def create_source(self) -> Source:
        return _NoSource()

    def with_columns(self, indexes: Sequence[int]) -> TableSource:
        return replace(self, indexes=tuple(indexes))

    def lookup_table(self) -> LookupTable | None:
        if not self.is_looked_up:
            return None
        return _CaseLookup(self.name, self.all_columns, self.columns, self.is_async)


class _NoSource(Source):
    """In its place the test feeds rows."""

    is_bounded = True

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        raise NotImplementedError("a case feeds the rows of its tables")

    def create_reader(self) -> SplitReader:
        raise NotImplementedError("a case feeds the rows of its tables")


@dataclass(frozen=True)
class _CaseLookup(LookupTable):
    name: str
    all_columns: tuple[Column, ...]
    read: tuple[Column, ...]
    is_async: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.read

    def create_lookup(self, keys: Sequence[int], clock: Clock) -> Lookup:
        return NoCache(_CaseRows(self.name, self.all_columns, self.read), keys)


@dataclass(frozen=True)
class _CaseRows(KeyedTable):
    name: str
    all_columns: tuple[Column, ...]
    read: tuple[Column, ...]

    def fetch(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        return self.fetch_all()

    def fetch_all(self) -> pa.RecordBatch:
        import pyarrow

        rows = rows_of_lookups.get(self.name, [])
        columns = [(self.all_columns.index(each), each.type) for each in self.read]
        arrays = [from_values([row[index] for row in rows], kind) for index, kind in columns]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema_of(self.read))

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class CaseTableSink(TableSink):
    """Takes some kinds of changes, or those that the query has."""

    kinds: frozenset[RowKind] | None
    summary = "case"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        return requested if self.kinds is None else self.kinds

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        return _CaseSink()


@dataclass(frozen=True)
class _CaseSink(Sink):
    takes_columns = True

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _CaseWriter(context)


class _CaseWriter(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self._send: Any = context.send_to_driver

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        raise NotImplementedError("rows come as columns")

    def write_columns(self, batch: ColumnBatch) -> None:
        self._send(batch)
