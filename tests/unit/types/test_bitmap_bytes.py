"""Sets of numbers as bytes: equal sets have equal bytes, whichever way they were made."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from funke.engine.types.bitmap_bytes import from_numbers, opened, shown_text, stored, to_numbers

INTEGERS = st.integers(-(2**31), 2**31 - 1)
# Of few numbers beside each other, so that lists, runs and lists that are as long as runs occur.
NUMBERS = st.sets(st.integers(0, 12) | st.integers(65530, 65545) | st.integers(-20, -1) | INTEGERS, max_size=25)


@given(NUMBERS, NUMBERS)
def test_equal_sets_have_equal_bytes(numbers: set[int], others: set[int]) -> None:
    plain = stored(from_numbers(numbers))
    more = from_numbers([*numbers, *others])
    less = more - from_numbers(others - numbers)
    assert stored(less) == plain
    one_by_one = BitMap()
    for each in sorted(numbers, reverse=True):
        one_by_one.add(each & 0xFFFFFFFF)
    assert stored(one_by_one) == plain
    # As one who only knows runs would write them.
    runs = BitMap.deserialize(more.serialize()) & from_numbers(numbers)
    assert stored(runs) == plain == stored(opened(plain))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 9000)), max_size=4), st.sets(st.integers(0, 200_000)))
def test_many_numbers(ranges: list[tuple[int, int]], others: set[int]) -> None:
    grown = BitMap()
    for start, length in ranges:
        grown.add_range(start, start + length)
    grown |= BitMap(others)
    assert stored(grown.copy()) == stored(BitMap(list(grown), optimize=False))
    assert opened(stored(grown)) == grown


def test_runs_that_are_as_long_as_a_list() -> None:
    # {1, 2, 3} as one run.
    as_run = bytes.fromhex("3b3000000100000200010001000200")
    assert stored(opened(as_run)) == stored(from_numbers([1, 2, 3]))
    assert stored(opened(as_run)).hex() == "3a300000010000000000020010000000010002000300"
    assert stored(from_numbers([1, 2, 3, 4])).hex() == "3b3000000100000300010001000300"


@given(NUMBERS)
def test_numbers_without_signs_come_first(numbers: set[int]) -> None:
    results = to_numbers(from_numbers([*numbers, None]))
    assert results == [*sorted(each for each in numbers if each >= 0), *sorted(each for each in numbers if each < 0)]
    text_of_bits = shown_text(stored(from_numbers(numbers)))
    assert text_of_bits == "{" + ",".join(str(each & 0xFFFFFFFF) for each in results) + "}"


def test_a_long_text_ends_with_dots() -> None:
    full = BitMap()
    full.add_range(0, 6 << 16)
    text = shown_text(stored(full))
    # Recorded with PyFlink 2.3.
    assert (len(text), text[-30:]) == (524293, "8,89229,89230,89231,89232,...}")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"invalid",
        struct.pack("<I", 12346),
        # Two numbers, the greater one first.
        struct.pack("<IIHHIHH", 12346, 1, 0, 1, 16, 5, 3),
    ],
)
def test_bytes_that_are_none(data: bytes) -> None:
    with pytest.raises(ValueError, match="bitmap"):
        opened(data)
