"""Binds expressions: looks up names and functions, and gives every part a type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard

from funke.engine.errors import TypeMismatchError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.binding import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundOuterColumn,
    BoundSubQuery,
    Relation,
    symbol_of,
    time_of,
)
from funke.engine.sql.binding.constant_queries import constant_rows, is_constant
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.scope import Scope, rejected, unknown_function
from funke.engine.sql.functions.casts.value_casts import interval_unit, rounded_units
from funke.engine.sql.functions.catalog import find_function
from funke.engine.sql.functions.function import Function, Session, bind
from funke.engine.sql.functions.rejections import type_text
from funke.engine.sql.functions.surroundings import CURRENT_WATERMARK
from funke.engine.sql.functions.users.user_scalars import UserScalar, as_scalar
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.queries import Query
from funke.engine.types.logical import (
    EXACT,
    INTERVAL,
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DecimalType,
    IntType,
    NullType,
    RowType,
    common_type,
    is_nullable,
    to_sql_text,
    with_nullable,
)
from funke.engine.types.logical.casts import can_cast_implicitly

__all__ = ["ExpressionBinder", "OuterColumns", "whole_units"]


_NULL = BoundConstant(NullType(), None)

# Functions of the order of rows, which a group does not have.
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
    """The milliseconds or months of a constant that SQL casts to an interval; other numbers have no unit."""
    return BoundConstant(BigIntType(False), int(number.value * interval_unit(interval)))


class OuterColumns:
    """The columns of an outer query, and those of them that the inner query uses."""

    def __init__(self, binder: ExpressionBinder) -> None:
        self._binder = binder
        self.used: list[BoundExpression] = []

    def knows(self, name: syntax.Name) -> bool:
        """Whether a name means something in the query around, or further out."""
        return self._binder.knows(name)

    def column(self, name: syntax.Name) -> BoundOuterColumn:
        """The outer column that a name of the inner query means."""
        bound = self._binder.bind_column(name)
        # The inner query holds an index into `used`: rules may move the columns of the outer query without entering it.
        if bound not in self.used:
            self.used.append(bound)
        return BoundOuterColumn(bound.type, self.used.index(bound), name.parts[-1])


class QueryMeaning(Protocol):
    """Gives a query within an expression its meaning."""

    def __call__(self, query: Query, outer: OuterColumns) -> Relation: ...


class ExpressionBinder:
    """Binds expressions in one scope; names that it does not have are those of the query around."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        find: Callable[[str], Function | None] = find_function,
        bind_query: QueryMeaning | None = None,
        outer: OuterColumns | None = None,
    ) -> None:
        self.bind_query = bind_query
        self.outer = outer
        self._scope = scope
        self._session = session
        self.find = find

    def knows(self, name: syntax.Name) -> bool:
        """Whether a name means something here, or in a query around."""
        return self._scope.knows(name) or (self.outer is not None and self.outer.knows(name))

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
        # A cast of an interval has a position if it is from SQL, and is rejected; the Table API allows it.
        if isinstance(operand.type, INTERVAL) and cast.position is None:
            operand = self._interval_number(operand, cast)
        elif isinstance(cast.type, INTERVAL) and cast.position is not None and _is_number(operand):
            operand = _in_base_units(operand, cast.type)
        return self._call("try_cast" if cast.is_safe else "cast", [operand, symbol_of(cast.type)], cast)

    def _interval_number(self, interval: BoundExpression, cast: syntax.Cast) -> BoundExpression:
        """An interval as a number, as in Flink: a constant in whole units, a computed one in milliseconds or months."""
        if isinstance(interval, BoundConstant) and isinstance(cast.type, (*_WHOLE, DecimalType)) and not cast.is_safe:
            return whole_units(interval)
        return self._call("interval number", [interval], cast) if isinstance(cast.type, _WHOLE) else interval

    def _bind_inner_query(self, expression: syntax.InQuery | syntax.Exists | syntax.ScalarQuery) -> BoundExpression:
        """The meaning of a query in an expression. Known rows become constants."""
        relation, outer = self._inner_relation(expression.query)
        # `v IN (SELECT 1 UNION ALL SELECT 2)` becomes `v IN (1, 2)`: a comparison without a join and its state.
        is_known = not outer and is_constant(relation)
        if isinstance(expression, syntax.Exists):
            truth = BooleanType(False)
            return (
                BoundConstant(truth, bool(constant_rows(relation)))
                if is_known
                else BoundSubQuery(truth, "exists", relation, (), outer)
            )
        if isinstance(expression, syntax.InQuery):
            return self._bind_in(expression, relation, outer, is_known)
        _check_single(relation, expression)
        data_type = with_nullable(relation.columns[0].type, True)
        if not is_known:
            return BoundSubQuery(data_type, "scalar", relation, (), outer)
        rows = constant_rows(relation)
        if len(rows) > 1:
            raise rejected("SubQuery returned more than one row", expression.position)
        return BoundConstant(data_type, rows[0][0] if rows else None)

    def _inner_relation(self, query: Query) -> tuple[Relation, tuple[BoundExpression, ...]]:
        """The meaning of a query, and the columns of this one that it uses."""
        if self.bind_query is None:
            raise UnsupportedFeatureError("a query within this expression")
        columns = OuterColumns(self)
        relation = self.bind_query(query, columns)
        return relation, tuple(columns.used)

    def _bind_in(
        self, expression: syntax.InQuery, relation: Relation, outer: tuple[BoundExpression, ...], is_known: bool
    ) -> BoundExpression:
        left = self.bind(expression.left)
        is_row = isinstance(left, BoundFunction) and left.call.function.name == "row"
        operands = left.arguments if isinstance(left, BoundFunction) and is_row else (left,)
        types = [each.type for each in relation.columns]
        if len(operands) != len(types):
            if expression.position is None:
                raise _no_table(left, relation)
            position, end = expression.position, expression.query.position
            position = position.to(end.end) if end is not None and end.end is not None else position
            raise rejected("Values passed to IN operator must have compatible types", position)
        if is_known and not is_row:
            return self._one_of(left, types[0], relation, expression)
        for one, other in zip(operands, types):
            if common_type([one.type, other]) is None:
                raise TableException(
                    f"implicit type conversion between {type_text(one.type)} and {type_text(other)} is not supported "
                    "on join's condition now"
                )
        truth = BooleanType(any(each._nullable for each in (*types, *(one.type for one in operands))))
        test = BoundSubQuery(truth, "in", relation, operands, outer)
        return self._call("not", [test], expression) if expression.is_negated else test

    def _one_of(
        self, left: BoundExpression, data_type: DataType, relation: Relation, expression: syntax.InQuery
    ) -> BoundExpression:
        """Whether a value is one of constants."""
        rows = constant_rows(relation)
        if not rows:
            return BoundConstant(BooleanType(False), expression.is_negated)
        values: list[BoundExpression] = [BoundConstant(data_type, row[0]) for row in rows]
        return self._call("not in" if expression.is_negated else "in", [left, *values], expression)

    def _bind_quantified(self, call: syntax.Call, query: syntax.ScalarQuery) -> BoundExpression:
        """`v > SOME (SELECT …)` and `v > ALL (SELECT …)`."""
        comparison, quantifier = call.name.split()
        # `v > ALL (q)` is `NOT v <= SOME (q)`, with the same unknown if a NULL decides; `= SOME` is IN.
        is_all = quantifier == "all"
        if is_all:
            comparison = _OPPOSITES[comparison]
        if comparison == "=":
            test = self.bind(syntax.InQuery(call.arguments[0], query.query, position=call.position))
        else:
            left = self.bind(call.arguments[0])
            relation, outer = self._inner_relation(query.query)
            _check_single(relation, query)
            data_type = relation.columns[0].type
            # Bound for its error alone: it rejects values that cannot be compared.
            self._call(comparison, [left, BoundConstant(data_type, None)], call)
            truth = BooleanType(left.type._nullable or data_type._nullable)
            test = BoundSubQuery(truth, "some", relation, (left,), outer, comparison)
        return self._call("not", [test], call) if is_all else test

    def bind_condition(self, expression: syntax.Expression, clause: str) -> BoundExpression:
        """The meaning of a condition, which must be a truth value."""
        bound = self.bind(expression)
        if not isinstance(bound.type, (BooleanType, NullType)):
            raise rejected(f"{clause} clause must be a condition", expression.position)
        return bound

    def bind_star(self, columns: Sequence[BoundColumn], star: syntax.Star) -> Sequence[BoundExpression]:
        """The meaning of a star that stands for these columns."""
        return columns

    def bind_column(self, name: syntax.Name) -> BoundExpression:
        """The meaning of a name for a query within this one."""
        return self.bind(name)

    def _bind_name(self, name: syntax.Name) -> BoundExpression:
        # The innermost query that knows a name wins: in `EXISTS (SELECT 1 FROM r WHERE k = l.k)` k is that of r if r
        # has one.
        if self.outer is not None and not self._scope.knows(name) and self.outer.knows(name):
            return self.outer.column(name)
        value: BoundExpression
        value, fields = self._scope.find(name)
        for field in fields:
            if not isinstance(value.type, RowType):
                raise rejected(f"Table '{name.parts[0]}' not found", name.position_of(0))
            if field not in value.type.names:
                raise self._scope.unknown_field(name)
            value = self._field(value, field, name)
        return value

    def bind_fields(self, row: BoundExpression, origin: syntax.Expression) -> list[BoundExpression]:
        """The fields of a row, each as a value of its own."""
        if not isinstance(row.type, RowType):
            raise rejected("only a row has several names", origin.position)
        return [self._field(row, field, origin) for field in row.type.names]

    def _field(self, row: BoundExpression, field: str, origin: syntax.Expression) -> BoundExpression:
        return self._call("get", [row, BoundConstant(CharType(len(field), False), field)], origin)

    def _bind_call(self, call: syntax.Call) -> BoundExpression:
        if call.condition is not None:
            raise rejected("FILTER must be applied to aggregate function", call.position)
        if call.is_distinct:
            raise rejected(f"DISTINCT/ALL not allowed with {call.name.upper()} function", call.position)
        if call.over is not None and self.find(call.name) is not None:
            raise rejected("OVER must be applied to aggregate function", call.position)
        if call.name in _ONLY_OVER and call.over is None:
            raise rejected("OVER clause is necessary for window functions", call.position)
        if call.name in ("grouping", "grouping_id", "group_id"):
            raise rejected(f"{call.name.upper()} operator may only occur in an aggregate query", call.position)
        if call.over is not None or call.argument_names:
            raise UnsupportedFeatureError(f"{call.name.upper()} with OVER, or names of arguments")
        query = call.arguments[-1] if call.arguments else None
        if isinstance(query, syntax.ScalarQuery) and call.name.endswith((" some", " all")):
            return self._bind_quantified(call, query)
        if isinstance(query, syntax.ScalarQuery) and call.name.endswith(" query"):
            raise UnsupportedFeatureError(f"{call.name.split()[0].upper()}(SELECT …) in SQL")
        arguments = [self.bind_argument(each) for each in call.arguments]
        if call.function is not None:
            return self._apply(as_scalar(call.function), arguments, call)
        bound = self._call(".".join(call.path) or call.name, arguments, call)
        if call.name == "+" and len(arguments) == 1:
            return arguments[0]  # a plus before one operand changes nothing
        # (1, NULL) = (1, 2) is unknown and (1, NULL) = (2, 2) is false: AND over the fields gives just that.
        rows = [each for each in arguments if isinstance(each, BoundFunction) and each.call.function.name == "row"]
        if call.name in ("=", "in", "not in") and len(rows) == len(arguments):
            return self._compare_fields(call, rows)
        return bound

    def _compare_fields(self, call: syntax.Call, rows: list[BoundFunction]) -> BoundExpression:
        """The comparison of rows that are written out, field by field: with a NULL in it the answer may be unknown."""
        first, *others = rows
        answers = []
        for other in others:
            pairs = zip(first.arguments, other.arguments)
            answers.append(self._all_of("and", [self._call("=", list(each), call) for each in pairs], call))
        answer = self._all_of("or", answers, call)
        return self._call("not", [answer], call) if call.name == "not in" else answer

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
        # A function with `input_types` gets exactly these: an INT is cast to a declared BIGINT, as Flink casts
        # implicitly.
        if isinstance(function, UserScalar) and function.input_types is not None and not function.takes_row:
            arguments = self.cast_arguments(function.name, function.input_types, arguments, origin)
        if function.name == CURRENT_WATERMARK:
            _check_rowtime(arguments)
        try:
            call = bind(function, [each.as_argument() for each in arguments], self._session)
        except TypeMismatchError as error:
            if str(error).startswith("The cast from"):
                # Flink finds this mistake later than others, when positions are lost: the message has none.
                raise ValidationException(str(error)) from error
            raise rejected(str(error), origin.position) from error
        return BoundFunction(call.result, call, tuple(arguments))

    def cast_arguments(
        self,
        name: str,
        types: tuple[DataType, ...],
        arguments: list[BoundExpression],
        origin: syntax.Expression,
    ) -> list[BoundExpression]:
        """Arguments as the types that the user has declared."""
        argument_types = [each.type for each in arguments]
        if len(argument_types) != len(types) or not all(map(can_cast_implicitly, argument_types, types)):
            raise ValidationException(
                f"Invalid function call:\n{name}({', '.join(map(to_sql_text, argument_types))})\nCaused by: "
                f"Invalid input arguments. Expected signatures are:\n"
                f"{name}({', '.join(map(to_sql_text, types))})"
            )
        return [
            each
            if with_nullable(each.type, True) == with_nullable(declared, True)
            else self._call("cast", [each, symbol_of(declared)], origin)
            for each, declared in zip(arguments, types)
        ]


