"""Aggregates on batches give what their bodies give row by row."""

from __future__ import annotations

import datetime
import math
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.functions.aggregates.aggregate import AggregateCall, bind_aggregate
from funke.engine.sql.functions.aggregates.catalog import create_kernel, find_aggregate
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.functions.function import Argument
from funke.engine.sql.functions.numbers.decimals import EXACT
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.types.bitmap_bytes import from_numbers, stored
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text
from tests.harness.sql_calls import same

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "TINYINT": st.integers(-128, 127),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "DECIMAL(10, 2)": st.integers(-(10**10) + 1, 10**10 - 1).map(lambda value: Decimal(value).scaleb(-2, EXACT)),
    "DECIMAL(30, 5)": st.integers(-(10**30) + 1, 10**30 - 1).map(lambda value: Decimal(value).scaleb(-5, EXACT)),
    "STRING": st.text("aäb€\U0001f600", max_size=3),
    "BOOLEAN": st.booleans(),
    "DATE": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    "TIMESTAMP(3)": st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
        lambda timestamp: timestamp.replace(microsecond=0, fold=0)
    ),
    "BITMAP": st.sets(st.integers(-3, 3)).map(lambda numbers: stored(from_numbers(numbers))),
}
NUMBERS = ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(30, 5)")
CALLS = [
    *((name, each) for name in ("count", "min", "max") for each in VALUES if each != "BITMAP"),
    *((name, each) for name in ("sum", "sum0", "avg") for each in NUMBERS),
    *((f"bitmap_build{form}", each) for form in ("_agg", "_cardinality_agg") for each in ("TINYINT", "INT")),
    *((f"bitmap_{name}{form}", "BITMAP") for name in ("and", "or", "xor") for form in ("_agg", "_cardinality_agg")),
]


def call_of(name: str, type_text: str, **settings: Any) -> AggregateCall:
    function = find_aggregate(name)
    assert function is not None
    return bind_aggregate(function, [Argument(from_sql_text(type_text))], **settings)


def by_body(call: AggregateCall, groups: list[int], values: list[Any], mask: list[bool]) -> tuple[list[Any], Any]:
    """The results after each row, and the accumulators."""
    body = call.body
    accumulators = {group: body.create() for group in sorted(set(groups))}
    results = []
    for group, value, counts in zip(groups, values, mask):
        if counts:
            body.accumulate(accumulators[group], value)
        results.append(body.value(accumulators[group]))
    return results, [body.value(each) for each in accumulators.values()]


def rows_of(call: AggregateCall, groups: Any, values: list[Any], mask: Any, signs: Any = None) -> Any:
    """The rows in the order of their segments, and that order."""
    _, codes = np.unique(groups, return_inverse=True)
    order, segments = Segments.of_codes(codes, int(codes.max()) + 1)
    column = ArgumentColumn(from_values([values[index] for index in order], call.types[0]))
    kept = None if mask is None else np.array(mask)[order]
    return AggregateRows(segments, [column], None if signs is None else np.array(signs, np.int8)[order], kept), order


@settings(max_examples=60)
@given(st.sampled_from(CALLS), st.data())
def test_rows_of_two_batches(name_and_type: tuple[str, str], data: st.DataObject) -> None:
    name, type_text = name_and_type
    call = call_of(name, type_text)
    kernel = create_kernel(call)
    rows = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.none() | VALUES[type_text], st.booleans()), min_size=2, max_size=12)
    )
    groups, values, mask = (list(each) for each in zip(*rows))
    cut = data.draw(st.integers(1, len(rows) - 1))
    expected, final = by_body(call, groups, values, mask)
    model = {group: kernel.create(1) for group in set(groups)}
    folded = {group: kernel.create(1) for group in set(groups)}
    items: list[Any] = []
    for start, end in ((0, cut), (cut, len(rows))):
        present = sorted(set(groups[start:end]))
        batch, order = rows_of(call, groups[start:end], values[start:end], mask[start:end])
        before = tuple(map(np.concatenate, zip(*(model[group] for group in present))))
        after, running = kernel.running(before, batch)
        results: list[Any] = [None] * (end - start)
        for index, value in zip(order, to_values(running, call.result)):
            results[index] = value
        items += results
        total = kernel.accumulate(tuple(map(np.concatenate, zip(*(folded[group] for group in present)))), batch)
        for index, group in enumerate(present):
            model[group] = tuple(field[index : index + 1] for field in after)
            folded[group] = tuple(field[index : index + 1] for field in total)
    assert same(items, expected)
    everything = tuple(map(np.concatenate, zip(*(folded[group] for group in sorted(folded)))))
    assert same(to_values(kernel.values(everything), call.result), final)


