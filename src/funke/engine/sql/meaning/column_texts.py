"""Columns of relations as texts that say what they are computed of, down to the columns of tables.

Names that a query gives, columns that it leaves out and the places of columns make no difference; another column,
another function or another table does. Conditions are no part of a column: they say which rows come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType
from typing import Any

from funke.engine.operators.functions.table_functions import (
    DelegatingAsyncScalarFunction,
    DelegatingPandasAggregateFunction,
    DelegatingScalarFunction,
    DelegationTableFunction,
    UserDefinedFunction,
)
from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.correlations import Correlation
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction, BoundSymbol
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.lookup_joins import LookupJoin
from funke.engine.sql.binding.materialization import Materialization
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, WindowRank
from funke.engine.sql.binding.relations import (
    Aggregation,
    BoundAggregate,
    Calculation,
    Constants,
    Expansion,
    Limit,
    Relation,
    Scan,
    Sort,
    SortKey,
    UnionAll,
    inputs_of,
)
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.spark_rows import SparkRows
from funke.engine.sql.binding.stream_orders import TemporalSort
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.window_relations import (
    Frame,
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    Windows,
    WindowTable,
    WindowTime,
)
from funke.engine.sql.functions.user_aggregates import UserAggregate
from funke.engine.sql.functions.user_scalars import UserScalar
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import with_nullable
from funke.engine.types.logical.sql_text import to_sql_text
from funke.engine.types.logical.time_types import LocalZonedTimestampType

__all__ = ["ColumnTexts", "type_text", "user_function_text"]

# A text that grows beyond it is cut, and told from others by its hash: expressions of expressions have no end.
_LONGEST = 500
# Values that are the same whenever the program is run.
_PLAIN = (str, int, float, bytes, Decimal, type(None))
# They stand for functions of the program.
_DELEGATIONS = (
    DelegatingScalarFunction,
    DelegatingAsyncScalarFunction,
    DelegationTableFunction,
    DelegatingPandasAggregateFunction,
)
_USUAL_PLACE = ("default_catalog", "default_database")
_WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
# They look at the session's zone, though none of their types says so.
_IN_ZONE = ("from_unixtime", "unix_timestamp", "current_date", "localtime", "localtimestamp", "current_time")


def type_text(data_type: DataType) -> str:
    """A type; whether there may be NULLs makes no difference."""
    return to_sql_text(with_nullable(data_type, True))


def user_function_text(user: UserFunction) -> str:
    """A function of the user's: its name, its class with the plain values it was made with, and its accumulators."""
    own = user.function.func if isinstance(user.function, _DELEGATIONS) else user.function
    # What has no name of its own, such as a partial, is known by its class.
    name = own.__qualname__ if isinstance(own, FunctionType | BuiltinFunctionType) else type(own).__qualname__
    given = vars(own) if isinstance(own, UserDefinedFunction) else {}
    values = ", ".join(f"{key}={value!r}" for key, value in sorted(given.items()) if isinstance(value, _PLAIN))
    kept = user.accumulator_type
    accumulators = "" if kept is None else f" OF {kept if isinstance(kept, str) else type_text(kept)}"
    return _bounded(f"{user.name}[{name}{f'({values})' if values else ''}{accumulators}]")


