"""Parts of the meaning of state that operators share: keys, rows of the input, accumulators, columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funke.engine.graph.state_meaning import MeaningPart
from funke.engine.sql.binding.relations import BoundAggregate, Relation
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel
from funke.engine.sql.meaning.column_strings import ColumnStrings
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.window_kinds import Windows

__all__ = [
    "ACCUMULATORS",
    "COLUMNS",
    "LEFT_COLUMNS",
    "VERSION_COLUMNS",
    "accumulators",
    "columns_of",
    "input_facts",
    "key_fact",
    "rows_fact",
    "window_fact",
]

# The names of lists of parts.
ACCUMULATORS, COLUMNS = "aggregate", "column"
LEFT_COLUMNS, VERSION_COLUMNS = "column of the left side", "column of versions"

Fact = tuple[str, str]


def key_fact(strings: ColumnStrings, source: Relation, keys: Sequence[int], words: str = "GROUP BY") -> Fact:
    """The columns of the key, in their order."""
    return words, strings.typed_columns(source, keys) or "()"


def input_facts(strings: ColumnStrings, *sources: Relation) -> tuple[Fact, ...]:
    """Whether rows may be retracted, and if so their conditions."""
    if not any(as_node(each).has_retractions for each in sources):
        return (("an input of", "rows that stay"),)
    # A sum that was restored with `v > 20` in place of `v > 10` holds rows of 15, whose retractions would not come.
    # Rows that are only inserted leave no such debt, and their condition may change.
    return ("an input of", "rows that may be taken back"), ("the condition", strings.rows(*sources))


def window_fact(
    strings: ColumnStrings,
    source: Relation,
    windows: Windows | None,
    time: WindowTime,
    window_columns: tuple[int, int] | None,
) -> Fact:
    """The windows of rows, or those that rows carry."""
    if windows is not None:
        return "windows", strings.windows(source, windows, time)
    assert window_columns is not None
    return "windows", strings.columns(source, window_columns)


def rows_fact(strings: ColumnStrings, source: Relation) -> Fact:
    """Rows that are kept as they are."""
    return "rows of", strings.typed_columns(source, range(len(source.columns)))


def accumulators(
    strings: ColumnStrings,
    source: Relation,
    aggregates: Sequence[BoundAggregate],
    kernel_for: Callable[[AggregateCall], AggregateKernel],
) -> tuple[MeaningPart, ...]:
    """The state of each aggregate call."""
    return tuple(MeaningPart(strings.call(source, each), len(kernel_for(each.call).dtypes)) for each in aggregates)


def columns_of(
    strings: ColumnStrings,
    relation: Relation,
    indexes: Sequence[int] | None = None,
    widths: Sequence[int] | None = None,
) -> tuple[MeaningPart, ...]:
    """The columns of rows that are kept; all of them unless indexes are given."""
    chosen = range(len(relation.columns)) if indexes is None else indexes
    widths = [1] * len(chosen) if widths is None else widths
    return tuple(MeaningPart(strings.typed(relation, index), width) for index, width in zip(chosen, widths))
