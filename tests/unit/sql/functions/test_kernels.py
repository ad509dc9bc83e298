"""Every kernel gives what the function's body gives, for random arguments of all types that it takes."""

from __future__ import annotations

import datetime
import itertools
import string
from decimal import Context, Decimal
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.errors import FunkeError
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.evaluation import column_function, mapped_body
from funke.engine.sql.functions.function import Argument, BoundCall, Form, SymbolType, constant, symbol
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.types.bitmap_bytes import from_numbers, stored
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.sql_calls import bound_call, same

# Types that stand for each kind of parameter.
SAMPLES: dict[str, list[str]] = {
    "boolean": ["BOOLEAN", "BOOLEAN NOT NULL"],
    "text": ["STRING", "VARCHAR(5)", "STRING NOT NULL"],
    "bytes": ["BYTES"],
    "bitmap": ["BITMAP"],
    "number": ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 18)"],
    "integer": ["TINYINT", "INT", "BIGINT"],
    "decimal": ["DECIMAL(10, 2)"],
    "float": ["FLOAT", "DOUBLE"],
    "date": ["DATE"],
    "time": ["TIME(3)"],
    "timestamp": ["TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)"],
    "datetime": ["DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"],
    "interval": ["INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH", "INTERVAL DAY"],
    "array": ["ARRAY<INT>"],
    "map": ["MAP<STRING, INT>"],
    "multiset": ["MULTISET<INT>"],
    "row": ["ROW<`a` INT>"],
    "any": ["INT", "STRING", "DOUBLE", "BOOLEAN", "DECIMAL(10, 2)", "TIMESTAMP(3)", "BIGINT", "ARRAY<INT>", "NULL"],
}
WORDS = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "BOTH", "LEADING", "TRAILING"]
TARGETS = ["STRING", "VARCHAR(3)", "INT", "TINYINT", "DOUBLE", "FLOAT", "DECIMAL(12, 3)", "TIMESTAMP(6)", "DATE"]
PATTERNS = ["(a|^)b([^c]*)", "a+", "(a)?b", "[0-9]{1,2}(.)", r"\s(\w+)", "(?:a|é)+?(b*)x?", r"€|(\d)", ".*", "b$"]
# Arguments that kernels want to be constants, by their places.
CONSTANTS: dict[str, dict[int, list[Any]]] = {
    "like": {1: ["a%", "_", "%a_%", "", "a%b", "100"]},
    "not like": {1: ["a%", "%9"]},
    "split_index": {1: ["a", " ", "ab"], 2: [0, 1, 3]},
    "get": {1: [0, "a"]},
    "substring": {1: [1, 2, 9], 2: [0, 1, 4]},
    "replace": {1: ["a", " ", "ab", "€"], 2: ["", "x", "$1"]},
    "regexp": {1: PATTERNS},
    "regexp_extract": {1: PATTERNS, 2: [0, 1, 2]},
    "regexp_replace": {1: PATTERNS, 2: ["", "-", r"$1\1"]},
    "date_format": {1: ["yyyy-MM-dd", "HH", "dd.MM.yyyy", "ss", "HH:mm:ss.SSS", "SSS", "n", "hh a 100%'%m'", "D yy"]},
}
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def values_of(type_text: str) -> st.SearchStrategy[Any]:
    name = type_text.removesuffix(" NOT NULL")
    some = not_null_values(name)
    return some if type_text.endswith("NOT NULL") else st.one_of(st.none(), some)


