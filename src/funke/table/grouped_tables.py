"""Tables with groups or windows: `select` on them makes tables again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.functions.users.user_aggregates import result_fields
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.windows import GroupWindow
from funke.engine.types.logical import RowType, from_sql_text, to_sql_text
from funke.table.expression import Expression
from funke.table.expression_members.operands import literal
from funke.table.udf import UserDefinedAggregateFunctionWrapper, UserDefinedFunctionWrapper

if TYPE_CHECKING:
    from funke.table.table import Table

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "WindowGroupedTable",
    "with_aggregate_names",
]

# What `col("w").start` and its kin are in SQL, behind the name of the window's function.
_WINDOW_PROPERTIES = {"window_start": "start", "window_end": "end", "rowtime": "rowtime", "proctime": "proctime"}


# What Flink calls a function's column, and before the names of a row's fields, when a program names neither.
_UNNAMED = "TMP_0"


class GroupedTable:
    """Rows in groups.

    >>> from funke.table import EnvironmentSettings, GroupedTable, TableEnvironment
    >>> from funke.table.expressions import col
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> orders = t_env.from_elements([("tea", 3), ("tea", 4)], ["item", "price"])
    >>> grouped: GroupedTable = orders.group_by(col("item"))
    >>> totals = grouped.select(col("item"), col("price").sum)
    >>> list(totals.execute().collect())[-1]  # after both rows
    <Row('tea', 7)>
    """

    def __init__(self, table: Table, keys: tuple[syntax.Expression, ...]) -> None:
        self._table = table
        self._keys = keys
        self._names = _key_names(keys)

    def select(self, *fields: Expression[Any] | str) -> Table:
        """Compute columns for each group, of its keys and of aggregates."""
        return self._selected(self._table._expressions(fields))

    def aggregate(self, func: Expression[Any] | str | UserDefinedAggregateFunctionWrapper) -> AggregatedTable:
        """Combine each group by an aggregate function whose result is a row."""
        return AggregatedTable(self, *_call_of(func, self._table))

    def flat_aggregate(self, func: Expression[Any] | str | UserDefinedAggregateFunctionWrapper) -> FlatAggregateTable:
        """Combine each group by a function that gives several rows."""
        return FlatAggregateTable(self, *_call_of(func, self._table))

    def _selected(self, items: tuple[syntax.Expression, ...]) -> Table:
        sets = self._table._sets()
        named = with_aggregate_names(sets.all_written_out(_with_keys(items, self._names)), self._table._is_aggregate)
        group_by = queries.GroupBy((_without_names(self._keys),)) if self._keys else None
        return self._table._bound(queries.Select(sets.named(named), self._table._source(), group_by=group_by))

    def _chosen(self, item: syntax.Expression, items: tuple[syntax.Expression, ...]) -> Table:
        """Choose among the keys and what a function gave."""
        return self._selected((*self._keys, item)).select(*map(Expression, items))


class GroupWindowedTable:
    """Rows in windows, before they are grouped.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, lit
    >>> from funke.table.window import Tumble
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql(
    ...     "CREATE TABLE clicks (user_id INT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ('connector' = 'datagen')"
    ... )
    >>> windowed = t_env.from_path("clicks").window(Tumble.over(lit(5).minutes).on(col("t")).alias("w"))
    >>> counts = windowed.group_by(col("w")).select(col("w").start.alias("since"), col("user_id").count.alias("clicks"))
    >>> type(windowed).__name__, counts.get_schema().get_field_names()
    ('GroupWindowedTable', ['since', 'clicks'])
    """

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression[Any] | str) -> WindowGroupedTable:
        """Group by the alias of the window, and by columns."""
        keys = self._table._expressions(fields)
        alias = syntax.Name((self._window.alias,))
        if alias not in keys:
            raise ValidationException("GroupBy must contain exactly one window alias.")
        written = self._table._sets().all_written_out(each for each in keys if each != alias)
        return WindowGroupedTable(self._table, self._window, tuple(written))


class WindowGroupedTable:
    """Rows in groups and windows.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, lit
    >>> from funke.table.window import Tumble
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql(
    ...     "CREATE TABLE clicks (user_id INT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ('connector' = 'datagen')"
    ... )
    >>> windows = t_env.from_path("clicks").window(Tumble.over(lit(5).minutes).on(col("t")).alias("w"))
    >>> grouped = windows.group_by(col("w"), col("user_id"))
    >>> counts = grouped.select(col("user_id"), col("w").end.alias("until"), lit(1).count.alias("clicks"))
    >>> type(grouped).__name__, counts.get_schema().get_field_names()
    ('WindowGroupedTable', ['user_id', 'until', 'clicks'])
    """

    def __init__(self, table: Table, window: GroupWindow, keys: tuple[syntax.Expression, ...]) -> None:
        self._table = table
        self._window = window
        self._keys = keys
        self._names = _key_names(keys)

    def select(self, *fields: Expression[Any] | str) -> Table:
        """Compute columns for each group and window, of its keys, of aggregates, and of the window's bounds."""
        sets = self._table._sets(frozenset({self._window.alias}))
        written = sets.all_written_out(_with_keys(self._table._expressions(fields), self._names))
        named = sets.named(with_aggregate_names(written, self._is_computed))
        items = tuple(_with_window_functions(each, self._window) for each in named)
        group_by = queries.GroupBy(((*_without_names(self._keys), self._function()),))
        return self._table._bound(queries.Select(items, self._table._source(), group_by=group_by))

    def aggregate(self, func: Expression[Any] | str | UserDefinedAggregateFunctionWrapper) -> AggregatedTable:
        """Combine each group and window by an aggregate function whose result is a row."""
        return AggregatedTable(self, *_call_of(func, self._table))

    def _selected(self, items: tuple[syntax.Expression, ...]) -> Table:
        return self.select(*map(Expression, items))

    def _chosen(self, item: syntax.Expression, items: tuple[syntax.Expression, ...]) -> Table:
        """Choose among the keys, what a function gave, and the window's bounds."""
        if any(isinstance(each, syntax.Star) for each in items):
            raise ValidationException("Can not use * for window aggregate!")
        bounds: list[syntax.Expression] = []
        for each in items:
            _collect_aggregates(each, self._is_bound, bounds)
        columns = (syntax.Alias(each, (f"EXPR${index}",)) for index, each in enumerate(bounds))
        combined = self._selected((*self._keys, item, *columns))
        return combined.select(*(Expression(_with_columns_of(each, bounds)) for each in items))

    def _is_computed(self, call: syntax.Call) -> bool:
        return self._is_bound(call) or self._table._is_aggregate(call)

    def _is_bound(self, call: syntax.Call) -> bool:
        return call.name in _WINDOW_PROPERTIES and call.arguments == (syntax.Name((self._window.alias,)),)

    def _function(self) -> syntax.Call:
        """The window as SQL groups by it: TUMBLE(time, size) and its kin."""
        return syntax.Call(self._window.kind.name, (self._window.time, *self._window.sizes))


