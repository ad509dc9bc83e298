"""CAST and TRY_CAST, and arguments that are cast to one type in front of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.casts.column_casts import column_cast
from funke.engine.sql.functions.casts.text_casts import text_cast
from funke.engine.sql.functions.casts.value_casts import BITS, CastError, interval_unit, value_cast
from funke.engine.sql.functions.distinct_values import OverDistinct
from funke.engine.sql.functions.evaluation import mapped_body
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.types.logical import (
    CHARACTER,
    INTEGRAL,
    INTERVAL,
    LONGEST,
    NUMERIC,
    TIMESTAMP,
    BigIntType,
    DataType,
    VarCharType,
    is_nullable,
    to_full_sql_text,
    to_sql_text,
    with_nullable,
)
from funke.engine.types.logical.casts import can_cast

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.columns.arrays import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["CASTING", "cast_columns", "cast_values"]


def cast_values(call: BoundCall, targets: Sequence[DataType], body: Body) -> Body:
    """Return a body whose arguments are cast first; NULL stays NULL."""
    casts = [value_cast(source, target, call.session) for source, target in zip(call.types, targets)]
    if all(_is_idle(source, target) for source, target in zip(call.types, targets)):
        return body
    return lambda *values: body(*(None if each is None else cast(each) for cast, each in zip(casts, values)))


def cast_columns(types: Sequence[DataType], targets: Sequence[DataType], kernel: Kernel) -> Kernel | None:
    """Return a kernel whose arguments are cast first; None if columns of these types cannot be cast."""
    casts = [column_cast(source, target) for source, target in zip(types, targets)]
    if any(each is None for each in casts):
        return None
    return lambda *columns: kernel(*(cast(each) for cast, each in zip(casts, columns) if cast is not None))


def _is_idle(source: DataType, target: DataType) -> bool:
    """Whether a cast leaves values as they are: whole numbers of any size are Python's."""
    if isinstance(source, INTEGRAL) and isinstance(target, INTEGRAL):
        return BITS[type(source)] <= BITS[type(target)]
    return source.nullable() == target.nullable()


def _cast_type(arguments: Sequence[Argument]) -> DataType | None:
    source, target = arguments[0].type, arguments[1].value
    if isinstance(source, TIMESTAMP) and isinstance(target, NUMERIC):
        # Flink has removed this cast; its message recommends UNIX_TIMESTAMP.
        return None
    return with_nullable(target, is_nullable(source)) if can_cast(source, target) else None


def _try_cast_type(arguments: Sequence[Argument]) -> DataType | None:
    target = _cast_type(arguments)
    return None if target is None else with_nullable(target, True)


def _cast_body(call: BoundCall) -> Body:
    cast = value_cast(call.types[0], call.arguments[1].value, call.session)
    return lambda value, _: cast(value)


def _try_cast_body(call: BoundCall) -> Body:
    cast = value_cast(call.types[0], call.arguments[1].value, call.session)

    def try_cast(value: SqlValue, _: object) -> SqlValue:
        try:
            return cast(value)
        except CastError:
            return None

    return try_cast


def _cast_kernel(call: BoundCall) -> Kernel | None:
    source, target = call.types[0], call.arguments[1].value
    # Also for TRY_CAST: casts of columns do not fail, and texts that do not parse go to the body, which knows NULL.
    parse = text_cast(target) if isinstance(source, CHARACTER) else None
    if parse is not None:
        return _parsing_kernel(call, parse)
    cast = column_cast(source, target)
    return None if cast is None else lambda column, _: cast(column)


def _parsing_kernel(call: BoundCall, parse: Callable[[Any], Any]) -> Kernel:
    each = OverDistinct(mapped_body(call))

    def cast(strings: Datum, target: object) -> Datum:
        if isinstance(strings, pa.Scalar):
            return each([strings, target], 1)[0]
        parsed = parse(strings)
        # None: some text is not as plain as Arrow wants it. Then every distinct text is parsed by Flink's rules.
        return each([strings, target], len(strings)) if parsed is None else parsed

    return cast


def _units_type(arguments: Sequence[Argument]) -> DataType | None:
    named = arguments[-1].value if len(arguments) > 1 else arguments[0].type
    return BigIntType(is_nullable(arguments[0].type)) if isinstance(named, INTERVAL) else None


def _counted_unit(call: BoundCall) -> int:
    """The unit of the interval's own type, or of the one that is named."""
    return interval_unit(call.arguments[-1].value if len(call.arguments) > 1 else call.types[0])


def _units_body(call: BoundCall) -> Body:
    unit = _counted_unit(call)
    # Towards zero, as Java divides; Python's // would go down.
    return lambda interval, *_: interval // unit if interval >= 0 else -(-interval // unit)


def _units_kernel(call: BoundCall) -> Kernel:
    unit = pa.scalar(_counted_unit(call), pa.int64())
    return lambda intervals, *_: pc.divide(pc.cast(intervals, pa.int64()), unit)


def _typeof_body(call: BoundCall) -> Body:
    is_full = len(call.arguments) > 1 and call.arguments[1].value is True
    text = to_full_sql_text(call.types[0]) if is_full else to_sql_text(call.types[0])
    return lambda *_: text


CASTING: tuple[Function, ...] = (
    Function(
        ("typeof",),
        "any, boolean?",
        VarCharType(LONGEST),
        body_for=_typeof_body,
        is_strict=False,
        may_give_null=True,
        purpose="The type of a value as a text; with TRUE in its full form.",
    ),
    Function(
        ("cast",),
        "any, symbol",
        _cast_type,
        body_for=_cast_body,
        kernel_for=_cast_kernel,
        purpose="The value as one of another type; fails if it is none.",
    ),
    Function(
        ("try_cast",),
        "any, symbol",
        _try_cast_type,
        body_for=_try_cast_body,
        kernel_for=_cast_kernel,
        purpose="As CAST, but NULL for what cannot be cast.",
    ),
    Function(
        ("interval number",),
        "interval",
        BigIntType(),
        body=int,
        kernel_for=lambda call: lambda intervals: pc.cast(intervals, pa.int64()),
        purpose="The milliseconds or months of an interval, as `cast` of the Table API gives them.",
    ),
    Function(
        ("interval units",),
        "interval, symbol?",
        _units_type,
        body_for=_units_body,
        kernel_for=_units_kernel,
        purpose="How many of its last unit an interval has, as INSERT into a column of numbers writes it.",
    ),
)