def not_null_values(name: str) -> st.SearchStrategy[Any]:
    if name in BITS:
        half = 1 << (BITS[name] - 1)
        return st.one_of(st.integers(-5, 5), st.sampled_from([-half, half - 1]), st.integers(-half, half - 1))
    kind, _, size = name.partition("(")
    if kind == "DECIMAL":
        precision, scale = (int(each) for each in size.rstrip(")").split(","))
        whole = st.one_of(st.integers(-500, 500), st.integers(-(10**precision) + 1, 10**precision - 1))
        return whole.map(lambda number: Decimal(number).scaleb(-scale, Context(prec=precision)))
    if kind in ("STRING", "VARCHAR"):
        longest = int(size.rstrip(")")) if size else 12
        return st.text(alphabet=string.ascii_letters + " 019%_.ßé€😀", max_size=longest)
    if kind in ("TIMESTAMP", "TIMESTAMP_LTZ", "TIME"):
        return times(kind, 10 ** (6 - int(size.rstrip(")"))))
    return PLAIN[name]


def times(kind: str, step: int) -> st.SearchStrategy[Any]:
    def cut(timestamp: Any) -> Any:
        return timestamp.replace(microsecond=timestamp.microsecond // step * step)

    if kind == "TIME":
        return st.times().map(cut)
    zones = st.just(datetime.UTC) if kind == "TIMESTAMP_LTZ" else st.none()
    timestamps = st.datetimes(datetime.datetime(1600, 1, 1), datetime.datetime(2400, 1, 1))
    return st.builds(lambda timestamp, zone: cut(timestamp).replace(tzinfo=zone), timestamps, zones)


PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "NULL": st.none(),
    "BOOLEAN": st.booleans(),
    "BYTES": st.binary(max_size=5),
    "BITMAP": st.sets(st.integers(-3, 3)).map(lambda numbers: stored(from_numbers(numbers))),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "DATE": st.dates(datetime.date(1600, 1, 1), datetime.date(2400, 1, 1)),
    "INTERVAL DAY TO SECOND": st.integers(-(10**11), 10**11),
    "INTERVAL DAY": st.integers(-1000, 1000).map(lambda days: days * 86_400_000),
    "INTERVAL YEAR TO MONTH": st.integers(-500, 500),
    "ARRAY<INT>": st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=3),
    "MAP<STRING, INT>": st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.integers(-3, 3))),
    "MULTISET<INT>": st.dictionaries(st.integers(-3, 3), st.integers(1, 3)),
    "ROW<`a` INT>": st.tuples(st.one_of(st.none(), st.integers(-3, 3))),
}


def signatures(form: Form) -> list[tuple[str, ...]]:
    """Every way to fill a form with sample types; words and types among the arguments are marked."""
    lengths = {len(form.parameters)}
    if any(mark == "?" for _, mark in form.parameters):
        lengths.add(len([mark for _, mark in form.parameters if mark != "?"]))
    results: list[tuple[str, ...]] = []
    for length in sorted(lengths):
        choices = []
        for parameter, _ in form.parameters[:length]:
            names = [sample for kind in parameter.text.split("/") for sample in SAMPLES.get(kind, [])]
            choices.append([f"!{each}" for each in [*WORDS, *TARGETS]] if parameter.text == "symbol" else names)
        results.extend(itertools.product(*choices))
    if form.parameters and form.parameters[-1][1] == "...":
        results.extend([(*each, each[-1]) for each in results])
    return results


def to_argument(text: str) -> Argument:
    if text.startswith("!"):
        return symbol(from_sql_text(text[1:]) if text[1:] in TARGETS else text[1:])
    return Argument(from_sql_text(text))


@cache
def calls_with_kernels(name: str) -> list[tuple[tuple[str, ...], BoundCall]]:
    calls = []
    for form in FUNCTIONS[name].alternatives:
        for signature in signatures(form):
            call = call_or_none(name, signature)
            if call is not None and call.kernel() is not None:
                calls.append((signature, call))
    # Enough to meet every type; all would take minutes.
    return Random(name).sample(calls, min(len(calls), 80))