class OverWindowedTable:
    """Rows with windows around each of them.

    >>> from funke.table import EnvironmentSettings, OverWindowedTable, TableEnvironment
    >>> from funke.table.expressions import UNBOUNDED_ROW, call_sql, col
    >>> from funke.table.window import Over
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.get_config().set("parallelism.default", "1")  # rows keep their order
    >>> orders = t_env.from_elements([(1, 3), (2, 4), (3, 5)], ["id", "price"])
    >>> orders = orders.add_columns(call_sql("PROCTIME()").alias("t"))
    >>> window = Over.order_by(col("t")).preceding(UNBOUNDED_ROW).alias("w")
    >>> so_far: OverWindowedTable = orders.over_window(window)
    >>> list(so_far.select(col("id"), col("price").sum.over(col("w"))).execute().collect())
    [<Row(1, 3)>, <Row(2, 7)>, <Row(3, 12)>]
    """

    def __init__(self, table: Table, windows: tuple[tuple[str, syntax.OverWindow], ...]) -> None:
        self._table = table
        self._windows = windows

    def select(self, *fields: Expression[Any] | str) -> Table:
        """Compute columns; `col("a").sum.over(col("w"))` sees the rows of the window."""
        items = self._table._sets().named(self._table._expressions(fields))
        if self._table._t_env._session.is_streaming:
            self._require_time()
        return self._table._bound(queries.Select(items, self._table._source(), windows=self._windows))

    def _require_time(self) -> None:
        """Unlike SQL, the Table API of a stream orders by time only."""
        columns = {each.name: each for each in self._table._relation.columns}
        for _, window in self._windows:
            for each in window.order_by:
                name = each.operand.parts[-1] if isinstance(each.operand, syntax.Name) else ""
                if name in columns and columns[name].time is None:
                    raise ValidationException(
                        "Second argument in OVER window must be a TIME ATTRIBUTE, "
                        f"but is: {to_sql_text(columns[name].type)}"
                    )


class AggregatedTable:
    """Groups that a user's aggregate function has combined."""

    def __init__(
        self, groups: GroupedTable | WindowGroupedTable, call: syntax.Expression, names: tuple[str, ...]
    ) -> None:
        self._groups = groups
        self._call = call
        self._names = names

    def select(self, *fields: Expression[Any] | str) -> Table:
        """Choose among the keys and the columns that the function gave."""
        items = self._groups._table._expressions(fields)
        aggregates: list[syntax.Expression] = []
        for each in items:
            _collect_aggregates(each, self._groups._table._is_aggregate, aggregates)
        if aggregates:
            raise ValidationException("Aggregate functions cannot be used in the select right after the aggregate.")
        return self._groups._chosen(self._item(), items)

    def _item(self) -> syntax.Expression:
        """What the function gives: each field of a row is a column."""
        if not isinstance(self._call, syntax.Call) or self._call.function is None:
            return self._named(self._call, self._names or (_UNNAMED,))
        (result,) = (
            from_sql_text(each) if isinstance(each, str) else each for each in self._call.function.result_types
        )
        if not isinstance(result, RowType):
            return self._named(self._call, self._names or (_UNNAMED,))
        names = self._names or tuple(f"{_UNNAMED}${each}" for each in result.names)
        if len(result) == 1:
            return self._named(syntax.Call("get", (self._call, literal(result.names[0]))), names)
        return self._named(self._call, names)

    @staticmethod
    def _named(expression: syntax.Expression, names: tuple[str, ...]) -> syntax.Expression:
        return syntax.Alias(expression, names) if names else expression


