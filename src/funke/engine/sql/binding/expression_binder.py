"""Gives expressions their meaning: names are looked up, calls find their functions, every part has a type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from funke.engine.errors import TypeMismatchError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.constant_queries import constant_rows
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    symbol_of,
    time_of,
)
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.binding.scope import Scope, refused, unknown_function
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.functions.catalog import find_function
from funke.engine.sql.functions.function import Function, Session, bind
from funke.engine.sql.functions.surroundings import CURRENT_WATERMARK
from funke.engine.sql.functions.user_scalars import UserScalar, as_scalar
from funke.engine.sql.functions.value_casts import interval_unit, rounded_units
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.queries import Query
from funke.engine.types.logical.atomic_types import BigIntType, BooleanType, CharType, DecimalType, IntType
from funke.engine.types.logical.casts import can_cast_implicitly
from funke.engine.types.logical.data_type import DataType, NullType
from funke.engine.types.logical.families import EXACT, INTERVAL, is_nullable, with_nullable
from funke.engine.types.logical.row_type import RowType
from funke.engine.types.logical.sql_text import to_sql_text

__all__ = ["ExpressionBinder", "whole_units"]


_NULL = BoundConstant(NullType(), None)

# Functions that look at other rows than those of a group.
_ONLY_OVER = frozenset(["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"])


# Numbers that an interval can be cast to.
_WHOLE = (IntType, BigIntType)


def whole_units(interval: BoundConstant) -> BoundConstant:
    """A constant interval as a number of its last unit."""
    value = None if interval.value is None else rounded_units(interval.value, interval.type)
    return BoundConstant(BigIntType(is_nullable(interval.type)), value)


def _is_number(expression: BoundExpression) -> TypeGuard[BoundConstant]:
    return isinstance(expression, BoundConstant) and isinstance(expression.type, EXACT) and expression.value is not None


def _in_base_units(number: BoundConstant, interval: DataType) -> BoundConstant:
    """The milliseconds or months of a constant that SQL casts to an interval; of other numbers they are no units."""
    return BoundConstant(BigIntType(False), int(number.value * interval_unit(interval)))


class ExpressionBinder:
    """Binds expressions in one scope."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        find: Callable[[str], Function | None] = find_function,
        bind_query: Callable[[Query], Relation] | None = None,
    ) -> None:
        self._bind_query = bind_query
        self._scope = scope
        self._session = session
        self.find = find

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        """The meaning of an expression that has a value in every row."""
        if isinstance(expression, syntax.Name):
            return self._bind_name(expression)
        if isinstance(expression, syntax.Literal):
            return BoundConstant(expression.type, expression.value)
        if isinstance(expression, syntax.Call):
            return self._bind_call(expression)
        if isinstance(expression, syntax.Cast):
            return self._bind_cast(expression)
        if isinstance(expression, syntax.Case):
            return self._bind_case(expression)
        if isinstance(expression, syntax.Alias):
            return self.bind(expression.operand)
        if isinstance(expression, (syntax.InQuery, syntax.Exists, syntax.ScalarQuery)):
            return self._bind_inner_query(expression)
        raise UnsupportedFeatureError(f"{type(expression).__name__} in an expression of SQL")

    def _bind_cast(self, cast: syntax.Cast) -> BoundExpression:
        operand = self.bind(cast.operand)
        # A cast that SQL has written stands somewhere, and is refused.
        if isinstance(operand.type, INTERVAL) and cast.position is None:
            operand = self._interval_number(operand, cast)
        elif isinstance(cast.type, INTERVAL) and cast.position is not None and _is_number(operand):
            operand = _in_base_units(operand, cast.type)
        return self._call("try_cast" if cast.is_safe else "cast", [operand, symbol_of(cast.type)], cast)

    def _interval_number(self, interval: BoundExpression, cast: syntax.Cast) -> BoundExpression:
        """As Flink has it: whole units of a constant, milliseconds or months of what is computed."""
        if isinstance(interval, BoundConstant) and isinstance(cast.type, (*_WHOLE, DecimalType)) and not cast.is_safe:
            return whole_units(interval)
        return self._call("interval number", [interval], cast) if isinstance(cast.type, _WHOLE) else interval

    def _bind_inner_query(self, expression: syntax.InQuery | syntax.Exists | syntax.ScalarQuery) -> BoundExpression:
        """What a query in an expression means if its rows are constants."""
        if self._bind_query is None:
            raise UnsupportedFeatureError("a query within this expression")
        relation = self._bind_query(expression.query)
        rows = constant_rows(relation)
        if isinstance(expression, syntax.Exists):
            return BoundConstant(BooleanType(False), bool(rows))
        data_type = relation.columns[0].type
        if len(relation.columns) > 1:
            raise UnsupportedFeatureError("a query of several columns within an expression")
        if isinstance(expression, syntax.ScalarQuery):
            if len(rows) > 1:
                raise refused("SubQuery returned more than one row", expression.position)
            return BoundConstant(with_nullable(data_type, True), rows[0][0] if rows else None)
        if not rows:
            return BoundConstant(BooleanType(False), expression.is_negated)
        values: list[BoundExpression] = [BoundConstant(data_type, row[0]) for row in rows]
        return self._call(
            "not in" if expression.is_negated else "in", [self.bind(expression.left), *values], expression
        )

    def bind_condition(self, expression: syntax.Expression, clause: str) -> BoundExpression:
        """The meaning of a condition, which must be a truth value."""
        bound = self.bind(expression)
        if not isinstance(bound.type, (BooleanType, NullType)):
            raise refused(f"{clause} clause must be a condition", expression.position)
        return bound

    def bind_star(self, columns: Sequence[BoundColumn], star: syntax.Star) -> Sequence[BoundExpression]:
        """What a star means that stands for these columns."""
        return columns

    def _bind_name(self, name: syntax.Name) -> BoundExpression:
        found: BoundExpression
        found, fields = self._scope.find(name)
        for field in fields:
            if not isinstance(found.type, RowType):
                raise refused(f"Table '{name.parts[0]}' not found", name.place_of(0))
            if field not in found.type.names:
                raise self._scope.unknown_field(name)
            found = self._field(found, field, name)
        return found

    def bind_fields(self, row: BoundExpression, origin: syntax.Expression) -> list[BoundExpression]:
        """The fields of a row, each as a value of its own."""
        if not isinstance(row.type, RowType):
            raise refused("only a row has several names", origin.position)
        return [self._field(row, field, origin) for field in row.type.names]

    def _field(self, row: BoundExpression, field: str, origin: syntax.Expression) -> BoundExpression:
        return self._call("get", [row, BoundConstant(CharType(len(field), False), field)], origin)

    def _bind_call(self, call: syntax.Call) -> BoundExpression:
        if call.condition is not None:
            raise refused("FILTER must be applied to aggregate function", call.position)
        if call.is_distinct:
            raise refused(f"DISTINCT/ALL not allowed with {call.name.upper()} function", call.position)
        if call.over is not None and self.find(call.name) is not None:
            raise refused("OVER must be applied to aggregate function", call.position)
        if call.name in _ONLY_OVER and call.over is None:
            raise refused("OVER clause is necessary for window functions", call.position)
        if call.name in ("grouping", "grouping_id", "group_id"):
            raise refused(f"{call.name.upper()} operator may only occur in an aggregate query", call.position)
        if call.over is not None or call.argument_names:
            raise UnsupportedFeatureError(f"{call.name.upper()} with OVER, or names of arguments")
        arguments = [self.bind_argument(each) for each in call.arguments]
        if call.function is not None:
            return self._apply(as_scalar(call.function), arguments, call)
        found = self._call(".".join(call.path) or call.name, arguments, call)
        if call.name == "+" and len(arguments) == 1:
            return arguments[0]  # a plus before one operand changes nothing
        rows = [each for each in arguments if isinstance(each, BoundFunction) and each.call.function.name == "row"]
        if call.name in ("=", "in", "not in") and len(rows) == len(arguments):
            return self._compare_fields(call, rows)
        return found

    def _compare_fields(self, call: syntax.Call, rows: list[BoundFunction]) -> BoundExpression:
        """The comparison of rows that are written out, field by field: with a NULL in it the answer may be unknown."""
        first, *others = rows
        answers = []
        for other in others:
            pairs = zip(first.arguments, other.arguments)
            answers.append(self._all_of("and", [self._call("=", list(each), call) for each in pairs], call))
        found = self._all_of("or", answers, call)
        return self._call("not", [found], call) if call.name == "not in" else found

    def _all_of(self, name: str, parts: list[BoundExpression], origin: syntax.Expression) -> BoundExpression:
        return parts[0] if len(parts) == 1 else self._call(name, parts, origin)

    def bind_argument(self, argument: syntax.Expression) -> BoundExpression:
        """The meaning of an argument, which may be a word or a type."""
        if isinstance(argument, syntax.Symbol):
            return symbol_of(argument.name)
        return symbol_of(argument.type) if isinstance(argument, syntax.TypeArgument) else self.bind(argument)

    def _bind_case(self, case: syntax.Case) -> BoundExpression:
        arguments: list[BoundExpression] = []
        for condition, result in case.branches:
            if case.operand is not None:
                condition = syntax.Call("=", (case.operand, condition), position=case.position)
            arguments += [self.bind(condition), self.bind(result)]
        arguments.append(_NULL if case.otherwise is None else self.bind(case.otherwise))
        return self._call("case", arguments, case)

    def _call(self, name: str, arguments: list[BoundExpression], origin: syntax.Expression) -> BoundExpression:
        function = self.find(name)
        if function is None:
            types = [each.type for each in arguments]
            raise unknown_function(name, types, origin.position, self._session.own_functions)
        return self._apply(function, arguments, origin)

    def _apply(
        self, function: Function, arguments: list[BoundExpression], origin: syntax.Expression
    ) -> BoundExpression:
        if isinstance(function, UserScalar) and function.input_types is not None and not function.takes_row:
            arguments = self.cast_arguments(function.name, function.input_types, arguments, origin)
        if function.name == CURRENT_WATERMARK:
            _check_rowtime(arguments)
        try:
            call = bind(function, [each.as_argument() for each in arguments], self._session)
        except TypeMismatchError as error:
            if str(error).startswith("The cast from"):
                # It is found later than other mistakes, when places are forgotten.
                raise ValidationException(str(error)) from error
            raise refused(str(error), origin.position) from error
        return BoundFunction(call.result, call, tuple(arguments))

    def cast_arguments(
        self,
        name: str,
        types: tuple[DataType, ...],
        arguments: list[BoundExpression],
        origin: syntax.Expression,
    ) -> list[BoundExpression]:
        """Arguments as the types that the user has declared."""
        given = [each.type for each in arguments]
        if len(given) != len(types) or not all(map(can_cast_implicitly, given, types)):
            raise ValidationException(
                f"Invalid function call:\n{name}({', '.join(map(to_sql_text, given))})\nCaused by: "
                f"Invalid input arguments. Expected signatures are:\n"
                f"{name}({', '.join(map(to_sql_text, types))})"
            )
        return [
            each
            if with_nullable(each.type, True) == with_nullable(wanted, True)
            else self._call("cast", [each, symbol_of(wanted)], origin)
            for each, wanted in zip(arguments, types)
        ]


def _check_rowtime(arguments: list[BoundExpression]) -> None:
    """Refuses what has no watermark, with Flink's words."""
    if len(arguments) == 1 and time_of(arguments[0]) is not TimeAttribute.ROWTIME:
        raise ValidationException(
            "The argument of CURRENT_WATERMARK() must be a rowtime attribute, but is "
            f"'{to_sql_text(arguments[0].type)}'."
        )
