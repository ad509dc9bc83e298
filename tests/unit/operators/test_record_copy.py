"""What was sent does not change any more, and nothing is copied that needs no copy."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pytest

from funke.engine.operators.record_copy import ResultGuard, are_plain, copies_of, detached, keeps_nothing
from funke.engine.types import Row, RowKind


@dataclass
class Point:
    x: int
    tags: list[str]


@pytest.mark.parametrize("value", [1, "a", 1.5, None, b"x", (1, "a"), (), True])
def test_what_cannot_change_is_not_copied(value: object) -> None:
    assert detached(value) is value


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        {"a": [1]},
        {1, 2},
        Row("a", 1),
        Row(name="a", points=[1]),
        Point(1, ["x"]),
        ("a", [1]),
        (("a", {"b": 1}), 2),
        bytearray(b"x"),
    ],
)
def test_what_somebody_else_holds_is_copied_in_depth(value: object) -> None:
    owner = [value]
    copied = detached(value)
    assert copied == value and copied is not value
    assert owner[0] is value


def test_the_parts_of_a_copy_are_copies() -> None:
    inner = [1]
    for value in ([inner], {"k": inner}, (inner, 2), Row(inner), Row(k=inner), Point(1, inner)):
        copied: Any = detached(value)
        inner.append(2)
        assert copied != value
        inner.pop()
        assert copied == value


def test_new_rows_lists_and_dicts_of_atoms_are_not_copied() -> None:
    seen = []
    for result in (make() for make in (lambda: [1, 2], lambda: {"a": 1}, lambda: Row("a", 1))):
        before = id(result)
        seen.append(id(detached(result)) == before)
    assert seen == [True, True, True]


class Pair(NamedTuple):
    left: str
    right: Any


@dataclass(frozen=True)
class Frozen:
    x: int


class Colour(Enum):
    RED = 1


def test_named_tuples_enums_and_frozen_sets_of_atoms_are_not_copied() -> None:
    for value in (Pair("a", 1), Colour.RED, frozenset({1})):
        assert detached(value) is value
    pair = Pair("a", [1])
    copied = detached(pair)
    assert copied == pair and copied.right is not pair.right and type(copied) is Pair


def test_objects_are_copied_by_their_fields_and_new_ones_are_not() -> None:
    frozen = Frozen(1)
    assert detached(frozen) == frozen
    point = Point(1, ["a"])
    copied = detached(point)
    assert copied == point and copied.tags is not point.tags
    for result in (Frozen(number) for number in range(1)):
        before = id(result)
        assert id(detached(result)) == before


def test_an_object_that_refers_to_itself_can_be_copied() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    copied = detached(loop)
    assert copied[0] == 1 and copied is not loop


def test_a_row_keeps_its_names_and_kind() -> None:
    row = Row.of_kind(RowKind.DELETE, a=[1], b=2)
    owner = [row]
    copied = detached(row)
    assert (repr(copied), copied.get_row_kind(), copied.as_dict()) == (repr(row), RowKind.DELETE, {"a": [1], "b": 2})
    assert owner[0] is not copied


def test_what_cannot_be_copied_stays_as_it_is() -> None:
    lock = threading.Lock()
    assert detached(lock) is lock


def test_a_second_receiver_gets_records_of_its_own() -> None:
    plain = [1, ("a", 2)]
    assert copies_of(plain) is plain
    records = [[1], {"a": 1}, 2]
    copied = copies_of(records)
    assert copied == records
    assert all(mine is not theirs for mine, theirs in zip(copied[:2], records[:2], strict=True))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, "a", None], True),
        ([(1, "a"), (2, None)], True),
        ([1, (1, "a")], True),
        ([], True),
        ([(1, [2])], False),
        ([[1]], False),
        ([1, Row(1)], False),
        ([Point(1, [])], False),
    ],
)
def test_plain_values(values: list[object], expected: bool) -> None:
    assert are_plain(values) is expected


CACHE: dict[int, int] = {}


def test_functions_that_cannot_keep_anything() -> None:
    kept: list[int] = []
    assert keeps_nothing(lambda x: x + 1)
    assert keeps_nothing(str)
    assert keeps_nothing(len)
    assert not keeps_nothing(lambda x: kept.append(x + 1))
    assert not keeps_nothing(lambda x: CACHE)
    assert not keeps_nothing(lambda x, into=kept: into)
    assert not keeps_nothing(kept.append)


def test_the_guard_trusts_an_operator_after_many_plain_results() -> None:
    guard = ResultGuard()
    guard.check([1] * (ResultGuard.TRIAL - 1))
    assert guard.is_careful
    guard.check([])
    guard.check([(1, "a")])
    assert not guard.is_careful
    guard.check([1, 2])
    assert not guard.is_careful
    guard.check([1, [2]])
    assert guard.is_careful
    guard.check([1] * 5000)
    assert guard.is_careful


def test_the_guard_never_trusts_an_operator_with_side_outputs() -> None:
    guard = ResultGuard(has_side_outputs=True)
    guard.check([1] * 5000)
    assert guard.is_careful