@settings(max_examples=30)
@given(st.sampled_from([each for each in CALLS if each[1] not in ("FLOAT", "DOUBLE")]), st.data())
def test_merging_is_taking_in_everything(name_and_type: tuple[str, str], data: st.DataObject) -> None:
    name, type_text = name_and_type
    call = call_of(name, type_text)
    kernel = create_kernel(call)
    column = st.lists(st.none() | VALUES[type_text], min_size=1, max_size=5)
    left, right = data.draw(column), data.draw(column)
    parts = [
        kernel.accumulate(kernel.create(1), rows_of(call, [0] * len(each), each, None)[0]) for each in (left, right)
    ]
    merged = to_values(kernel.values(kernel.merge(*parts)), call.result)
    assert same(merged, by_body(call, [0] * len(left + right), left + right, [True] * len(left + right))[1])


@settings(max_examples=30)
@given(st.sampled_from(CALLS), st.data())
def test_rows_are_taken_back(name_and_type: tuple[str, str], data: st.DataObject) -> None:
    name, type_text = name_and_type
    call = replace(call_of(name, type_text), has_retractions=True)
    kernel, body = create_kernel(call, has_retractions=True), call.body
    is_float = type_text in ("FLOAT", "DOUBLE")
    value = st.integers(-1000, 1000).map(float) if is_float else VALUES[type_text]
    added = data.draw(st.lists(st.none() | value, min_size=1, max_size=6))
    removed = added[: data.draw(st.integers(0, len(added)))]
    signs = [1] * len(added) + [-1] * len(removed)
    accumulator = body.create()
    expected = []
    for sign, each in zip(signs, added + removed):
        (body.accumulate if sign > 0 else body.retract)(accumulator, each)
        expected.append(body.value(accumulator))
    rows, _ = rows_of(call, [0] * len(signs), added + removed, None, signs)
    _, running = kernel.running(kernel.create(1), rows)
    assert same(to_values(running, call.result), expected)


@pytest.mark.parametrize(("name", "choose"), [("min", min), ("max", max)])
@given(st.integers(0, 1 << 30), st.booleans())
@settings(max_examples=30)
def test_extremes_of_many_values_that_come_and_go(
    name: str, choose: Callable[..., float], seed: int, has_nan: bool
) -> None:
    chance = random.Random(seed)
    call = replace(call_of(name, "DOUBLE"), has_retractions=True)
    kernel = create_kernel(call, has_retractions=True)
    fields, present = kernel.create(1), []
    # What is retracted comes from elsewhere: equal, and not the same object.
    pool = [*map(float, range(100)), *([math.nan] if has_nan else [])]
    for _ in range(8):
        values, signs, expected = [], [], []
        for _ in range(60):
            is_added = not present or chance.random() < 0.6
            value = chance.choice(pool) if is_added else present.pop(chance.randrange(len(present)))
            if is_added:
                present.append(value)
            values.append(value)
            signs.append(1 if is_added else -1)
            expected.append(choose((each for each in present if not math.isnan(each)), default=None))
        rows, _ = rows_of(call, [0] * len(values), values, None, signs)
        fields, running = kernel.running(fields, rows)
        if not has_nan:
            assert to_values(running, call.result) == expected
        # State is written, and read by another attempt; as before, the values are in a plain dict there.
        written = pickle.dumps(fields[0].tolist())
        (counts,) = pickle.loads(written)
        assert type(counts) is dict and sum(counts.values()) == len(present)
        fields = (np.array([counts], object),)


@pytest.mark.parametrize(
    ("name", "argument", "result"),
    [
        ("count", "INT", "BIGINT NOT NULL"),
        ("sum", "TINYINT NOT NULL", "TINYINT NOT NULL"),
        ("sum", "DECIMAL(10, 2)", "DECIMAL(38, 2)"),
        ("sum0", "INT", "INT NOT NULL"),
        ("avg", "INT", "INT"),
        ("avg", "FLOAT", "FLOAT"),
        ("avg", "DECIMAL(10, 2)", "DECIMAL(38, 6)"),
        ("min", "STRING NOT NULL", "STRING NOT NULL"),
        ("max", "TIMESTAMP(3)", "TIMESTAMP(3)"),
    ],
)
def test_types_of_results(name: str, argument: str, result: str) -> None:
    assert to_sql_text(call_of(name, argument, may_be_empty=False).result) == result


def test_a_group_without_rows_may_give_null() -> None:
    assert to_sql_text(call_of("max", "INT NOT NULL", may_be_empty=True).result) == "INT"
    assert to_sql_text(call_of("count", "INT NOT NULL", may_be_empty=True).result) == "BIGINT NOT NULL"


def test_long_segments_are_added_in_order() -> None:
    numbers = np.array([0.1] * 200 + [1e16, 1.0, -1e16] * 10)
    segments = Segments(np.array([0, 3, 200]), len(numbers))
    running = segments.running(np.add, np.zeros(3), numbers)
    for start, end in ((0, 3), (3, 200), (200, 230)):
        total = 0.0
        for index in range(start, end):
            total += numbers[index]
            assert running[index] == total
