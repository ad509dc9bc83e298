"""Group windows that count rows: each `slide` rows of a key, aggregates of its last `size` rows.

They are OVER aggregates of which some rows are kept: those at which a window is full.
"""

from __future__ import annotations

from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundExpression,
    Calculation,
    Column,
    Relation,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.binding.windows.window_relations import OverAggregation, RowWindowTable, WindowTime
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.ranking import ROW_NUMBER
from funke.engine.sql.functions.function import Session
from funke.engine.sql.syntax.expressions import Call, Literal, Name
from funke.engine.types.logical.atomic_types import BigIntType

__all__ = ["with_row_windows"]

# Rows are counted as they come.
_TIME = WindowTime(0, is_event_time=False)
_NUMBER = "$number"


def with_row_windows(result: Calculation) -> Calculation:
    """The results of groups, or of windows if the groups count rows."""
    groups = result.input
    if not isinstance(groups, Aggregation):
        return result
    rows = groups.input
    if isinstance(rows, Calculation) and isinstance(rows.input, RowWindowTable):
        return replace(result, input=_windows(groups, replace(rows, input=rows.input.input), rows.input))
    if _counts_rows(rows):
        raise UnsupportedFeatureError("a group window that counts rows, in several sets of keys")
    return result


def _counts_rows(relation: object) -> bool:
    while relation is not None:
        if isinstance(relation, RowWindowTable):
            return True
        relation = getattr(relation, "input", None)
    return False


def _windows(groups: Aggregation, rows: Calculation, window: RowWindowTable) -> Relation:
    # Size 3 and slide 2: windows end with the rows 3, 5, 7 … of a key, and are OVER ROWS 2 PRECEDING there.
    number = BoundAggregate(bind_aggregate(ROW_NUMBER, []), ())
    columns = (*rows.columns, Column(_NUMBER, BigIntType(False)))
    numbered = OverAggregation(columns, rows, groups.keys, _TIME, True, None, (number,))
    results = groups.columns[len(groups.keys) :]
    over = OverAggregation((*columns, *results), numbered, groups.keys, _TIME, True, window.size - 1, groups.aggregates)
    indexes = (*groups.keys, *range(len(columns), len(columns) + len(results)))
    expressions = tuple(BoundColumn(over.columns[index].type, index, over.columns[index].name) for index in indexes)
    return Calculation(groups.columns, over, expressions, _is_full(over, window))


def _is_full(over: OverAggregation, window: RowWindowTable) -> BoundExpression:
    """Whether a window ends with a row."""
    names = tuple(ScopeColumn(column.name, column.type) for column in over.columns)
    number = Name((_NUMBER,))
    behind = Call("-", (number, _literal(window.size)))
    is_end = Call("=", (Call("mod", (behind, _literal(window.slide))), _literal(0)))
    is_enough = Call(">=", (number, _literal(window.size)))
    return ExpressionBinder(Scope(names), Session()).bind(Call("and", (is_enough, is_end)))


def _literal(value: int) -> Literal:
    return Literal(value, BigIntType(False))
