"""Expressions that Spark computes: each has the value that our own functions give, for random columns."""

from __future__ import annotations

import datetime
import itertools
import math
from dataclasses import replace
from decimal import Context, Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import TimestampNTZType, TimestampType

from funke.engine.sql.binding import expressions as bound
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction, symbol_of
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import Function
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.spark_plans.carried_columns import carried_schema, from_carried, to_carried
from funke.engine.sql.spark_plans.spark_columns import carried_input, written_output
from funke.engine.sql.spark_plans.spark_expressions import _TWINS, expression_twin
from funke.engine.types.logical.atomic_types import BooleanType, DecimalType
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import INTEGRAL
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text
from tests.harness.sql_calls import bound_call

pytestmark = pytest.mark.spark

NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 123456)
UTC = datetime.UTC
MANY_YEARS = datetime.datetime(9000, 1, 1) - datetime.datetime(1, 1, 1)
# By type: values at its edges, and those that other types have too.
EDGES: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [0, 1, -1, 5, 127, -128],
    "SMALLINT": [0, 1, -1, 5, 128, 32767, -32768],
    "INT": [0, 1, -1, 5, 65536, 2**31 - 1, -(2**31)],
    "BIGINT": [0, 1, -1, 5, 2**31, 2**32 - 1, -(2**32), 2**53 + 1, 2**63 - 1, -(2**63)],
    "DECIMAL(10, 2)": [Decimal("0.00"), Decimal("5.00"), Decimal("-0.01"), Decimal("99999999.99")],
    "DECIMAL(38, 18)": [
        Decimal(5),
        Decimal("-0.000000000000000001"),
        Decimal("99999999999999999999.999999999999999999"),
    ],
    "STRING": ["", "a", "A", "a ", "ab", "5", "ß", "é", "€", "\uffff", "😀", "\x00", "TRUE"],
    "VARCHAR(3)": ["", "a", "ab", "😀", "abc"],
    "CHAR(2)": ["ab", "a ", "ß5"],
    "BYTES": [b"", b"\x00", b"\x7f", b"\x80", b"\xff\x00"],
    "DATE": [datetime.date(1, 1, 1), datetime.date(1582, 10, 10), datetime.date(1970, 1, 1), NOON.date()],
    "TIME(3)": [datetime.time(0), datetime.time(23, 59, 59, 999000)],
    "TIMESTAMP(0)": [NOON.replace(microsecond=0), datetime.datetime(1900, 1, 1)],
    "TIMESTAMP(3)": [NOON.replace(microsecond=123000), datetime.datetime(1, 1, 1), NOON.replace(microsecond=0)],
    "TIMESTAMP(9)": [NOON, datetime.datetime(1970, 1, 1)],
    "TIMESTAMP_LTZ(3)": [NOON.replace(microsecond=0, tzinfo=UTC), datetime.datetime(1969, 12, 31, 23, tzinfo=UTC)],
    "FLOAT": [0.0, -0.0, 1.5, math.inf, math.nan, 2.0**-149],
    "DOUBLE": [0.0, -0.0, 0.1, -math.inf, math.nan, 1e300, 5e-324],
    "ARRAY<INT>": [[], [1, None]],
}
TARGETS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 18)", "STRING", "BOOLEAN")
KINDS: dict[str, tuple[type[DataType], ...]] = {
    **dict.fromkeys("+-*", INTEGRAL),
    **dict.fromkeys(("and", "or", "not", "is true", "is false", "is not true", "is not false"), (BooleanType,)),
    **dict.fromkeys(("is unknown", "is not unknown"), (BooleanType,)),
}
ROWS = 60
COLUMNS = [
    Column(f"{name} {number}", from_sql_text(name if number < 2 else f"{name} NOT NULL"))
    for name in EDGES
    for number in range(3)
]


def random_value(random: Random, data_type: DataType) -> Any:
    name = to_sql_text(data_type).removesuffix(" NOT NULL")
    if data_type._nullable and random.random() < 0.2:
        return None
    if isinstance(data_type, DecimalType) and random.random() < 0.5:
        digits = random.randrange(1, data_type.precision + 1)
        number = random.randrange(-(10**digits) + 1, 10**digits)
        return Decimal(number).scaleb(-data_type.scale, Context(prec=38))
    bits = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}.get(name)
    if bits is not None and random.random() < 0.5:
        return random.getrandbits(bits) - 2 ** (bits - 1)
    return random.choice(EDGES[name])


def constant(random: Random) -> BoundConstant:
    data_type = from_sql_text(random.choice([name for name in EDGES if "<" not in name]))
    return BoundConstant(data_type, random_value(random, data_type))


