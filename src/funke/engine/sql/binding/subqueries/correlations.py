"""Binds LATERAL TABLE(f(…)) and UNNEST: joins each row with the rows that are computed from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding import BoundColumn, BoundExpression, Calculation, Column, Relation
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.scope import Scope, ScopeColumn, names_of, rejected, unknown_function
from funke.engine.sql.functions.rejections import type_text
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.types.logical import (
    ArrayType,
    DataType,
    IntType,
    MapType,
    MultisetType,
    RowType,
    from_sql_text,
    with_nullable,
)

__all__ = ["Correlation", "TableFunctionFinder", "bind_correlation", "is_correlated", "plain_table_function"]

# The table function that a call means; None if it means none.
TableFunctionFinder = Callable[[syntax.Call], UserFunction | None]
MakeBinder = Callable[[Scope], ExpressionBinder]


@dataclass(frozen=True)
class Correlation(Relation):
    """The columns of the input, then those of the rows that a function gives for each of its rows.

    Without a function the only argument is a collection, whose elements are the rows. A row without results is left
    out, or kept with NULLs.
    """

    input: Relation
    function: UserFunction | None
    arguments: tuple[BoundExpression, ...]
    keeps_all: bool = False
    has_ordinality: bool = False


def plain_table_function(call: syntax.Call) -> UserFunction | None:
    """The table function of a call that has the function itself."""
    function: UserFunction | None = call.function
    return function if function is not None and function.kind == "table" else None


def is_correlated(source: queries.Relation | None) -> bool:
    """Whether a relation is, or joins with, a table function or UNNEST."""
    right = source.right if isinstance(source, queries.Join) else source
    return isinstance(right, (queries.TableFunction, queries.Unnest))


def bind_correlation(
    source: Any, left: tuple[Relation, Scope], make: MakeBinder, find: TableFunctionFinder
) -> tuple[Relation, Scope]:
    """The meaning of a join with a table function or UNNEST, or of one alone."""
    relation, scope = left
    join = source if isinstance(source, queries.Join) else None
    right = source.right if join is not None else source
    binder = make(scope)
    function, arguments, columns = _called(right, binder, find)
    names = names_of(right, [each.name for each in columns])
    keeps_all = join is not None and join.kind == "left"
    if join is not None and join.kind not in ("inner", "left", "cross"):
        raise UnsupportedFeatureError(f"{join.kind.upper()} JOIN LATERAL")
    result_columns = tuple(
        Column(name, with_nullable(each.type, each.type._nullable or keeps_all)) for name, each in zip(names, columns)
    )
    has_ordinality = isinstance(right, queries.Unnest) and right.with_ordinality
    joined: Relation = Correlation(
        (*relation.columns, *result_columns), relation, function, arguments, keeps_all, has_ordinality
    )
    right_scope = tuple(ScopeColumn(each.name, each.type, right.alias) for each in result_columns)
    whole = Scope((*scope.columns, *right_scope))
    return _with_condition(joined, whole, join, make), whole


def _with_condition(joined: Relation, scope: Scope, join: queries.Join | None, make: MakeBinder) -> Relation:
    if join is None or join.condition is None or _is_true(join.condition):
        return joined
    if join.kind == "left":
        raise ValidationException("a LEFT JOIN with a table function has no condition but TRUE")
    condition = make(scope).bind_condition(join.condition, "ON")
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(joined.columns))
    return Calculation(joined.columns, joined, tuple(same), condition)


def _is_true(condition: syntax.Expression) -> bool:
    return isinstance(condition, syntax.Literal) and condition.value is True


def _called(
    right: queries.TableFunction | queries.Unnest, binder: ExpressionBinder, find: TableFunctionFinder
) -> tuple[UserFunction | None, tuple[BoundExpression, ...], list[Column]]:
    if isinstance(right, queries.Unnest):
        operand = binder.bind(right.operand)
        columns = _element_columns(operand.type, right)
        return None, (operand,), [*columns, *([Column("ORDINALITY", IntType(False))] if right.with_ordinality else [])]
    function = find(right.call)
    if function is None:
        name = ".".join(right.call.path) or right.call.name
        argument_types = [binder.bind(each).type for each in right.call.arguments]
        raise unknown_function(name, argument_types, right.call.position or right.position)
    arguments = [binder.bind(each) for each in right.call.arguments]
    if function.input_types is not None and not function.takes_row:
        types = tuple(from_sql_text(each) if isinstance(each, str) else each for each in function.input_types)
        arguments = binder.cast_arguments(function.name, types, arguments, right.call)
    return function, tuple(arguments), _result_columns(function)


def _result_columns(function: UserFunction) -> list[Column]:
    types = [from_sql_text(each) if isinstance(each, str) else each for each in function.result_types]
    if len(types) == 1 and isinstance(types[0], RowType):
        return [Column(each.name, each.data_type) for each in types[0]]
    return [Column(f"f{index}", each) for index, each in enumerate(types)]


def _element_columns(data_type: DataType, right: queries.Unnest) -> list[Column]:
    if isinstance(data_type, MapType):
        return [Column("f0", data_type.key_type), Column("f1", data_type.value_type)]
    if isinstance(data_type, (ArrayType, MultisetType)):
        element = data_type.element_type
        if isinstance(element, RowType):
            return [Column(each.name, each.data_type) for each in element]
        return [Column("EXPR$0", element)]
    forms = (
        "'UNNEST(<MULTISET>)'\n'UNNEST(<ARRAY>)'\n'UNNEST(<MAP>)'\nUNNEST(<MULTISET>)\nUNNEST(<ARRAY>)\nUNNEST(<MAP>)"
    )
    signature = f"'UNNEST(<{type_text(data_type)}>)'"
    raise rejected(
        f"Cannot apply 'UNNEST' to arguments of type {signature}. Supported form(s): {forms}", right.position
    )
