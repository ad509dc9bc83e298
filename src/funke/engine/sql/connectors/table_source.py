"""The interface of table sources: the source of a stream, and the ways to read less for a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.connectors.source import Source
    from funke.engine.graph.builder import GraphBuilder, StreamRef
    from funke.engine.sql.binding import BoundExpression, Column
    from funke.engine.sql.connectors.lookup.lookup import LookupTable
    from funke.engine.types.logical.data_type import DataType

__all__ = ["INSERTS", "ScannedTable", "TableSource"]

INSERTS = frozenset({RowKind.INSERT})


class ScannedTable(Protocol):
    """The `table` of a Scan."""

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        """Add the source of the table to a graph; return the stream of the scan's rows, with the scan's columns.

        Uids of the nodes are made of the prefix (`builder.new_uid`).
        """
        ...


class TableSource(ABC):
    """Reads a table. It is a frozen value: `with_…` returns a changed copy, or None if it cannot do that.

    Rows travel as columns with the logical types of the table. They are those of `columns`, in that order: physical
    columns first, then those of metadata that were asked for.
    """

    # The kinds of changes that its rows may be.
    kinds: frozenset[RowKind] = INSERTS
    # Whether all splits are known at once, so that Spark tasks can read them.
    has_all_splits: bool = False
    # Whether the job of a lookup join reads the table once, instead of asking it for keys.
    is_loaded_for_lookups: bool = False

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """Its name in plans and of its operators."""

    @property
    def is_bounded(self) -> bool:
        """Whether its rows have an end."""
        return self.create_source().is_bounded

    def size_bytes(self) -> int | None:
        """The approximate size of the data; None if it is not known in advance."""
        return None

    @abstractmethod
    def create_source(self) -> Source:
        """Return the source, which reads rows as columns."""

    @property
    def metadata(self) -> Mapping[str, DataType]:
        """The metadata that can be read, as METADATA columns: key -> type."""
        return {}

    def with_metadata(self, columns: Sequence[tuple[str, str]]) -> TableSource:
        """Return the source whose rows have columns of metadata (key, name of the column) behind the others."""
        raise NotImplementedError

    def with_columns(self, indexes: Sequence[int]) -> TableSource | None:
        """Return the source that reads only some of its columns, in this order."""
        return None

    def with_condition(self, condition: BoundExpression) -> TableSource | None:
        """Return the source that may leave out rows for which a condition on its columns is not true."""
        return None

    def with_limit(self, limit: int) -> TableSource | None:
        """Return the source that need not read more rows than these. It may give more: the plan keeps its Limit."""
        return None

    def lookup_table(self) -> LookupTable | None:
        """Return the table for lookup joins; None if rows cannot be found by keys."""
        return None

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        """Add the source to a graph, with uids of that prefix; return the stream of its rows."""
        source, name, uid = self.create_source(), f"{self.summary} Source", builder.new_uid(uid_prefix)
        return builder.add_source(source, name=name, type_info=row_type_of(columns), uid=uid)
