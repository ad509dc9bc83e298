"""MATCH_RECOGNIZE as a relation: a pattern whose conditions and measures are expressions over lookups in the match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from funke.engine.operators.patterns.pattern import Pattern
from funke.engine.sql.binding.expressions import BoundExpression
from funke.engine.sql.binding.relations import BoundAggregate, Relation, SortKey
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.types.logical.data_type import DataType

__all__ = ["Definition", "Lookup", "Matches", "Measure"]


@dataclass(frozen=True)
class Lookup:
    """A value that an expression reads from a match: a column of one of its rows, or an aggregate of several.

    In the result for one row of a match those behind it do not count, unless the lookup is final.

    The rows are those of some stages in the order of time, counted from the first or from the last one.
    """

    type: DataType
    # Empty: those of all stages.
    stages: tuple[int, ...]
    column: int = -1
    is_first: bool = False
    offset: int = 0
    aggregate: BoundAggregate | None = None
    # "classifier": the name of the row's stage; "match number": which match of its partition it is.
    kind: Literal["column", "classifier", "match number"] = "column"
    # Whether it sees the whole match, also in the result for one of its rows (FINAL).
    is_final: bool = False


@dataclass(frozen=True)
class Definition:
    """The condition of a stage. Its columns are those of the row alone, or lookups in the match so far."""

    stage: int
    condition: BoundExpression
    # None: the condition depends on the row alone, so that it is computed for whole batches.
    lookups: tuple[Lookup, ...] | None


@dataclass(frozen=True)
class Measure:
    """A column of the result: an expression whose columns are the values of its lookups."""

    expression: BoundExpression
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True)
class Matches(Relation):
    """A row for each match, or one for each row of a match: columns of the row, the measures, more columns of the row.

    Of a whole match the columns of the row are those of PARTITION BY. The stages of the pattern have no conditions:
    those are the definitions.
    """

    input: Relation
    partition_by: tuple[int, ...]
    time: WindowTime
    # Orders rows of the same time.
    order: tuple[SortKey, ...]
    pattern: Pattern
    definitions: tuple[Definition, ...]
    measures: tuple[Measure, ...]
    # The columns of the row in front of the measures, those of PARTITION BY first, and those behind them.
    before_measures: tuple[int, ...]
    behind_measures: tuple[int, ...] = ()
    is_all_rows: bool = False
