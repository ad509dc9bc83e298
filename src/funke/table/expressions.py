"""Functions that make expressions: columns, constants, and everything that is not a method of an expression."""

from __future__ import annotations

from typing import Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.path_text import parse_path
from funke.table.expression import Expression, JsonOnNull, TimePointUnit
from funke.table.expression_members.call_arguments import named_arguments
from funke.table.expression_members.operands import literal, to_syntax
from funke.table.types import DataType, DataTypes
from funke.table.udf import UserDefinedFunctionWrapper

__all__ = [
    "if_then_else",
    "lit",
    "col",
    "range_",
    "and_",
    "or_",
    "not_",
    "UNBOUNDED_ROW",
    "UNBOUNDED_RANGE",
    "CURRENT_ROW",
    "CURRENT_RANGE",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "local_time",
    "local_timestamp",
    "temporal_overlaps",
    "date_format",
    "timestamp_diff",
    "array",
    "row",
    "map_",
    "row_interval",
    "pi",
    "e",
    "rand",
    "rand_integer",
    "atan2",
    "negative",
    "concat",
    "concat_ws",
    "uuid",
    "null_of",
    "log",
    "with_columns",
    "without_columns",
    "json",
    "json_string",
    "json_object",
    "json_object_agg",
    "json_array",
    "json_array_agg",
    "call",
    "call_sql",
    "source_watermark",
    "to_timestamp_ltz",
    "from_unixtime",
    "to_date",
    "to_timestamp",
    "convert_tz",
    "unix_timestamp",
    "descriptor",
]


def _call(name: str, *arguments: Any) -> Expression[Any]:
    return Expression(syntax.Call(name, tuple(map(to_syntax, arguments))))


def _call_given(name: str, *arguments: Any) -> Expression[Any]:
    """Return a call without the arguments that were not given."""
    return _call(name, *(each for each in arguments if each is not None))


# Bounds of an OVER window: before all rows, or at the current one, by rows or by time.
UNBOUNDED_ROW: Expression[Any] = _call("unbounded_row")
UNBOUNDED_RANGE: Expression[Any] = _call("unbounded_range")
CURRENT_ROW: Expression[Any] = _call("current_row")
CURRENT_RANGE: Expression[Any] = _call("current_range")


