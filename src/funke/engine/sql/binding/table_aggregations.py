"""Binds table aggregate functions: `group_by(…).flat_aggregate(…)` of the Table API."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding import BoundColumn, BoundExpression, Calculation, Column, Relation
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.scope import rejected
from funke.engine.sql.functions.users.user_aggregates import declared_types, result_fields
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.user_function import UserFunction

__all__ = ["TableAggregation", "bind_table_aggregation", "table_aggregate_in"]


@dataclass(frozen=True)
class TableAggregation(Relation):
    """Any number of rows for each key of the input: the columns of the key, then those of the function."""

    input: Relation
    keys: tuple[int, ...]
    function: UserFunction
    arguments: tuple[int, ...]


def table_aggregate_in(select: queries.Select) -> syntax.Call | None:
    """The call of a table aggregate function among the items of a query."""
    operands = (item.operand if isinstance(item, syntax.Alias) else item for item in select.items)
    calls = (each for each in operands if isinstance(each, syntax.Call) and each.function is not None)
    return next((each for each in calls if each.function.kind == "table aggregate"), None)


def bind_table_aggregation(
    select: queries.Select, call: syntax.Call, source: Relation, plain: ExpressionBinder, where: BoundExpression | None
) -> Relation:
    """The rows that a function makes of each group, behind the keys that were asked for."""
    user: UserFunction = call.function
    keys = [plain.bind(each) for each in (select.group_by.sets[0] if select.group_by is not None else ())]
    arguments = [plain.bind(each) for each in call.arguments]
    types = declared_types(user)
    if types is not None:
        arguments = plain.cast_arguments(user.name, types, arguments, call)
    columns = tuple(Column(f"in${index}", each.type) for index, each in enumerate([*keys, *arguments]))
    computed = Calculation(columns, source, (*keys, *arguments), where)
    key_columns = [Column(f"key${index}", each.type) for index, each in enumerate(keys)]
    result_columns = [Column(name, data_type) for name, data_type in result_fields(user)]
    indexes = range(len(keys), len(columns))
    rows = TableAggregation((*key_columns, *result_columns), computed, tuple(range(len(keys))), user, tuple(indexes))
    return _selected(select, plain, keys, rows, result_columns)


def _selected(
    select: queries.Select,
    plain: ExpressionBinder,
    keys: list[BoundExpression],
    rows: TableAggregation,
    result_columns: list[Column],
) -> Relation:
    columns: list[Column] = []
    expressions: list[BoundExpression] = []
    for item in select.items:
        operand, names = (item.operand, item.names) if isinstance(item, syntax.Alias) else (item, ())
        if isinstance(operand, syntax.Call) and operand.function is rows.function:
            chosen = names if len(names) == len(result_columns) else tuple(each.name for each in result_columns)
            columns += [Column(name, each.type) for name, each in zip(chosen, result_columns)]
            expressions += [
                BoundColumn(each.type, len(keys) + index, name)
                for index, (name, each) in enumerate(zip(chosen, result_columns))
            ]
            continue
        bound = plain.bind(operand)
        if bound not in keys:
            raise rejected("only keys stand beside a table aggregate function", item.position)
        name = names[0] if names else operand.parts[-1] if isinstance(operand, syntax.Name) else f"EXPR${len(columns)}"
        columns.append(Column(name, bound.type))
        expressions.append(BoundColumn(bound.type, keys.index(bound), name))
    return Calculation(tuple(columns), rows, tuple(expressions))
