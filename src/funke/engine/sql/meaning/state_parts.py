"""What the meanings of several operators' state have in common: keys, rows of the input, accumulators, columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funke.engine.graph.state_meaning import MeaningPart
from funke.engine.sql.binding.relations import BoundAggregate, Relation
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel
from funke.engine.sql.meaning.column_texts import ColumnTexts
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


def key_fact(texts: ColumnTexts, source: Relation, keys: Sequence[int], words: str = "GROUP BY") -> Fact:
    """The columns that rows meet by, in their order."""
    return words, texts.typed_columns(source, keys) or "()"


def input_facts(texts: ColumnTexts, *sources: Relation) -> tuple[Fact, ...]:
    """Whether rows may be taken back. Then conditions count: a row that has passed one must pass it on its way back."""
    if not any(as_node(each).has_retractions for each in sources):
        return (("an input of", "rows that stay"),)
    return ("an input of", "rows that may be taken back"), ("the condition", texts.rows(*sources))


def window_fact(
    texts: ColumnTexts,
    source: Relation,
    windows: Windows | None,
    time: WindowTime,
    window_columns: tuple[int, int] | None,
) -> Fact:
    """The windows of rows, or those that rows carry."""
    if windows is not None:
        return "windows", texts.windows(source, windows, time)
    assert window_columns is not None
    return "windows", texts.columns(source, window_columns)


def rows_fact(texts: ColumnTexts, source: Relation) -> Fact:
    """Rows that are kept as they are."""
    return "rows of", texts.typed_columns(source, range(len(source.columns)))


def accumulators(
    texts: ColumnTexts,
    source: Relation,
    aggregates: Sequence[BoundAggregate],
    kernel_for: Callable[[AggregateCall], AggregateKernel],
) -> tuple[MeaningPart, ...]:
    """What is kept of each aggregate call."""
    return tuple(MeaningPart(texts.call(source, each), len(kernel_for(each.call).dtypes)) for each in aggregates)


def columns_of(
    texts: ColumnTexts, relation: Relation, places: Sequence[int] | None = None, widths: Sequence[int] | None = None
) -> tuple[MeaningPart, ...]:
    """The columns of rows that are kept; all of them unless places are named."""
    chosen = range(len(relation.columns)) if places is None else places
    widths = [1] * len(chosen) if widths is None else widths
    return tuple(MeaningPart(texts.typed(relation, place), width) for place, width in zip(chosen, widths))