def col(name: str) -> Expression[Any]:
    """Return a column."""
    return Expression(syntax.Star() if name == "*" else syntax.Name((name,)))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """Return a constant, of a type or of the one that fits it."""
    if v is None and data_type is None:
        raise ValidationException(
            "Cannot derive a data type for value 'null'. The data type must be specified explicitly."
        )
    if v is not None and data_type is not None and data_type._nullable:
        raise ValidationException("Literals that have a non-null value must not have a nullable data type.")
    return Expression(to_syntax(v) if data_type is None else syntax.Literal(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Return the columns from one to another, by name or by position, which counts from 1."""
    bounds = [syntax.Name((each,)) if isinstance(each, str) else literal(each) for each in (start, end)]
    return _call("range", *bounds)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether all conditions are true."""
    return _call("and", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether one of the conditions is true."""
    return _call("or", predicate0, predicate1, *predicates)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """Whether a condition is false; NULL stays NULL."""
    return _call("not", expression)


def current_database() -> Expression[str]:
    """Return the name of the current database."""
    return _call("current_database")


def current_date() -> Expression[Any]:
    """Return today's date."""
    return _call("current_date")


def current_time() -> Expression[Any]:
    """Return the time of day."""
    return _call("current_time")


def current_timestamp() -> Expression[Any]:
    """Return the present instant."""
    return _call("current_timestamp")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Return the watermark of an event-time column, NULL while there is none."""
    return _call("current_watermark", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """Return the time of day in the session's zone."""
    return _call("localtime")


def local_timestamp() -> Expression[Any]:
    """Return date and time in the session's zone."""
    return _call("localtimestamp")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """Return the date that a text names in a format, yyyy-MM-dd by default."""
    return _call_given("to_date", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """Return the date and time that a text names in a format, yyyy-MM-dd HH:mm:ss by default."""
    return _call_given("to_timestamp", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Return the instant of a number since 1970 (with its digits behind the second), or of a text (format, zone)."""
    return _call("to_timestamp_ltz", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[bool]:
    """Whether two stretches of time overlap; each is a beginning with an end or a length."""
    return _call("overlaps", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression[str]:
    """Return a time as text in a format."""
    return _call("date_format", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[int]:
    """Return how many units lie between two points in time."""
    return _call("timestampdiff", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[str]:
    """Return a time of one zone as that of another, as text."""
    return _call("convert_tz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[str]:
    """Return seconds since 1970 as text in a format."""
    return _call_given("from_unixtime", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[int]:
    """Return seconds since 1970: now, or at the time that a text names in a format."""
    return _call("unix_timestamp") if date_str is None else _call_given("unix_timestamp", date_str, format)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """Return an array of some elements."""
    return _call("array", head, *tail)


def row(head: Any, *tail: Any) -> Expression[Any]:
    """Return a row of some values."""
    return _call("row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Return a map of keys and values, in turn."""
    return _call("map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """Return a map of an array of keys and an array of values."""
    return _call("map_from_arrays", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Name columns for a function that takes a table."""
    return _call("descriptor", *(syntax.Name((name,)) for name in column_names))


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """Return a structured object of fields and values, in turn."""
    return _call("object_of", class_name, *args)


def row_interval(rows: int) -> Expression[int]:
    """Return a number of rows, as the size of a window."""
    return Expression(syntax.Literal(rows, DataTypes.BIGINT().not_null()))


def pi() -> Expression[float]:
    """Return pi."""
    return _call("pi")


def e() -> Expression[float]:
    """Return Euler's number."""
    return _call("e")


def rand(seed: Any = None) -> Expression[float]:
    """Return a random number from 0 to 1, without 1."""
    return _call_given("rand", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[int]:
    """Return a random whole number from 0 to a bound, without the bound."""
    return _call("rand_integer", bound) if seed is None else _call("rand_integer", seed, bound)


def atan2(y: Any, x: Any) -> Expression[float]:
    """Return the angle of a point."""
    return _call("atan2", y, x)


def negative(v: Any) -> Expression[Any]:
    """Return a number with the other sign."""
    return _call("-", v)


def concat(first: Any, *others: Any) -> Expression[str]:
    """Join texts; NULL if one of them is."""
    return _call("concat", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """Join texts with a separator between them, without those that are NULL."""
    return _call("concat_ws", separator, first, *others)


def uuid() -> Expression[str]:
    """Return a random UUID."""
    return _call("uuid")


def null_of(data_type: DataType) -> Expression[Any]:
    """Return the NULL of a type."""
    return Expression(syntax.Literal(None, data_type))


def log(v: Any, base: Any = None) -> Expression[float]:
    """Return the natural logarithm, or the one to a base."""
    return _call("log", v) if base is None else _call("log", base, v)


def source_watermark() -> Expression[Any]:
    """Take the watermarks that the source itself gives; for the watermark of a schema."""
    return _call("source_watermark")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """Choose between two values: the first if a condition is true."""
    return Expression(syntax.Case(None, ((to_syntax(condition), to_syntax(if_true)),), to_syntax(if_false)))


def coalesce(*args: Any) -> Expression[Any]:
    """Return the first value that is not NULL."""
    return _call("coalesce", *args)


def with_all_columns() -> Expression[Any]:
    """Return all columns."""
    return Expression(syntax.Star())


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return some columns; `range_` gives several at once."""
    return _call("with_columns", *_columns(head, *tails))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return all columns but some."""
    return _call("without_columns", *_columns(head, *tails))


def _columns(*columns: Any) -> list[Any]:
    return [syntax.Name((each,)) if isinstance(each, str) else each for each in columns]


def json(value: Any) -> Expression[Any]:
    """Put a text of JSON into `json_object` or `json_array` as it is."""
    return _call("json", value)


def json_string(value: Any) -> Expression[str]:
    """Return a value as JSON."""
    return _call("json_string", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[str]:
    """Return a JSON object of keys and values, in turn."""
    return _call("json_object", on_null, *args)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[str]:
    """Return a JSON object with an entry for each row."""
    return _call("json_objectagg", on_null, key_expr, value_expr)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[str]:
    """Return a JSON array of values."""
    return _call("json_array", on_null, *args)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[str]:
    """Return a JSON array with an element for each row."""
    return _call("json_arrayagg", on_null, item_expr)


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """Return the value of an earlier row of an OVER window."""
    return _call_given("lag", expr, offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """Return the value of a later row of an OVER window."""
    return _call_given("lead", expr, offset, default)


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """Call a function: one of the user's, or any by its name, maybe with catalog and database before it."""
    if isinstance(f, UserDefinedFunctionWrapper):
        return f(*args)
    path = parse_path(f)
    name = path[-1].lower()
    arguments, names = named_arguments(args)
    return Expression(syntax.Call(name, arguments, argument_names=names, path=() if path == (name,) else path))


def call_sql(sql_expression: str) -> Expression[Any]:
    """Return an expression written in SQL; it is read when the table is known."""
    return Expression(syntax.Call("call_sql", (literal(sql_expression),)))
