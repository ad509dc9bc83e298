"""Types that columns have, each with a strategy for its values as they stand in rows."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as some

from funke.engine.types import Instant, Row, Types
from funke.engine.types.information.char_type import CharTypeInfo
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.information.time_types import LocalTimeTypeInfo, ZonedTimestampTypeInfo
from funke.engine.types.information.type_information import TypeInformation

UTC = datetime.UTC


def integers(bits: int) -> some.SearchStrategy[int]:
    limit = 1 << (bits - 1)
    interesting = [0, 1, -1, -2, limit - 1, -limit, *([2**61 - 1, 2**61 - 2, 2**61, 1 - 2**61] if bits == 64 else [])]
    return some.sampled_from(interesting) | some.integers(-limit, limit - 1)


def decimals(whole: int, scale: int) -> some.SearchStrategy[Decimal]:
    return some.integers(1 - 10**whole, 10**whole - 1).map(lambda number: Decimal(f"{number}e-{scale}"))


TIMESTAMPS = some.datetimes() | some.sampled_from([datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)])
INSTANTS = some.builds(
    Instant, some.integers(-(10**9), 10**10), some.integers(0, 999_999).map(lambda micros: micros * 1000)
)

# A name for the test, the type, its values without None.
TYPED: dict[str, tuple[TypeInformation, some.SearchStrategy[Any]]] = {
    "byte": (Types.BYTE(), integers(8)),
    "short": (Types.SHORT(), integers(16)),
    "int": (Types.INT(), integers(32)),
    "long": (Types.LONG(), integers(64)),
    "boolean": (Types.BOOLEAN(), some.booleans()),
    "float": (Types.FLOAT(), some.floats(width=32)),
    "double": (Types.DOUBLE(), some.floats() | some.integers(-(2**53), 2**53).map(float)),
    "string": (Types.STRING(), some.text(some.characters(exclude_categories=["Cs"]))),
    "char": (CharTypeInfo(3), some.text("abc", min_size=3, max_size=3)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), some.binary()),
    "big_int": (Types.BIG_INT(), some.integers(-(10**37), 10**37)),
    "big_dec": (Types.BIG_DEC(), decimals(38, 18)),
    "decimal": (DecimalTypeInfo(10, 2), decimals(10, 2)),
    "date": (Types.SQL_DATE(), some.dates()),
    "time": (
        Types.SQL_TIME(),
        some.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
    ),
    "timestamp": (Types.SQL_TIMESTAMP(), TIMESTAMPS),
    "instant": (Types.INSTANT(), INSTANTS),
    "zoned": (ZonedTimestampTypeInfo(), some.datetimes(datetime.datetime(2, 1, 1), timezones=some.just(UTC))),
    "local_date": (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), some.dates()),
    "local_time": (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), some.times()),
    "local_date_time": (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), TIMESTAMPS),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), some.tuples(some.integers(), some.text())),
    "list": (Types.LIST(Types.LONG()), some.lists(integers(64) | some.none())),
    "map": (Types.MAP(Types.STRING(), Types.LONG()), some.dictionaries(some.text("ab"), integers(64))),
    "row": (
        Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]),
        some.builds(lambda a, b: Row(a=a, b=b), integers(64), some.text("xy") | some.none()),
    ),
    "tuple": (Types.TUPLE([Types.LONG(), Types.STRING()]), some.tuples(integers(64), some.text("xy"))),
}


def optional_values(name: str) -> some.SearchStrategy[list[Any]]:
    """Lists of values of a type, some of which are missing."""
    return some.lists(some.none() | TYPED[name][1], max_size=12)