# The comparison that is true where another one is false.
_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _no_table(left: BoundExpression, relation: Relation) -> ValidationException:
    """The Table API's error for a table of several columns behind IN."""
    row = ", ".join(f"`{each.name}` {to_sql_text(each.type)}" for each in relation.columns)
    return ValidationException(
        f"Invalid function call:\nin({to_sql_text(left.type)}, ROW<{row}> NOT NULL)\nCaused by: "
        "Invalid input arguments. Expected signatures are:\n"
        "in(<COMPARABLE>, <COMPARABLE>...)\nin(<COMPARABLE>, <SUBQUERY>)"
    )


def _check_single(relation: Relation, query: syntax.ScalarQuery) -> None:
    """Rejects a query of several columns where there is one value."""
    if len(relation.columns) > 1:
        fields = ", ".join(f"{type_text(each.type)} {each.name}" for each in relation.columns)
        raise rejected(
            f"Cannot apply '$SCALAR_QUERY' to arguments of type '$SCALAR_QUERY(<RECORDTYPE({fields.upper()})>)'. "
            "Supported form(s): '$SCALAR_QUERY(<RECORDTYPE(SINGLE FIELD)>)'",
            query.query.position or query.position,
        )


def _check_rowtime(arguments: list[BoundExpression]) -> None:
    """Rejects an argument without a watermark, in Flink's words."""
    if len(arguments) == 1 and time_of(arguments[0]) is not TimeAttribute.ROWTIME:
        raise ValidationException(
            "The argument of CURRENT_WATERMARK() must be a rowtime attribute, but is "
            f"'{to_sql_text(arguments[0].type)}'."
        )
