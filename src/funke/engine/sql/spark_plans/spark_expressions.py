"""Expressions that Spark computes exactly as our kernels do, on columns in the form in which Spark carries them.

None of them can fail, so that it does not matter for which rows Spark computes them, nor in which order. Integers wrap
around as in Java, whatever Spark's settings say of overflows. `tests/spark/test_expression_twins.py` proves each entry.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction
from funke.engine.sql.functions.casts.value_casts import BITS, CastError, value_cast
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.comparison import compared_type
from funke.engine.sql.functions.function import BoundCall
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.spark_plans.carried_columns import carried_type, is_comparable, is_key, to_carried_array
from funke.engine.sql.spark_plans.spark_integers import difference, sum_of, wrapped
from funke.engine.types.logical import (
    APPROXIMATE,
    CHARACTER,
    INTEGRAL,
    LONGEST,
    BooleanType,
    DataType,
    DecimalType,
    NullType,
    VarCharType,
    to_decimal_type,
)

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["expression_twin"]

_COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is not distinct from": lambda left, right: left.eqNullSafe(right),
    "is distinct from": lambda left, right: ~left.eqNullSafe(right),
    "between": lambda value, low, high: (low <= value) & (value <= high),
    "not between": lambda value, low, high: ~((low <= value) & (value <= high)),
    "in": lambda value, *others: value.isin(*others),
    "not in": lambda value, *others: ~value.isin(*others),
}
_WIDE: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_TESTS: dict[str, Callable[[Any], Any]] = {
    "not": lambda value: ~value,
    "is null": lambda value: value.isNull(),
    "is not null": lambda value: value.isNotNull(),
    "is unknown": lambda value: value.isNull(),
    "is not unknown": lambda value: value.isNotNull(),
    "is true": lambda value: F.coalesce(value, F.lit(False)),
    "is not true": lambda value: ~F.coalesce(value, F.lit(False)),
    "is false": lambda value: ~F.coalesce(value, F.lit(True)),
    "is not false": lambda value: F.coalesce(value, F.lit(True)),
}


def expression_twin(expression: BoundExpression, columns: Sequence[SparkColumn]) -> SparkColumn | None:
    """The expression as Spark's, in the form in which its type is carried; None if it has no twin."""
    try:
        return _twin(expression, columns)
    except _NoTwinError:
        return None


class _NoTwinError(Exception):
    """There is no form for Spark."""


def _twin(expression: BoundExpression, columns: Sequence[SparkColumn]) -> SparkColumn:
    if isinstance(expression, BoundColumn):
        return columns[expression.index]
    if isinstance(expression, BoundConstant):
        return _literal(expression.value, expression.type)
    if not isinstance(expression, BoundFunction):
        raise _NoTwinError
    call = expression.call
    make = _TWINS.get(call.function.name)
    # Functions of users may have any name.
    if make is None or FUNCTIONS[call.function.name] is not call.function:
        raise _NoTwinError
    return make(call, _Arguments(expression.arguments, columns, call))


def _literal(value: Any, data_type: DataType) -> SparkColumn:
    if not is_comparable(data_type):
        raise _NoTwinError
    try:
        array = to_carried_array(from_values([value], data_type), data_type)
    except pa.ArrowInvalid:
        # No column has such a value.
        raise _NoTwinError from None
    if pa.types.is_date32(array.type):
        # Java's dates of before 1582, by way of which Spark takes Python's, are those of another calendar.
        return F.date_from_unix_date(F.lit(array.cast(pa.int32())[0].as_py()).cast("int"))
    return F.lit(array[0].as_py()).cast(from_arrow_type(array.type))


class _Arguments:
    """The arguments of a call; each is asked for in the type that it is needed in."""

    def __init__(self, expressions: Sequence[BoundExpression], columns: Sequence[SparkColumn], call: BoundCall) -> None:
        self.expressions = expressions
        self._columns = columns
        self._call = call

    def plain(self) -> list[SparkColumn]:
        return [_twin(each, self._columns) for each in self.expressions]

    def all_as(self, data_type: DataType) -> list[SparkColumn]:
        return [self.one_as(each, data_type) for each in self.expressions]

    def one_as(self, expression: BoundExpression, data_type: DataType) -> SparkColumn:
        """One of them in a type that has all its values."""
        own_type = expression.type
        if isinstance(expression, BoundConstant):
            return _literal(self._cast_constant(expression, data_type), data_type)
        if _is_same(own_type, data_type) or _is_wider_text(own_type, data_type):
            return _twin(expression, self._columns)
        if _is_wider_number(own_type, data_type):
            return _twin(expression, self._columns).cast(_spark_type(data_type))
        raise _NoTwinError

    def _cast_constant(self, constant: BoundConstant, data_type: DataType) -> Any:
        if constant.value is None:
            return None
        try:
            return value_cast(constant.type, data_type, self._call.session)(constant.value)
        except (CastError, OverflowError):
            # Each row fails that needs it.
            raise _NoTwinError from None


def _is_same(source: DataType, target: DataType) -> bool:
    return source.nullable() == target.nullable()


def _is_wider_text(source: DataType, target: DataType) -> bool:
    return (
        isinstance(source, CHARACTER)
        and isinstance(target, VarCharType)
        and getattr(source, "length", 0) <= target.length
    )