class FlatAggregateTable(AggregatedTable):
    """Groups that a user's table aggregate function has turned into rows."""

    def _item(self) -> syntax.Expression:
        """What the function gives: its columns have the names of its own fields."""
        user = self._call.function if isinstance(self._call, syntax.Call) else None
        return self._named(
            self._call, self._names or (() if user is None else tuple(name for name, _ in result_fields(user)))
        )


def _call_of(func: Any, table: Table) -> tuple[syntax.Expression, tuple[str, ...]]:
    names: tuple[str, ...] = ()
    if isinstance(func, UserDefinedFunctionWrapper):
        names, func = func._alias_names, func._on_row(table._whole_row())
    expression = table._expression(func)
    if isinstance(expression, syntax.Alias):
        names, expression = expression.names, expression.operand
    if isinstance(expression, syntax.Call):
        expression = table._t_env._session.with_user_function(expression)
    return expression, names


def _key_names(keys: tuple[syntax.Expression, ...]) -> dict[str, syntax.Expression]:
    """What keys are called that have a name of their own: `group_by((col("a") % 2).alias("odd"))`."""
    return {each.names[0]: each.operand for each in keys if isinstance(each, syntax.Alias)}


def _without_names(keys: tuple[syntax.Expression, ...]) -> tuple[syntax.Expression, ...]:
    return tuple(each.operand if isinstance(each, syntax.Alias) else each for each in keys)


def _with_keys(items: tuple[syntax.Expression, ...], names: Mapping[str, syntax.Expression]) -> list[syntax.Expression]:
    """Items with the keys in place of their names."""

    def named(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(named, part))
        if isinstance(part, syntax.Name) and len(part.parts) == 1:
            return names.get(part.parts[0], part)
        if not isinstance(part, syntax.Expression):
            return part
        return replace(part, **{each.name: named(getattr(part, each.name)) for each in fields_of(part)})

    if not names:
        return list(items)
    new_items = [named(each) for each in items]
    return [
        syntax.Alias(new, old.parts) if isinstance(old, syntax.Name) and new is not old else new
        for new, old in zip(new_items, items)
    ]


def with_aggregate_names(
    items: Sequence[syntax.Expression], is_aggregate: Callable[[syntax.Call], bool]
) -> list[syntax.Expression]:
    """Aggregates without a name get Flink's: EXPR$0 for the first of all aggregates, and so on."""
    aggregates: list[syntax.Expression] = []
    for item in items:
        _collect_aggregates(item, is_aggregate, aggregates)
    return [syntax.Alias(each, (f"EXPR${aggregates.index(each)}",)) if each in aggregates else each for each in items]


def _collect_aggregates(
    expression: Any, is_aggregate: Callable[[syntax.Call], bool], aggregates: list[syntax.Expression]
) -> None:
    if isinstance(expression, syntax.Call) and is_aggregate(expression):
        if expression not in aggregates:
            aggregates.append(expression)
        return
    if isinstance(expression, syntax.Expression):
        for each in fields_of(expression):
            _collect_aggregates(getattr(expression, each.name), is_aggregate, aggregates)
    elif isinstance(expression, tuple):
        for each in expression:
            _collect_aggregates(each, is_aggregate, aggregates)


def _with_columns_of(part: Any, computed: Sequence[syntax.Expression]) -> Any:
    """An expression with columns in place of what is computed already."""
    if isinstance(part, tuple):
        return tuple(_with_columns_of(each, computed) for each in part)
    if not isinstance(part, syntax.Expression):
        return part
    if part in computed:
        return syntax.Name((f"EXPR${computed.index(part)}",))
    return replace(
        part, **{each.name: _with_columns_of(getattr(part, each.name), computed) for each in fields_of(part)}
    )


def _with_window_functions(expression: Any, window: GroupWindow) -> Any:
    """The properties of a window as the functions of SQL: TUMBLE_START(time, size) and its kin."""
    if isinstance(expression, tuple):
        return tuple(_with_window_functions(each, window) for each in expression)
    if not isinstance(expression, syntax.Expression):
        return expression
    if isinstance(expression, syntax.Call) and expression.arguments == (syntax.Name((window.alias,)),):
        part = _WINDOW_PROPERTIES.get(expression.name)
        if part is not None:
            return syntax.Call(f"{window.kind.name}_{part}", (window.time, *window.sizes))
    changes = {
        each.name: _with_window_functions(getattr(expression, each.name), window) for each in fields_of(expression)
    }
    return replace(expression, **changes)
