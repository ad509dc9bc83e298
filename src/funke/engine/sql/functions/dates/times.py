"""Functions of dates and times."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.casts.text_casts import to_timestamps
from funke.engine.sql.functions.dates.time_arithmetic import plus_interval
from funke.engine.sql.functions.dates.time_strings import (
    finest_unit,
    format_pattern,
    parse_date,
    parse_formatted,
    parse_pattern,
    parse_timestamp,
    strftime_pattern,
)
from funke.engine.sql.functions.dates.time_units import (
    MILLIS,
    MONTHS,
    difference,
    part_of,
    part_of_days,
    part_of_months,
)
from funke.engine.sql.functions.dates.time_zones import zone_of
from funke.engine.sql.functions.distinct_values import ColumnFunction, OverDistinct
from funke.engine.sql.functions.evaluation import mapped_body
from funke.engine.sql.functions.function import Argument, BoundCall, CurrentTime, Function
from funke.engine.sql.functions.numbers.decimals import to_whole, wrapped
from funke.engine.sql.functions.values import from_values
from funke.engine.types.logical import (
    CHARACTER,
    LONGEST,
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    IntType,
    LocalZonedTimestampType,
    NullType,
    TimestampType,
    TimeType,
    VarCharType,
    YearMonthIntervalType,
    any_nullable,
    with_nullable,
)

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.columns.arrays import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["TIMES"]

_BIGINT, _INT, _STRING, _BOOLEAN = BigIntType(), IntType(), VarCharType(LONGEST), BooleanType()
_SECOND = "yyyy-MM-dd HH:mm:ss"
_UTC = datetime.UTC
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_MONTHS_BETWEEN = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH)
_MILLIS_BETWEEN = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, fractional_precision=3)
# Milliseconds of the first and the last instant that years of four digits have; NULL stands for others.
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999


def _local(data_type: DataType, call: BoundCall) -> Callable[[SqlValue], SqlValue]:
    """Return the conversion to a date and time of the session's zone, without a zone of its own."""
    if isinstance(data_type, LocalZonedTimestampType):
        return lambda timestamp: timestamp.astimezone(call.session.zone).replace(tzinfo=None)
    if isinstance(data_type, CHARACTER):
        return parse_timestamp
    return lambda value: value


def _part(call: BoundCall, unit: str) -> Callable[[SqlValue], int]:
    data_type = call.types[-1]
    if isinstance(data_type, YearMonthIntervalType):
        return lambda months: part_of_months(months, unit)
    if isinstance(data_type, DayTimeIntervalType):
        return lambda millis: part_of_days(millis, unit)
    # Seconds since 1970 do not depend on a zone: an instant is read as it is.
    if unit == "EPOCH":
        return lambda timestamp: part_of(
            timestamp.replace(tzinfo=None) if hasattr(timestamp, "tzinfo") else timestamp, unit
        )
    local = _local(data_type, call)
    return lambda timestamp: part_of(local(timestamp), unit)


def _extract_body(call: BoundCall) -> Body:
    part = _part(call, str(call.arguments[0].value).upper())
    return lambda _, timestamp: part(timestamp)


_PART_KERNELS: dict[str, Kernel] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOY": pc.day_of_year,
    # Flink counts from Sunday, which is 1.
    "DOW": lambda column: pc.day_of_week(column, count_from_zero=False, week_start=7),
    "HOUR": pc.hour,
    "MINUTE": pc.minute,
    "SECOND": pc.second,
}


def _part_kernel(call: BoundCall, unit: str) -> Kernel | None:
    data_type = call.types[-1]
    is_date = isinstance(data_type, DateType) and unit not in ("HOUR", "MINUTE", "SECOND")
    # Instants go one by one: their parts are those of the session's zone.
    if unit in _PART_KERNELS and (isinstance(data_type, TimestampType) or is_date):
        return _PART_KERNELS[unit]
    return None


def _extract_kernel(call: BoundCall) -> Kernel | None:
    kernel = _part_kernel(call, str(call.arguments[0].value).upper())
    return None if kernel is None else lambda _, column: kernel(column)


def _part_function(name: str, unit: str, purpose: str) -> Function:
    return Function(
        (name,),
        "datetime",
        _BIGINT,
        body_for=lambda call: _part(call, unit),
        kernel_for=lambda call: _part_kernel(call, unit),
        purpose=purpose,
    )