class ColumnTexts:
    """The texts of the columns of relations; each one is made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}

    def column(self, relation: Relation, place: int) -> str:
        """What a column is."""
        found = self._known.get((id(relation), place))
        if found is None:
            found = self._known[id(relation), place] = _bounded(_COLUMNS[type(relation)](self, relation, place))
        return found

    def typed(self, relation: Relation, place: int) -> str:
        """The same with its type."""
        return f"{self.column(relation, place)} {type_text(relation.columns[place].type)}"

    def typed_columns(self, relation: Relation, places: Sequence[int]) -> str:
        """Several columns, in their order."""
        return ", ".join(self.typed(relation, place) for place in places)

    def columns(self, relation: Relation, places: Sequence[int]) -> str:
        """The same without types."""
        return ", ".join(self.column(relation, place) for place in places)

    def order(self, relation: Relation, keys: Sequence[SortKey]) -> str:
        """What rows are sorted by."""
        return ", ".join(self._sort_key(relation, each) for each in keys)

    def _sort_key(self, relation: Relation, key: SortKey) -> str:
        nulls = "FIRST" if key.nulls_first else "LAST"
        return f"{self.typed(relation, key.index)} {'ASC' if key.is_ascending else 'DESC'} NULLS {nulls}"

    def expression(self, expression: BoundExpression, column: Callable[[int], str]) -> str:
        """An expression on columns whose texts are known."""
        if isinstance(expression, BoundColumn):
            return column(expression.index)
        if isinstance(expression, BoundConstant):
            return repr(expression.value)
        if isinstance(expression, BoundSymbol):
            return _word_text(expression.word)
        assert isinstance(expression, BoundFunction)
        arguments = ", ".join(self.expression(each, column) for each in expression.arguments)
        return _bounded(f"{_function_text(expression)}({arguments})")

    def expression_on(self, relation: Relation, expression: BoundExpression) -> str:
        """An expression on the columns of a relation."""
        return self.expression(expression, lambda place: self.column(relation, place))

    def call(self, source: Relation, aggregate: BoundAggregate) -> str:
        """An aggregate call with its arguments, of what types they are, and which rows count."""
        call = aggregate.call
        function = call.function
        user = function.user if isinstance(function, UserAggregate) else None
        name = function.name.upper() if user is None else user_function_text(user)
        arguments = [
            repr(given.value) if place < 0 else self.typed(source, place)
            for place, given in zip(aggregate.arguments, call.arguments)
        ]
        distinct = "DISTINCT " if call.is_distinct else ""
        condition = "" if aggregate.condition is None else f" FILTER {self.column(source, aggregate.condition)}"
        return f"{name}({distinct}{', '.join(arguments) or '*'}){condition}"

    def windows(self, source: Relation, windows: Windows, time: WindowTime) -> str:
        """How windows lie, and by which time."""
        sizes = f"size {windows.size_ms} ms"
        sizes += f", slide {windows.slide_ms} ms" if windows.slide_ms else ""
        sizes += f", offset {windows.offset_ms} ms" if windows.offset_ms else ""
        return f"{windows.kind.upper()}({self.time(source, time)}, {sizes})"

    def time(self, source: Relation, time: WindowTime) -> str:
        """The column of a time, whose it is, and in which zone."""
        kind = "event time" if time.is_event_time else "processing time"
        zone = "" if time.zone is None else f" in {time.zone}"
        # A clock has no column that could be another one.
        return f"{kind} {self.column(source, time.column)}{zone}" if time.is_event_time else f"{kind}{zone}"

    def rows(self, relation: Relation) -> str:
        """Which rows come: the conditions that they have passed."""
        return " AND ".join(sorted(self._conditions(relation))) or "all"

    def _conditions(self, relation: Relation) -> Iterator[str]:
        if isinstance(relation, Calculation) and relation.condition is not None:
            yield self.expression_on(relation.input, relation.condition)
        elif isinstance(relation, (Rank, WindowRank)):
            yield f"{_rank_text(self, relation)} BETWEEN {relation.first} AND {relation.last}"
        elif isinstance(relation, Deduplication):
            kept = "last" if relation.keeps_last else "first"
            yield f"the {kept} row of {self.columns(relation.input, relation.keys)}"
        elif isinstance(relation, SemiJoin):
            yield "NOT IN" if relation.is_anti else "IN"
        elif isinstance(relation, Limit):
            yield f"LIMIT {relation.offset}, {relation.limit}"
        for each in inputs_of(relation):
            yield from self._conditions(each)


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 40]}…#{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _word_text(word: Any) -> str:
    return type_text(word) if isinstance(word, DataType) else str(word)


def _function_text(expression: BoundFunction) -> str:
    call = expression.call
    function = call.function
    if isinstance(function, UserScalar) and function.user is not None:
        return user_function_text(function.user)
    is_zoned = any(isinstance(each, LocalZonedTimestampType) for each in (*call.types, call.result))
    zone = f"@{call.session.zone}" if is_zoned or function.name in _IN_ZONE else ""
    return f"{function.name.upper()}{zone}"


# What a column of a relation is.


def _same(texts: ColumnTexts, relation: Any, place: int) -> str:
    return texts.column(relation.input, place)


def _scan(texts: ColumnTexts, scan: Scan, place: int) -> str:
    path = scan.path[2:] if scan.path[:2] == _USUAL_PLACE else scan.path
    return ".".join((*path, scan.columns[place].name))


def _constants(texts: ColumnTexts, constants: Constants, place: int) -> str:
    return f"VALUES.{place}"


def _calculation(texts: ColumnTexts, calculation: Calculation, place: int) -> str:
    return texts.expression_on(calculation.input, calculation.expressions[place])


def _union(texts: ColumnTexts, union: UnionAll, place: int) -> str:
    # The same order for all columns, whatever order the inputs have.
    whole = {texts.columns(each, range(len(each.columns))): texts.column(each, place) for each in union.inputs}
    found = [whole[each] for each in sorted(whole)]
    return found[0] if len(set(found)) == 1 else f"UNION({', '.join(found)})"


def _expansion(texts: ColumnTexts, expansion: Expansion, place: int) -> str:
    found = [texts.expression_on(expansion.input, each[place]) for each in expansion.projections]
    return found[0] if len(set(found)) == 1 else f"EXPAND({', '.join(found)})"


def _correlation(texts: ColumnTexts, correlation: Correlation, place: int) -> str:
    own = place - len(correlation.input.columns)
    if own < 0:
        return texts.column(correlation.input, place)
    name = "UNNEST" if correlation.function is None else user_function_text(correlation.function)
    arguments = ", ".join(texts.expression_on(correlation.input, each) for each in correlation.arguments)
    return f"{name}({arguments}).{own}"


def _lookup_join(texts: ColumnTexts, join: LookupJoin, place: int) -> str:
    if place < len(join.input.columns):
        return texts.column(join.input, place)
    return ".".join((*join.path, join.columns[place].name))


def _temporal_join(texts: ColumnTexts, join: TemporalJoin, place: int) -> str:
    left, right = join.input.inputs
    # Behind the mark of the side and the keys.
    return texts.column(left if place < join.left_width else right, 1 + len(join.keys) + place)


def _semi_join(texts: ColumnTexts, join: SemiJoin, place: int) -> str:
    return texts.column(join.sides[0], place)


def _group_text(texts: ColumnTexts, relation: Aggregation | TableAggregation | WindowAggregation) -> str:
    keys = texts.columns(relation.input, relation.keys)
    return f" GROUP BY {keys}" if keys else ""


def _aggregation(texts: ColumnTexts, relation: Aggregation, place: int) -> str:
    if place < len(relation.keys):
        return texts.column(relation.input, relation.keys[place])
    call = texts.call(relation.input, relation.aggregates[place - len(relation.keys)])
    return f"({call}{_group_text(texts, relation)})"


def _table_aggregation(texts: ColumnTexts, relation: TableAggregation, place: int) -> str:
    own = place - len(relation.keys)
    if own < 0:
        return texts.column(relation.input, relation.keys[place])
    arguments = texts.columns(relation.input, relation.arguments)
    return f"({user_function_text(relation.function)}({arguments}){_group_text(texts, relation)}).{own}"


def _window_table(texts: ColumnTexts, relation: WindowTable, place: int) -> str:
    own = place - len(relation.input.columns)
    if own < 0:
        return texts.column(relation.input, place)
    keys = texts.columns(relation.input, relation.partition_by or ())
    partition = f" PARTITION BY {keys}" if keys else ""
    return f"{texts.windows(relation.input, relation.windows, relation.time)}{partition}.{_WINDOW_COLUMNS[own]}"


def _window_aggregation(texts: ColumnTexts, relation: WindowAggregation, place: int) -> str:
    keys, calls = len(relation.keys), len(relation.aggregates)
    if place < keys:
        return texts.column(relation.input, relation.keys[place])
    if relation.windows is not None:
        windows = texts.windows(relation.input, relation.windows, relation.time)
    else:
        assert relation.window_columns is not None
        windows = texts.columns(relation.input, relation.window_columns)
    if place >= keys + calls:
        return f"{windows}.{_WINDOW_COLUMNS[place - keys - calls]}"
    call = texts.call(relation.input, relation.aggregates[place - keys])
    return f"({call}{_group_text(texts, relation)} IN {windows})"


def _over_aggregation(texts: ColumnTexts, relation: OverAggregation, place: int) -> str:
    own = place - len(relation.input.columns)
    if own < 0:
        return texts.column(relation.input, place)
    unit = "ROWS" if relation.is_rows else "RANGE"
    frame = f"{unit} {relation.preceding} PRECEDING"
    time = texts.time(relation.input, relation.time)
    return _over_text(texts, relation, relation.aggregates[own], time, frame)


def _over_text(
    texts: ColumnTexts,
    relation: OverAggregation | SortedAggregation | PartitionAggregation,
    call: BoundAggregate,
    order: str,
    frame: str,
) -> str:
    keys = texts.columns(relation.input, relation.partition_by)
    return f"{texts.call(relation.input, call)} OVER (PARTITION BY {keys} ORDER BY {order} {frame})"


def _sorted_aggregation(texts: ColumnTexts, relation: SortedAggregation, place: int) -> str:
    own = place - len(relation.input.columns)
    if own < 0:
        return texts.column(relation.input, place)
    order = texts.order(relation.input, (relation.order,))
    return _over_text(texts, relation, relation.aggregates[own], order, "ROWS" if relation.is_rows else "RANGE")


def _partition_aggregation(texts: ColumnTexts, relation: PartitionAggregation, place: int) -> str:
    own = place - len(relation.input.columns)
    if own < 0:
        return texts.column(relation.input, place)
    order, frame = texts.order(relation.input, relation.order), relation.calls[own].frame
    return _over_text(texts, relation, relation.calls[own].aggregate, order, _frame_text(frame))


def _frame_text(frame: Frame) -> str:
    return f"{'ROWS' if frame.is_rows else 'RANGE'} {frame.lower} TO {frame.upper}"


def _rank_text(texts: ColumnTexts, rank: Rank | WindowRank) -> str:
    windows = rank.window_columns if isinstance(rank, WindowRank) else ()
    keys = texts.columns(rank.input, (*rank.keys, *windows))
    return f"ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {texts.order(rank.input, rank.order)})"


def _rank(texts: ColumnTexts, rank: Rank | WindowRank, place: int) -> str:
    return texts.column(rank.input, place) if place < len(rank.input.columns) else _rank_text(texts, rank)


def _to_changelog(texts: ColumnTexts, relation: ToChangelog, place: int) -> str:
    return texts.column(relation.input, place - 1) if place else "OP"


def _from_changelog(texts: ColumnTexts, relation: FromChangelog, place: int) -> str:
    return texts.column(relation.input, place + (place >= relation.place))


_COLUMNS: dict[type[Relation], Callable[[ColumnTexts, Any, int], str]] = {
    Scan: _scan,
    Constants: _constants,
    Calculation: _calculation,
    UnionAll: _union,
    Expansion: _expansion,
    Sort: _same,
    TemporalSort: _same,
    Limit: _same,
    NotNulls: _same,
    FinalRows: _same,
    SparkRows: _same,
    WatermarkAssigner: _same,
    Deduplication: _same,
    Normalization: _same,
    Materialization: _same,
    Correlation: _correlation,
    LookupJoin: _lookup_join,
    TemporalJoin: _temporal_join,
    SemiJoin: _semi_join,
    Aggregation: _aggregation,
    TableAggregation: _table_aggregation,
    WindowTable: _window_table,
    WindowAggregation: _window_aggregation,
    OverAggregation: _over_aggregation,
    SortedAggregation: _sorted_aggregation,
    PartitionAggregation: _partition_aggregation,
    Rank: _rank,
    WindowRank: _rank,
    ToChangelog: _to_changelog,
    FromChangelog: _from_changelog,
}