def call_or_none(name: str, signature: tuple[str, ...]) -> BoundCall | None:
    choices, random = CONSTANTS.get(name, {}), Random(str(signature))
    arguments = [to_argument(each) for each in signature]
    for index in choices:
        if index < len(arguments):
            chosen = random.choice(choices[index])
            arguments[index] = constant(from_sql_text("STRING" if isinstance(chosen, str) else "INT"), chosen)
    try:
        return bound_call(name, arguments)
    except (AttributeError, KeyError):
        # A word where a type is wanted, or the other way round.
        return None


# IN has a kernel for constants alone; it has a test of its own.
WITH_CONSTANTS = ("in", "not in")
KERNELS = sorted(
    name
    for name, function in FUNCTIONS.items()
    if function.kernel_for
    and function.is_deterministic
    and function.current_time is None
    and function.name == name
    and name not in WITH_CONSTANTS
)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=20, derandomize=True)
@given(data=st.data())
def test_kernel_equals_body(name: str, data: st.DataObject) -> None:
    signature, call = data.draw(st.sampled_from(calls_with_kernels(name)))
    length = data.draw(st.integers(1, 4))
    columns = [column_of(each, argument, length, data) for each, argument in zip(signature, call.arguments)]
    times = data.draw(st.sampled_from([1, 20]))
    columns = [pa.concat_arrays([each] * times) if isinstance(each, pa.Array) else each for each in columns]
    actual, expected = (outcome(make(call), columns, length * times, call) for make in (column_function, mapped_body))
    assert same(actual, expected), f"kernel {actual}, body {expected}"


def column_of(text: str, argument: Argument, length: int, data: st.DataObject) -> Any:
    if isinstance(argument.type, SymbolType):
        return argument.value
    if argument.is_constant:
        return from_values([argument.value], argument.type)[0]
    values = data.draw(st.lists(values_of(text), min_size=length, max_size=length), label=text)
    column = from_values(values, argument.type)
    return column[0] if data.draw(st.integers(0, 5)) == 0 else column


def outcome(evaluate: Any, columns: list[Any], length: int, call: BoundCall) -> Any:
    try:
        return to_values(evaluate(columns, length), call.result)
    except (ArithmeticError, FunkeError) as problem:
        return type(problem)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("abs", "12345678901234567890.123456789012345678"), ("-", "-12345678901234567890.123456789012345678")],
)
def test_decimals_keep_all_their_digits(name: str, expected: str) -> None:
    data_type = from_sql_text("DECIMAL(38, 18)")
    call = bound_call(name, [Argument(data_type)])
    assert call is not None
    column = from_values([Decimal("12345678901234567890.123456789012345678")], data_type)
    for make in (column_function, mapped_body):
        assert outcome(make(call), [column], 1, call) == [Decimal(expected)]


def test_nan_is_nowhere_between() -> None:
    types = [from_sql_text(each) for each in ("DOUBLE", "BIGINT", "BIGINT")]
    call = bound_call("not between", [Argument(each) for each in types])
    assert call is not None
    columns = [from_values([each], data_type) for each, data_type in zip([float("nan"), None, 0], types)]
    for make in (column_function, mapped_body):
        assert outcome(make(call), columns, 1, call) == [True]


@pytest.mark.parametrize("name", WITH_CONSTANTS)
@settings(max_examples=20, derandomize=True)
@given(data=st.data())
def test_in_constants(name: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(["INT", "STRING", "TIMESTAMP(3)", "DECIMAL(10, 2)"]))
    members = data.draw(st.lists(values_of(f"{text} NOT NULL"), min_size=1, max_size=3))
    column_type = from_sql_text(text)
    call = bound_call(name, [Argument(column_type), *(constant(column_type.not_null(), each) for each in members)])
    assert call is not None and call.kernel() is not None
    values = data.draw(st.lists(st.one_of(values_of(text), st.sampled_from(members)), min_size=1, max_size=4))
    columns = [from_values(values, column_type), *(from_values([each], column_type)[0] for each in members)]
    expected = outcome(mapped_body(call), columns, len(values), call)
    assert same(outcome(column_function(call), columns, len(values), call), expected)