def _date_format_body(call: BoundCall) -> Body:
    is_text = isinstance(call.types[0], CHARACTER)
    # A text has to begin with yyyy-MM-dd HH:mm:ss; DATE_FORMAT of any other text is NULL.
    local = (lambda text: parse_pattern(text, _SECOND)) if is_text else _local(call.types[0], call)

    def date_format(value: SqlValue, pattern: str) -> str | None:
        timestamp = local(value)
        if timestamp is None:
            return None
        return format_pattern(
            datetime.datetime(timestamp.year, timestamp.month, timestamp.day)
            if type(timestamp) is datetime.date
            else timestamp,
            pattern,
        )

    return date_format


def _date_format_kernel(call: BoundCall) -> Kernel | None:
    """The kernel of DATE_FORMAT. Timestamps that look the same in the pattern are written once."""
    timestamp, pattern = call.types[0], call.arguments[1].value
    unit = finest_unit(pattern) if isinstance(pattern, str) else None
    if unit is None or not isinstance(timestamp, (TimestampType, LocalZonedTimestampType)):
        return None
    write = _timestamp_writer(call, pattern)
    if isinstance(timestamp, LocalZonedTimestampType) and unit in ("minute", "hour", "day"):
        # Zones have been some seconds off.
        unit = "second"
    written = OverDistinct(write)

    def date_format(timestamps: Datum, pattern: Datum) -> Datum:
        if isinstance(timestamps, pa.Scalar):
            return write([pa.repeat(timestamps, 1), pattern], 1)[0]
        return written([pc.floor_temporal(timestamps, unit=unit), pattern], len(timestamps))

    return date_format


def _timestamp_writer(call: BoundCall, pattern: str) -> ColumnFunction:
    strftime = strftime_pattern(pattern)
    if strftime is None or not isinstance(call.types[0], TimestampType):
        return mapped_body(call)
    # Arrow writes seconds with the digits of the type.
    arrow_type = pa.timestamp("s" if finest_unit(pattern) != "millisecond" else "ms")
    return lambda columns, _: pc.strftime(columns[0].cast(arrow_type, safe=False), strftime)


def _to_date(text: str, pattern: str | None = None) -> datetime.date | None:
    if pattern is None or pattern == "yyyy-MM-dd":
        return parse_date(text)
    timestamp = parse_pattern(text, pattern)
    return None if timestamp is None else timestamp.date()


def _to_timestamp(text: str, pattern: str | None = None) -> datetime.datetime | None:
    return parse_timestamp(text, 3) if pattern is None else parse_formatted(text, pattern)


def _to_timestamp_kernel(call: BoundCall) -> Kernel | None:
    """The kernel of TO_TIMESTAMP. Arrow reads texts of the usual form."""
    if len(call.arguments) > 1 and call.arguments[1].value != _SECOND:
        return None
    each, result = OverDistinct(mapped_body(call)), TimestampType(3)

    def to_timestamp(strings: Datum, *pattern: Datum) -> Datum:
        if isinstance(strings, pa.Scalar):
            return each([strings, *pattern], 1)[0]
        parsed = to_timestamps(strings, result) if _has_usual_form(strings, bool(pattern)) else None
        return each([strings, *pattern], len(strings)) if parsed is None else parsed

    return to_timestamp


def _has_usual_form(strings: pa.Array, is_exact: bool) -> bool:
    """Whether texts are as long as their pattern."""
    return not is_exact or not pc.any(pc.not_equal(pc.binary_length(strings), len("2024-01-02 03:04:05"))).as_py()


def _to_timestamp_ltz(*arguments: SqlValue) -> datetime.datetime | None:
    if isinstance(arguments[0], str):
        return _instant_of_text(*arguments)
    value, precision = arguments[0], arguments[1] if len(arguments) > 1 else 3
    # Flink's function has no other precisions.
    if precision not in (0, 3):
        raise ValueError(
            f"The precision value '{precision}' for function TO_TIMESTAMP_LTZ(numeric, precision) is unsupported, "
            "the supported value is '0' for second or '3' for millisecond."
        )
    scale = 1000 if precision == 0 else 1
    millis = to_whole(value * (Decimal(scale) if isinstance(value, Decimal) else scale))
    try:
        return _EPOCH + millis * _MILLISECOND
    except OverflowError:
        return None


