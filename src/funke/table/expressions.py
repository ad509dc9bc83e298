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
    """Return a column.

    >>> from funke.table.expressions import col
    >>> str(col("price") * 2), str(col("first").upper_case)
    ('times(price, 2)', 'upper(first)')
    """
    return Expression(syntax.Star() if name == "*" else syntax.Name((name,)))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """Return a constant, of a type or of the one that fits it.

    >>> from funke.table import DataTypes
    >>> from funke.table.expressions import col, lit
    >>> str(col("time") - lit(5).minutes), str(lit(5, DataTypes.BIGINT().not_null()))
    ('minus(time, 300000)', '5')
    """
    if v is None and data_type is None:
        raise ValidationException(
            "Cannot derive a data type for value 'null'. The data type must be specified explicitly."
        )
    if v is not None and data_type is not None and data_type._nullable:
        raise ValidationException("Literals that have a non-null value must not have a nullable data type.")
    return Expression(to_syntax(v) if data_type is None else syntax.Literal(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Return the columns from one to another, by name or by position, which counts from 1.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import range_, with_columns
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> wide = t_env.from_elements([(1, 2, 3, 4)], ["a", "b", "c", "d"])
    >>> wide.select(with_columns(range_("b", "d"))).get_schema().get_field_names()
    ['b', 'c', 'd']
    """
    bounds = [syntax.Name((each,)) if isinstance(each, str) else literal(each) for each in (start, end)]
    return _call("range", *bounds)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether all conditions are true.

    >>> from funke.table.expressions import and_, col
    >>> str(and_(col("amount") > 3, col("item") == "tea", col("is_paid")))
    "and(greaterThan(amount, 3), equals(item, 'tea'), is_paid)"
    """
    return _call("and", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether one of the conditions is true.

    >>> from funke.table.expressions import col, or_
    >>> str(or_(col("amount") > 3, col("item") == "tea"))
    "or(greaterThan(amount, 3), equals(item, 'tea'))"
    """
    return _call("or", predicate0, predicate1, *predicates)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """Whether a condition is false; NULL stays NULL.

    >>> from funke.table.expressions import col, not_
    >>> str(not_(col("is_paid")))  # the same as ~col("is_paid")
    'not(is_paid)'
    """
    return _call("not", expression)


def current_database() -> Expression[str]:
    """Return the name of the current database.

    >>> from funke.table.expressions import current_database
    >>> str(current_database())
    'currentDatabase()'
    """
    return _call("current_database")


def current_date() -> Expression[Any]:
    """Return today's date.

    >>> from funke.table.expressions import col, current_date
    >>> str(col("day") == current_date())
    'equals(day, currentDate())'
    """
    return _call("current_date")


def current_time() -> Expression[Any]:
    """Return the time of day.

    >>> from funke.table.expressions import col, current_time
    >>> str(col("time") < current_time())
    'lessThan(time, currentTime())'
    """
    return _call("current_time")


def current_timestamp() -> Expression[Any]:
    """Return the present instant.

    >>> from funke.table.expressions import current_timestamp
    >>> str(current_timestamp().alias("read_at"))
    "as(currentTimestamp(), 'read_at')"
    """
    return _call("current_timestamp")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Return the watermark of an event-time column, NULL while there is none.

    >>> from funke.table.expressions import col, current_watermark
    >>> str(col("time") <= current_watermark(col("time")))  # whether a row is late
    'lessThanOrEqual(time, CURRENT_WATERMARK(time))'
    """
    return _call("current_watermark", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """Return the time of day in the session's zone.

    >>> from funke.table.expressions import local_time
    >>> str(local_time().alias("at"))
    "as(localTime(), 'at')"
    """
    return _call("localtime")


def local_timestamp() -> Expression[Any]:
    """Return date and time in the session's zone.

    >>> from funke.table.expressions import local_timestamp
    >>> str(local_timestamp().alias("at"))
    "as(localTimestamp(), 'at')"
    """
    return _call("localtimestamp")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """Return the date that a text names in a format, yyyy-MM-dd by default.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, to_date
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> texts = t_env.from_elements([("19.11.2026",)], ["day"])
    >>> list(texts.select(to_date(col("day"), "dd.MM.yyyy")).execute().collect())
    [<Row(datetime.date(2026, 11, 19))>]
    """
    return _call_given("to_date", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """Return the date and time that a text names in a format, yyyy-MM-dd HH:mm:ss by default.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, to_timestamp
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> texts = t_env.from_elements([("2026-11-19 08:05:00",)], ["time"])
    >>> list(texts.select(to_timestamp(col("time"))).execute().collect())
    [<Row(datetime.datetime(2026, 11, 19, 8, 5))>]
    """
    return _call_given("to_timestamp", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Return the instant of a number since 1970 (with its digits behind the second), or of a text (format, zone).

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, date_format, to_timestamp_ltz
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.get_config().set_local_timezone("UTC")
    >>> times = t_env.from_elements([(60_000,)], ["millis"])
    >>> list(times.select(date_format(to_timestamp_ltz(col("millis"), 3), "HH:mm")).execute().collect())
    [<Row('00:01')>]
    """
    return _call("to_timestamp_ltz", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[bool]:
    """Whether two stretches of time overlap; each is a beginning with an end or a length.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import lit, temporal_overlaps
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> nine, ten = lit("09:00:00").to_time, lit("10:00:00").to_time
    >>> one = t_env.from_elements([(1,)], ["x"])
    >>> list(one.select(temporal_overlaps(nine, lit(2).hours, ten, lit(1).hour)).execute().collect())
    [<Row(True)>]
    """
    return _call("overlaps", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression[str]:
    """Return a time as text in a format.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, date_format
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> events = t_env.from_elements([("2026-11-19 08:05:00",)], ["time"])
    >>> list(events.select(date_format(col("time").to_timestamp, "HH:mm")).execute().collect())
    [<Row('08:05')>]
    """
    return _call("date_format", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[int]:
    """Return how many units lie between two points in time.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, lit, timestamp_diff
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> eight = lit("2026-11-19 08:00:00").to_timestamp
    >>> from funke.table.expression import TimePointUnit
    >>> texts = t_env.from_elements([("2026-11-19 08:05:00",)], ["time"])
    >>> list(texts.select(timestamp_diff(TimePointUnit.MINUTE, eight, col("time").to_timestamp)).execute().collect())
    [<Row(5)>]
    """
    return _call("timestampdiff", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[str]:
    """Return a time of one zone as that of another, as text.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, convert_tz
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> texts = t_env.from_elements([("2026-11-19 08:05:00",)], ["time"])
    >>> list(texts.select(convert_tz(col("time"), "UTC", "Asia/Tokyo")).execute().collect())
    [<Row('2026-11-19 17:05:00')>]
    """
    return _call("convert_tz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[str]:
    """Return seconds since 1970 as text in a format.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, from_unixtime
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.get_config().set_local_timezone("UTC")
    >>> times = t_env.from_elements([(0,)], ["seconds"])
    >>> list(times.select(from_unixtime(col("seconds"), "yyyy")).execute().collect())
    [<Row('1970')>]
    """
    return _call_given("from_unixtime", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[int]:
    """Return seconds since 1970: now, or at the time that a text names in a format.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, unix_timestamp
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.get_config().set_local_timezone("UTC")
    >>> texts = t_env.from_elements([("1970-01-01 00:01:00",)], ["time"])
    >>> list(texts.select(unix_timestamp(col("time"))).execute().collect())
    [<Row(60)>]
    """
    return _call("unix_timestamp") if date_str is None else _call_given("unix_timestamp", date_str, format)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """Return an array of some elements.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import array, col
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> points = t_env.from_elements([(3, 4)], ["x", "y"])
    >>> list(points.select(array(col("x"), col("y"))).execute().collect())
    [<Row([3, 4])>]
    """
    return _call("array", head, *tail)


def row(head: Any, *tail: Any) -> Expression[Any]:
    """Return a row of some values.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, row
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> points = t_env.from_elements([(3, 4)], ["x", "y"])
    >>> list(points.select(row(col("x"), col("y"))).execute().collect())
    [<Row(<Row(3, 4)>)>]
    """
    return _call("row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Return a map of keys and values, in turn.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, map_
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> points = t_env.from_elements([(3, 4)], ["x", "y"])
    >>> list(points.select(map_("x", col("x"), "y", col("y"))).execute().collect())
    [<Row({'x': 3, 'y': 4})>]
    """
    return _call("map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """Return a map of an array of keys and an array of values."""
    return _call("map_from_arrays", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Name columns for a function that takes a table.

    >>> from funke.table.expressions import descriptor
    >>> str(descriptor("time"))
    'DESCRIPTOR(`time`)'
    """
    return _call("descriptor", *(syntax.Name((name,)) for name in column_names))


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """Return a structured object of fields and values, in turn."""
    return _call("object_of", class_name, *args)


def row_interval(rows: int) -> Expression[int]:
    """Return a number of rows, as the size of a window.

    >>> from funke.table.expressions import row_interval
    >>> str(row_interval(10))  # Slide.over(row_interval(10)): windows of ten rows
    '10'
    """
    return Expression(syntax.Literal(rows, DataTypes.BIGINT().not_null()))


def pi() -> Expression[float]:
    """Return pi.

    >>> from funke.table.expressions import pi
    >>> str(pi() * 2)
    'times(pi(), 2)'
    """
    return _call("pi")


def e() -> Expression[float]:
    """Return Euler's number.

    >>> from funke.table.expressions import e
    >>> str(e())
    'e()'
    """
    return _call("e")


def rand(seed: Any = None) -> Expression[float]:
    """Return a random number from 0 to 1, without 1.

    >>> from funke.table.expressions import rand
    >>> str(rand() < 0.1)  # where(rand() < 0.1) keeps about a tenth of the rows
    'lessThan(rand(), 0.1)'
    """
    return _call_given("rand", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[int]:
    """Return a random whole number from 0 to a bound, without the bound.

    >>> from funke.table.expressions import rand_integer
    >>> str(rand_integer(6) + 1)  # a die
    'plus(randInteger(6), 1)'
    """
    return _call("rand_integer", bound) if seed is None else _call("rand_integer", seed, bound)


def atan2(y: Any, x: Any) -> Expression[float]:
    """Return the angle of a point.

    >>> from funke.table.expressions import atan2, col
    >>> str(atan2(col("y"), col("x")))
    'atan2(y, x)'
    """
    return _call("atan2", y, x)


def negative(v: Any) -> Expression[Any]:
    """Return a number with the other sign.

    >>> from funke.table.expressions import col, negative
    >>> str(negative(col("amount")))  # the same as -col("amount")
    'minusPrefix(amount)'
    """
    return _call("-", v)


def concat(first: Any, *others: Any) -> Expression[str]:
    """Join texts; NULL if one of them is.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, concat
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> people = t_env.from_elements([("Ada", "Lovelace")], ["first", "last"])
    >>> list(people.select(concat(col("first"), " ", col("last"))).execute().collect())
    [<Row('Ada Lovelace')>]
    """
    return _call("concat", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """Join texts with a separator between them, without those that are NULL.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, concat_ws, null_of
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> days = t_env.from_elements([("2026", "19")], ["y", "d"])
    >>> list(days.select(concat_ws("-", col("y"), null_of(DataTypes.STRING()), col("d"))).execute().collect())
    [<Row('2026-19')>]
    """
    return _call("concat_ws", separator, first, *others)


def uuid() -> Expression[str]:
    """Return a random UUID.

    >>> from funke.table.expressions import uuid
    >>> str(uuid().alias("id"))
    "as(uuid(), 'id')"
    """
    return _call("uuid")


def null_of(data_type: DataType) -> Expression[Any]:
    """Return the NULL of a type.

    >>> from funke.table import DataTypes
    >>> from funke.table.expressions import null_of
    >>> str(null_of(DataTypes.INT()))
    'null'
    """
    return Expression(syntax.Literal(None, data_type))


def log(v: Any, base: Any = None) -> Expression[float]:
    """Return the natural logarithm, or the one to a base.

    >>> from funke.table.expressions import col, log
    >>> str(log(col("bytes"), 2))
    'log(2, bytes)'
    """
    return _call("log", v) if base is None else _call("log", base, v)


def source_watermark() -> Expression[Any]:
    """Take the watermarks that the source itself gives; for the watermark of a schema.

    >>> from funke.table import DataTypes, Schema
    >>> from funke.table.expressions import source_watermark
    >>> columns = Schema.new_builder().column("time", DataTypes.TIMESTAMP_LTZ(3))
    >>> print(columns.watermark("time", source_watermark()).build())
    (
      `time` TIMESTAMP_LTZ(3),
      WATERMARK FOR `time` AS SOURCE_WATERMARK()
    )
    """
    return _call("source_watermark")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """Choose between two values: the first if a condition is true.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, if_then_else
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> orders = t_env.from_elements([(30,)], ["amount"])
    >>> list(orders.select(if_then_else(col("amount") > 10, "large", "small")).execute().collect())
    [<Row('large')>]
    """
    return Expression(syntax.Case(None, ((to_syntax(condition), to_syntax(if_true)),), to_syntax(if_false)))


def coalesce(*args: Any) -> Expression[Any]:
    """Return the first value that is not NULL."""
    return _call("coalesce", *args)


def with_all_columns() -> Expression[Any]:
    """Return all columns."""
    return Expression(syntax.Star())


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return some columns; `range_` gives several at once.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import range_, with_columns
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> wide = t_env.from_elements([(1, 2, 3, 4)], ["a", "b", "c", "d"])
    >>> wide.select(with_columns("a", range_(3, 4))).get_schema().get_field_names()
    ['a', 'c', 'd']
    """
    return _call("with_columns", *_columns(head, *tails))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return all columns but some.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import without_columns
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> wide = t_env.from_elements([(1, 2, 3)], ["a", "b", "c"])
    >>> wide.select(without_columns("b")).get_schema().get_field_names()
    ['a', 'c']
    """
    return _call("without_columns", *_columns(head, *tails))


def _columns(*columns: Any) -> list[Any]:
    return [syntax.Name((each,)) if isinstance(each, str) else each for each in columns]


def json(value: Any) -> Expression[Any]:
    """Put a text of JSON into `json_object` or `json_array` as it is.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, json, json_object
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> from funke.table.expression import JsonOnNull
    >>> events = t_env.from_elements([('{"x": 3}',)], ["point"])
    >>> list(events.select(json_object(JsonOnNull.NULL, "point", json(col("point")))).execute().collect())
    [<Row('{"point":{"x":3}}')>]
    """
    return _call("json", value)


def json_string(value: Any) -> Expression[str]:
    """Return a value as JSON.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import array, col, json_string
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> points = t_env.from_elements([(3, 4)], ["x", "y"])
    >>> list(points.select(json_string(array(col("x"), col("y")))).execute().collect())
    [<Row('[3,4]')>]
    """
    return _call("json_string", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[str]:
    """Return a JSON object of keys and values, in turn.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, json_object
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> from funke.table.expression import JsonOnNull
    >>> points = t_env.from_elements([(3, 4)], ["x", "y"])
    >>> list(points.select(json_object(JsonOnNull.NULL, "x", col("x"), "y", col("y"))).execute().collect())
    [<Row('{"x":3,"y":4}')>]
    """
    return _call("json_object", on_null, *args)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[str]:
    """Return a JSON object with an entry for each row.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expression import JsonOnNull
    >>> from funke.table.expressions import col, json_object_agg
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> prices = t_env.from_elements([("tea", 3), ("milk", 1)], ["item", "price"])
    >>> objects = prices.select(json_object_agg(JsonOnNull.NULL, col("item"), col("price")))
    >>> list(objects.execute().collect())[-1]  # after both rows
    <Row('{"milk":1,"tea":3}')>
    """
    return _call("json_objectagg", on_null, key_expr, value_expr)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[str]:
    """Return a JSON array of values.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, json_array
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> from funke.table.expression import JsonOnNull
    >>> points = t_env.from_elements([(3, 4)], ["x", "y"])
    >>> list(points.select(json_array(JsonOnNull.ABSENT, col("x"), col("y"), "z")).execute().collect())
    [<Row('[3,4,"z"]')>]
    """
    return _call("json_array", on_null, *args)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[str]:
    """Return a JSON array with an element for each row.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expression import JsonOnNull
    >>> from funke.table.expressions import col, json_array_agg
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.get_config().set("parallelism.default", "1")  # rows keep their order
    >>> prices = t_env.from_elements([("tea", 3), ("milk", 1)], ["item", "price"])
    >>> items = prices.select(json_array_agg(JsonOnNull.ABSENT, col("item")))
    >>> list(items.execute().collect())[-1]  # after both rows
    <Row('["tea","milk"]')>
    """
    return _call("json_arrayagg", on_null, item_expr)


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """Return the value of an earlier row of an OVER window."""
    return _call_given("lag", expr, offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """Return the value of a later row of an OVER window."""
    return _call_given("lead", expr, offset, default)


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """Call a function: one of the user's, or any by its name, maybe with catalog and database before it.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import call, col
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> words = t_env.from_elements([("tea",)], ["word"])
    >>> list(words.select(call("UPPER", col("word"))).execute().collect())
    [<Row('TEA')>]
    """
    if isinstance(f, UserDefinedFunctionWrapper):
        return f(*args)
    path = parse_path(f)
    name = path[-1].lower()
    arguments, names = named_arguments(args)
    return Expression(syntax.Call(name, arguments, argument_names=names, path=() if path == (name,) else path))


def call_sql(sql_expression: str) -> Expression[Any]:
    """Return an expression written in SQL; it is read when the table is known.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import call_sql
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> words = t_env.from_elements([("tea",)], ["word"])
    >>> list(words.select(call_sql("UPPER(word) || '!'")).execute().collect())
    [<Row('TEA!')>]
    """
    return Expression(syntax.Call("call_sql", (literal(sql_expression),)))