def calls(random: Random, pool: list[BoundExpression], function: Function) -> BoundFunction | None:
    """A call of a function with expressions that are there already, if its types allow that and it has a twin."""
    count = {"not": 1, "case": random.choice((3, 5)), "if": 3, "in": random.choice((2, 4)), "not in": 3}
    kinds = KINDS.get(function.name, (DataType,))
    first = random.choice([each for each in pool if isinstance(each.type, kinds)])
    # Those of the same type more often than chance would have it.
    alike = [each for each in pool if type(each.type) is type(first.type)]
    arguments = [first]
    while len(arguments) < count.get(function.name, 3 if "between" in function.name else 2):
        arguments.append(constant(random) if random.random() < 0.25 else random.choice(random.choice((alike, pool))))
    if function.name in ("case", "if"):
        conditions = [each for each in pool if isinstance(each.type, BooleanType)]
        arguments = [random.choice(conditions) if index % 2 == 0 else each for index, each in enumerate(arguments)]
        arguments[-1] = arguments[1]
    if function.name in ("cast", "try_cast"):
        arguments = [first, symbol_of(from_sql_text(random.choice(TARGETS)))]
    if function.name.startswith("is ") and "distinct" not in function.name:
        arguments = arguments[:1]
    if function.name == "-" and random.random() < 0.3:
        arguments = arguments[:1]
    call = bound_call(function.name, [each.as_argument() for each in arguments])
    return None if call is None else BoundFunction(call.result, call, tuple(arguments))


def expressions(random: Random, columns: list[Any]) -> list[BoundExpression]:
    """Some calls of each function in the table, of columns, constants and each other."""
    pool: list[BoundExpression] = [BoundColumn(each.type, index, each.name) for index, each in enumerate(COLUMNS)]
    results: list[BoundExpression] = []
    for several in (3, 2):
        # The second time of calls, too.
        pool += results
        for name in sorted(_TWINS):
            function_calls = (calls(random, pool, FUNCTIONS[name]) for _ in range(300))
            twins = (each for each in function_calls if each is not None and expression_twin(each, columns) is not None)
            some = list(itertools.islice(twins, several))
            assert some, name
            results += some
    return results


@pytest.mark.parametrize("seed", [9354])
def test_spark_gives_the_same_values(spark: Any, seed: int) -> None:
    random = Random(seed)
    arrays = [from_values([random_value(random, each.type) for _ in range(ROWS)], each.type) for each in COLUMNS]
    data = pa.RecordBatch.from_arrays(arrays, schema=schema_of(COLUMNS))
    carried = to_carried(data, COLUMNS, carried_schema(COLUMNS))
    frame = spark.createDataFrame(pa.Table.from_batches([carried]))
    inputs = [frame[name] for name in carried.schema.names]
    asked = expressions(random, inputs)
    results = [Column(f"e{index}", each.type) for index, each in enumerate(asked)]
    twins = [expression_twin(each, inputs).alias(f"c{index}") for index, each in enumerate(asked)]  # type: ignore[union-attr]
    (result,) = frame.select(*twins).toArrow().combine_chunks().to_batches()
    assert result.schema.types == carried_schema(results).types
    for column, each in zip(from_carried(result, results), asked):
        expected = bound.column_of(each)(data)
        expected = pa.repeat(expected, ROWS) if isinstance(expected, pa.Scalar) else expected
        for row, (mine, other) in enumerate(zip(to_values(expected, each.type), to_values(column, each.type))):
            # The text of a number tells zeros apart, and NaN is like itself.
            assert repr(mine) == repr(other), f"{each}: Spark has {other!r} for {data.slice(row, 1).to_pylist()}"


def test_timestamps_become_sparks_and_come_back(spark: Any) -> None:
    random = Random(7)
    names = ("TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)")
    columns = [Column(name, from_sql_text(name)) for name in names]
    # Such as there are none of in New York, or two.
    odd = [
        datetime.datetime(2024, 3, 10, 2, 30),
        datetime.datetime(2024, 11, 3, 1, 30),
        datetime.datetime(1883, 11, 18),
    ]
    timestamps = [*odd, *(datetime.datetime(1, 1, 1) + random.random() * MANY_YEARS for _ in range(200)), None]
    arrays = [pa.array(timestamps, to_column_type(each.type), safe=False) for each in columns]
    data = pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))
    carried = to_carried(data, columns, carried_schema(columns))
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.createDataFrame(pa.Table.from_batches([carried]))
        kinds = [TimestampType() if "LTZ" in each.name else TimestampNTZType() for each in columns]
        results = [written_output(frame[f"c{index}"], each.type, kinds[index]) for index, each in enumerate(columns)]
        written = frame.select(*(each.alias(f"w{index}") for index, each in enumerate(results) if each is not None))
        assert len(written.columns) == len(columns)
        back = [carried_input(written[f"w{index}"], kinds[index], each.type) for index, each in enumerate(columns)]
        again = written.select(*(each.alias(f"c{index}") for index, each in enumerate(back) if each is not None))
        assert again.toArrow().to_pylist() == carried.to_pylist()
        # What Spark has is what Arrow would have made of it.
        result = written.toArrow().combine_chunks()
        assert result.column(2).to_pylist() == data.column(2).to_pylist()
        assert result.column(4).cast(pa.timestamp("us", "UTC")).to_pylist() == data.column(4).to_pylist()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_functions_of_users_have_no_twins_whatever_their_names() -> None:
    own = Function(("coalesce",), "any...", BooleanType(), lambda *values: True, is_strict=False)
    call = bound_call("coalesce", [BoundConstant(BooleanType(), None).as_argument()])
    assert call is not None
    mine = BoundFunction(BooleanType(), replace(call, function=own), (BoundConstant(BooleanType(), None),))
    assert expression_twin(mine, []) is None