def _instant_of_text(text: str, pattern: str | None = None, zone: str = "UTC") -> datetime.datetime | None:
    timestamp = _to_timestamp(text, pattern)
    if timestamp is None and pattern is None:
        raise ValueError(f"Text '{text}' could not be parsed")
    return None if timestamp is None else timestamp.replace(tzinfo=zone_of(zone)).astimezone(_UTC)


def _to_timestamp_ltz_kernel(call: BoundCall) -> Kernel | None:
    precision = call.arguments[1].value if len(call.arguments) > 1 else 3
    if not isinstance(call.types[0], (BigIntType, IntType)) or precision not in (0, 3):
        return None
    step = 1000 if precision == 0 else 1
    instants = pa.timestamp("ms", "UTC")

    def to_timestamp_ltz(numbers: Datum, *_: Any) -> Datum:
        wide = pc.cast(numbers, pa.int64())
        is_fit = pc.and_(pc.greater_equal(wide, _FIRST // step), pc.less_equal(wide, _LAST // step))
        return pc.cast(pc.if_else(is_fit, pc.multiply(wide, step), pa.scalar(None, pa.int64())), instants)

    return to_timestamp_ltz


def _from_unixtime_body(call: BoundCall) -> Body:
    zone = call.session.zone

    def from_unixtime(seconds: SqlValue, pattern: str = _SECOND) -> str | None:
        try:
            return format_pattern((_EPOCH + to_whole(seconds) * 1000 * _MILLISECOND).astimezone(zone), pattern)
        except OverflowError:
            return None

    return from_unixtime


def _unix_timestamp_body(call: BoundCall) -> Body:
    session = call.session

    def unix_timestamp(*arguments: str) -> int:
        if not arguments:
            return int(session.now(CurrentTime.OF_ROW).timestamp())
        timestamp = _parsed_prefix(*arguments)
        if timestamp is None:
            # Flink gives the least BIGINT for a text that cannot be read.
            return -(2**63)
        return int(timestamp.replace(tzinfo=session.zone, microsecond=0).timestamp())

    return unix_timestamp


def _parsed_prefix(text: str, pattern: str = _SECOND) -> datetime.datetime | None:
    return parse_pattern(text, pattern)


def _added_type(arguments: Sequence[Argument]) -> DataType | None:
    unit, timestamp = str(arguments[0].value).upper(), arguments[2].type
    if unit not in MILLIS and unit not in MONTHS:
        return None
    has_nulls = any_nullable(each.type for each in arguments[1:])
    # A date plus a part of a day is a timestamp.
    if isinstance(timestamp, DateType) and unit in ("SECOND", "MINUTE", "HOUR", "MILLISECOND"):
        return TimestampType(3, has_nulls)
    return with_nullable(timestamp, has_nulls)


def _timestampadd_body(call: BoundCall) -> Body:
    unit, timestamp = str(call.arguments[0].value).upper(), call.types[2]
    is_long = unit in MONTHS
    step = MONTHS[unit] if is_long else MILLIS[unit]
    resolution = DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND
    interval: DataType = YearMonthIntervalType(3) if is_long else DayTimeIntervalType(resolution)
    move = plus_interval(timestamp, interval, call)
    return lambda _, count, value: move(value, count * step)


def _timestampdiff_type(arguments: Sequence[Argument]) -> DataType | None:
    unit = str(arguments[0].value).upper()
    if unit not in MILLIS and unit not in MONTHS:
        return None
    return with_nullable(_INT, any_nullable(each.type for each in arguments[1:]))


def _timestampdiff_body(call: BoundCall) -> Body:
    unit = str(call.arguments[0].value).upper()
    first, second = (_local(each, call) for each in call.types[1:])
    return lambda _, start, end: wrapped(difference(unit, _in_millis(first(start)), _in_millis(second(end))), 32)


def _interval_between_type(arguments: Sequence[Argument]) -> DataType | None:
    """Of a kind with months, or in milliseconds, whichever units are named."""
    end, start, interval = arguments[0].type, arguments[1].type, arguments[2].value
    kinds = {type(each) for each in (end, start) if not isinstance(each, NullType)}
    if len(kinds) > 1 or (kinds == {TimeType} and isinstance(interval, YearMonthIntervalType)):
        return None
    interval_type = _MONTHS_BETWEEN if isinstance(interval, YearMonthIntervalType) else _MILLIS_BETWEEN
    return with_nullable(interval_type, any_nullable([end, start]))


def _interval_between_body(call: BoundCall) -> Body:
    unit = "MONTH" if isinstance(call.result, YearMonthIntervalType) else "MILLISECOND"
    last, first = (_local(each, call) for each in call.types[:2])
    return lambda end, start, _: difference(unit, _in_millis(first(start)), _in_millis(last(end)))


def _in_millis(timestamp: SqlValue) -> SqlValue:
    """The time cut to milliseconds, as Flink cuts it before it computes."""
    if not isinstance(timestamp, (datetime.datetime, datetime.time)):
        return timestamp
    return timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)


def _convert_tz(text: str, source: str, target: str) -> str | None:
    timestamp = parse_pattern(text, _SECOND)
    if timestamp is None:
        return None
    return format_pattern(timestamp.replace(tzinfo=zone_of(source)).astimezone(zone_of(target)), _SECOND)


def _overlaps_body(call: BoundCall) -> Body:
    first_span, second_span = _span(call, 0), _span(call, 2)

    def overlaps(first: SqlValue, first_end: SqlValue, second: SqlValue, second_end: SqlValue) -> bool | None:
        (a, b), (c, d) = first_span(first, first_end), second_span(second, second_end)
        # Three-valued: a test that is false decides, even if the other one is unknown.
        tests = [None if end is None or start is None else end >= start for end, start in ((b, c), (d, a))]
        return False if False in tests else None if None in tests else True

    return overlaps


def _span(call: BoundCall, index: int) -> Callable[[SqlValue, SqlValue], tuple[SqlValue, SqlValue]]:
    """Return a function that orders the ends of a span; if one is NULL the second counts as the earlier one."""
    start_type, end_type = call.types[index : index + 2]
    move = plus_interval(start_type, end_type, replace(call, result=start_type)) if _is_interval(end_type) else None

    def span(start: SqlValue, end: SqlValue) -> tuple[SqlValue, SqlValue]:
        if move is not None:
            end = None if start is None or end is None else move(start, end)
        is_in_order = start is not None and end is not None and start <= end
        return (start, end) if is_in_order else (end, start)

    return span


def _overlaps_type(arguments: Sequence[Argument]) -> DataType | None:
    types = [each.type for each in arguments]
    kinds = {type(each) for each in types if not _is_interval(each)}
    return with_nullable(_BOOLEAN, any_nullable(types)) if len(kinds) == 1 else None


def _is_interval(data_type: DataType) -> bool:
    return isinstance(data_type, (YearMonthIntervalType, DayTimeIntervalType))


def _now(
    names: str,
    result: DataType,
    of: Callable[[datetime.datetime], SqlValue],
    purpose: str,
    current_time: CurrentTime = CurrentTime.OF_QUERY,
) -> Function:
    """A function of the current time."""

    def body(call: BoundCall) -> Body:
        session = call.session

        def now() -> SqlValue:
            time = session.now(current_time)
            return of(time if isinstance(result, LocalZonedTimestampType) else time.astimezone(session.zone))

        return now

    def kernel(call: BoundCall) -> Kernel:
        now = body(call)
        # The rows of a batch come at the same time.
        return lambda: from_values([now()], result)[0]

    return Function(
        tuple(names.split("/")),
        "",
        result,
        body_for=body,
        kernel_for=kernel,
        current_time=current_time,
        purpose=purpose,
    )


TIMES: tuple[Function, ...] = (
    Function(
        ("extract",),
        "symbol, datetime/interval",
        _BIGINT,
        body_for=_extract_body,
        kernel_for=_extract_kernel,
        purpose="A part of a date, time or interval: YEAR, MONTH, DAY, HOUR, EPOCH …",
    ),
    _part_function("year", "YEAR", "The year."),
    _part_function("quarter", "QUARTER", "The quarter, 1 to 4."),
    _part_function("month", "MONTH", "The month, 1 to 12."),
    _part_function("week", "WEEK", "The week of the year, by ISO 8601."),
    _part_function("dayofyear", "DOY", "The day of the year, 1 to 366."),
    _part_function("dayofmonth", "DAY", "The day of the month, 1 to 31."),
    _part_function("dayofweek", "DOW", "The day of the week, 1 for Sunday to 7."),
    _part_function("hour", "HOUR", "The hour, 0 to 23."),
    _part_function("minute", "MINUTE", "The minute, 0 to 59."),
    _part_function("second", "SECOND", "The second, 0 to 59."),
    Function(
        ("date_format",),
        "timestamp/text/date, text",
        _STRING,
        body_for=_date_format_body,
        kernel_for=_date_format_kernel,
        may_give_null=True,
        purpose="The date and time in a Java pattern: yyyy-MM-dd HH:mm:ss.",
    ),
    Function(
        ("to_date",),
        "text, text?",
        DateType(),
        _to_date,
        may_give_null=True,
        purpose="The date of a text, in a pattern.",
    ),
    Function(
        ("to_timestamp",),
        "text, text?",
        TimestampType(3),
        _to_timestamp,
        kernel_for=_to_timestamp_kernel,
        may_give_null=True,
        purpose="The date and time of a text, in a pattern.",
    ),
    Function(
        ("to_timestamp_ltz",),
        "number, integer? | text, text?, text?",
        LocalZonedTimestampType(3),
        _to_timestamp_ltz,
        kernel_for=_to_timestamp_ltz_kernel,
        may_give_null=True,
        purpose="The instant of seconds (0) or milliseconds (3) since 1970, or of a text, in UTC or another zone.",
    ),
    Function(
        ("from_unixtime",),
        "number, text?",
        _STRING,
        body_for=_from_unixtime_body,
        may_give_null=True,
        purpose="Seconds since 1970 as a text in the session's zone.",
    ),
    Function(
        ("unix_timestamp",),
        "text?, text?",
        _BIGINT,
        body_for=_unix_timestamp_body,
        current_time=CurrentTime.OF_ROW,
        purpose="Seconds since 1970 of a text in the session's zone, or of now.",
    ),
    Function(
        ("timestampadd",),
        "symbol, integer, datetime",
        _added_type,
        body_for=_timestampadd_body,
        purpose="A date or time some units later.",
    ),
    Function(
        ("timestampdiff",),
        "symbol, datetime, datetime",
        _timestampdiff_type,
        body_for=_timestampdiff_body,
        purpose="How many whole units lie between two dates or times.",
    ),
    Function(
        ("interval between",),
        "datetime, datetime, symbol",
        _interval_between_type,
        body_for=_interval_between_body,
        purpose="`(end - start) DAY TO SECOND`, or MONTH …: the time between two dates or times as an interval.",
    ),
    Function(
        ("convert_tz",),
        "text, text, text",
        _STRING,
        _convert_tz,
        may_give_null=True,
        purpose="A date and time of one zone in another.",
    ),
    Function(
        ("overlaps",),
        "datetime, datetime/interval, datetime, datetime/interval",
        _overlaps_type,
        body_for=_overlaps_body,
        is_strict=False,
        purpose="Whether two spans of time meet.",
    ),
    _now("current_date", DateType(False), lambda timestamp: timestamp.date(), "The date in the session's zone."),
    _now(
        "current_time/localtime",
        TimeType(0, False),
        lambda timestamp: timestamp.time().replace(microsecond=0),
        "The time of day.",
    ),
    _now(
        "localtimestamp",
        TimestampType(3, False),
        lambda timestamp: timestamp.replace(tzinfo=None),
        "The date and time.",
    ),
    _now("current_timestamp/now", LocalZonedTimestampType(3, False), lambda timestamp: timestamp, "This instant."),
    _now(
        "current_row_timestamp",
        LocalZonedTimestampType(3, False),
        lambda timestamp: timestamp,
        "The instant at which a row is processed.",
        CurrentTime.OF_ROW,
    ),
    _now(
        "proctime",
        LocalZonedTimestampType(3, False),
        lambda timestamp: timestamp,
        "The processing time.",
        CurrentTime.OF_ROW,
    ),
)
