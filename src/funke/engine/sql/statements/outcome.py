"""The results of statements: an answer at once, the rows of a query, or rows for tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.catalog.objects import Identifier
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.syntax.queries import Query
from funke.engine.types.logical import DataType, DataTypes

__all__ = ["OK", "InsertPlan", "Inserts", "Outcome", "QueryRows", "StatementResult", "listing", "text_outcome"]


@dataclass(frozen=True)
class Outcome:
    """An answer that is there at once."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    has_content: bool = True
    # Printed as it is, without a frame.
    is_plain: bool = False


@dataclass(frozen=True)
class QueryRows:
    """The rows of a query, which a job has to compute."""

    relation: Relation
    # The query as it was written.
    text: str = ""


@dataclass(frozen=True)
class InsertPlan:
    """Rows for a table; their columns are the sink's."""

    identifier: Identifier | None
    relation: Relation
    sink: TableSink
    primary_key: tuple[int, ...] = ()
    # Columns that must have values, of which the query may give NULL.
    not_null: tuple[int, ...] = ()
    # The statement as it was written, if it was one.
    text: str = ""
    # The query behind the rows, if the Table API built it and it can be written as SQL.
    query: Query | None = field(default=None, compare=False)
    is_overwrite: bool = False
    # What is done with rows of the same primary key that the query tells apart, if that is said: deduplicate, …
    on_conflict: str | None = None
    # When rows of the same primary key are sent to the same subtask: with another number of subtasks than those that
    # make them (AUTO), always (FORCE), never (NONE).
    keyed_shuffle: str = "AUTO"

    @property
    def name(self) -> str:
        """The sink as results and jobs name it."""
        return "*anonymous*" if self.identifier is None else self.identifier.summary

    @property
    def is_written_by_spark(self) -> bool:
        """True if Spark computes all rows and writes them, so that none of them come to slots."""
        return self.sink.takes_frames and isinstance(self.relation, SparkRows)


@dataclass(frozen=True)
class Inserts:
    """Rows for tables, written by one job."""

    plans: tuple[InsertPlan, ...]


StatementResult = Outcome | QueryRows | Inserts

_RESULT = (Column("result", DataTypes.STRING()),)
OK = Outcome(_RESULT, (("OK",),), has_content=False, is_plain=True)


def text_outcome(text: str, is_plain: bool = False) -> Outcome:
    return Outcome(_RESULT, ((text,),), is_plain=is_plain)


def listing(rows: list[tuple[Any, ...]], *columns: tuple[str, DataType] | str) -> Outcome:
    """Rows of a listing; a column is a string unless its type is given."""
    pairs = ((each, DataTypes.STRING()) if isinstance(each, str) else each for each in columns)
    return Outcome(tuple(Column(*each) for each in pairs), tuple(rows))
