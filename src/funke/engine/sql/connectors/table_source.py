"""What reads a table: the source of a stream, and what a query may ask of it so that less is read."""

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
        """Add what reads the table to a graph; return the stream of the scan's rows, with the scan's columns.

        Uids of the nodes are made of the prefix (`builder.new_uid`).
        """
        ...


class TableSource(ABC):
    """Reads a table. Is a frozen value: what is asked of it gives a changed copy, or None if it cannot do that.

    Rows travel as columns with the logical types of the table. They are those of `columns`, in that order: physical
    columns first, then those of metadata that were asked for.
    """

    # The kinds of changes that its rows may be.
    kinds: frozenset[RowKind] = INSERTS
    # Whether all there is to read is known at once, so that Spark tasks can read it.
    has_all_splits: bool = False
    # Whether lookup joins have a job read it once, in place of asking it.
    is_loaded_for_lookups: bool = False

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """What its rows hold."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What plans and operators call it."""

    @property
    def is_bounded(self) -> bool:
        """Whether it ends by itself."""
        return self.create_source().is_bounded

    def size_bytes(self) -> int | None:
        """How much it reads, about, if that is known before; to tell little from much."""
        return None

    @abstractmethod
    def create_source(self) -> Source:
        """Return what reads the rows as columns."""

    @property
    def metadata(self) -> Mapping[str, DataType]:
        """What METADATA columns may ask for: key -> type."""
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
        """Return the source that need not read more rows than these; it may give more."""
        return None

    def lookup_table(self) -> LookupTable | None:
        """Return what finds rows by keys, for lookup joins; None if it cannot."""
        return None

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        """Add what reads it to a graph, with uids of that prefix; return the stream of its rows."""
        source, name, uid = self.create_source(), f"{self.summary} Source", builder.new_uid(uid_prefix)
        return builder.add_source(source, name=name, type_info=row_type_of(columns), uid=uid)