def _is_wider_number(source: DataType, target: DataType) -> bool:
    if isinstance(source, INTEGRAL) and isinstance(target, INTEGRAL):
        return BITS[type(source)] <= BITS[type(target)]
    if isinstance(source, (*INTEGRAL, DecimalType)) and isinstance(target, DecimalType):
        exact = to_decimal_type(source)
        return target.scale >= exact.scale and target.precision - target.scale >= exact.precision - exact.scale
    return False


def _spark_type(data_type: DataType) -> Any:
    return from_arrow_type(carried_type(data_type))


def _comparison(name: str, call: BoundCall, arguments: _Arguments) -> SparkColumn:
    operand_type = compared_type(call.types)
    # Numbers with a fraction: Spark takes NaN for a number that is equal to itself.
    if isinstance(operand_type, NullType) or not is_key(operand_type):
        raise _NoTwinError
    compared: SparkColumn = _COMPARISONS[name](*arguments.all_as(operand_type))
    return compared


def _test(name: str, call: BoundCall, arguments: _Arguments) -> SparkColumn:
    (value,) = arguments.plain()
    if name not in ("is null", "is not null") and not isinstance(call.types[0], BooleanType):
        raise _NoTwinError
    tested: SparkColumn = _TESTS[name](value)
    return tested


def _logic(combine: Callable[[Any, Any], Any], call: BoundCall, arguments: _Arguments) -> SparkColumn:
    combined: SparkColumn = reduce(combine, arguments.all_as(BooleanType()))
    return combined


def _arithmetic(name: str, call: BoundCall, arguments: _Arguments) -> SparkColumn:
    if not all(isinstance(each, INTEGRAL) for each in call.types):
        raise _NoTwinError
    bits = BITS[type(call.result)]
    operands = [each.cast("bigint") for each in arguments.plain()]
    if len(operands) == 1:
        operands.insert(0, F.lit(0).cast("bigint"))
    if bits < 64:
        # Before it is cut, there is room for every bit of it.
        return wrapped(_WIDE[name](*operands), bits)
    # Such sums name their operands several times, and Spark has no product of 64 bits that wraps around.
    if name == "*" or any(isinstance(each, BoundFunction) for each in arguments.expressions):
        raise _NoTwinError
    return (sum_of if name == "+" else difference)(*operands)


def _case(call: BoundCall, arguments: _Arguments) -> SparkColumn:
    *pairs, otherwise = arguments.expressions
    chain: Any = F
    for condition, value in zip(pairs[::2], pairs[1::2]):
        chain = chain.when(arguments.one_as(condition, BooleanType()), _chosen(call, arguments, value))
    chosen: SparkColumn = chain.otherwise(_chosen(call, arguments, otherwise))
    return chosen


def _coalesce(call: BoundCall, arguments: _Arguments) -> SparkColumn:
    return F.coalesce(*(_chosen(call, arguments, each) for each in arguments.expressions))


def _chosen(call: BoundCall, arguments: _Arguments, value: BoundExpression) -> SparkColumn:
    return arguments.one_as(value, call.result)


def _nullif(call: BoundCall, arguments: _Arguments) -> SparkColumn:
    is_equal = _comparison("=", call, arguments)
    # Spark makes no column of a bare NULL.
    return F.when(F.coalesce(is_equal, F.lit(False)), F.lit(None)).otherwise(_twin_at(arguments, 0))


def _twin_at(arguments: _Arguments, index: int) -> SparkColumn:
    return arguments.one_as(arguments.expressions[index], arguments.expressions[index].type)


def _cast(call: BoundCall, arguments: _Arguments) -> SparkColumn:
    source, target = call.types[0], call.result
    value = _twin_at(arguments, 0)
    if _is_same(source, target) or _is_wider_text(source, target):
        return value
    if isinstance(source, INTEGRAL) and isinstance(target, INTEGRAL):
        return wrapped(value.cast("bigint"), BITS[type(target)])
    if isinstance(source, (*INTEGRAL, BooleanType)) and isinstance(target, (*INTEGRAL, *APPROXIMATE)):
        return value.cast(_spark_type(target))
    if isinstance(source, APPROXIMATE) and isinstance(target, APPROXIMATE):
        return value.cast(_spark_type(target))
    if isinstance(target, VarCharType) and target.length == LONGEST:
        if isinstance(source, INTEGRAL):
            return value.cast("string")
        if isinstance(source, BooleanType):
            return F.when(value, F.lit("TRUE")).when(~value, F.lit("FALSE"))
    if _is_wider_number(source, target):
        return value.cast(_spark_type(target))
    raise _NoTwinError


_TWINS: dict[str, Callable[[BoundCall, _Arguments], SparkColumn]] = {
    **{name: partial(_comparison, name) for name in _COMPARISONS},
    **{name: partial(_test, name) for name in _TESTS},
    **{name: partial(_arithmetic, name) for name in "+-*"},
    "and": partial(_logic, operator.and_),
    "or": partial(_logic, operator.or_),
    "case": _case,
    "if": _case,
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nullif": _nullif,
    "cast": _cast,
    "try_cast": _cast,
}
