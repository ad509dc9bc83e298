"""sum, min, max, min_by and max_by of a keyed stream, by PyFlink's rules."""

from __future__ import annotations

from functools import reduce
from typing import Any, get_args

import cloudpickle
import pytest

from funke.common import Row
from funke.engine.errors import TypeMismatchError
from funke.engine.operators.keyed.aggregations import FieldAggregation, Kind, projection


def aggregated(kind: Any, position: int | str, values: list[Any]) -> Any:
    return reduce(FieldAggregation(kind, position).reduce, values)


TUPLES = [("a", 3, "first"), ("a", 1, "second"), ("a", 1, "third"), ("a", 5, "fourth")]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("sum", ("a", 10, "first")),
        ("min", ("a", 1, "first")),
        ("max", ("a", 5, "first")),
        ("min_by", ("a", 1, "second")),
        ("max_by", ("a", 5, "fourth")),
    ],
)
def test_one_field_of_a_tuple(kind: str, expected: tuple[Any, ...]) -> None:
    assert aggregated(kind, 1, TUPLES) == expected


@pytest.mark.parametrize(("kind", "expected"), [("sum", 9), ("min", 1), ("max", 5), ("min_by", 1), ("max_by", 5)])
def test_elements_without_fields_are_taken_as_a_whole(kind: str, expected: int) -> None:
    assert aggregated(kind, 0, [3, 5, 1]) == expected


def test_a_field_of_a_row_by_name() -> None:
    rows = [Row(k="a", v=1), Row(k="a", v=2), Row(k="a", v=0)]
    assert aggregated("sum", "v", rows) == Row(k="a", v=3)
    assert aggregated("min_by", "v", rows) == Row(k="a", v=0)


def test_what_was_reduced_before_is_not_changed() -> None:
    first, second = Row(k="a", v=1), Row(k="a", v=2)
    assert aggregated("sum", "v", [first, second]) == Row(k="a", v=3)
    assert first == Row(k="a", v=1)
    numbers = [1, 2]
    assert aggregated("max", 1, [numbers, [1, 9]]) == [1, 9]
    assert numbers == [1, 2]


def test_a_position_other_than_0_needs_fields() -> None:
    with pytest.raises(TypeMismatchError, match=r"sum\(1\) needs elements with fields, got int"):
        aggregated("sum", 1, [1, 2])


def test_a_position_is_a_number_or_a_name() -> None:
    with pytest.raises(TypeError, match="got float"):
        FieldAggregation("sum", 1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", get_args(Kind))
def test_they_can_be_sent_to_workers_also_when_used_before(kind: Any) -> None:
    function = FieldAggregation(kind, 1)
    function.reduce(*TUPLES[:2])
    copied = cloudpickle.loads(cloudpickle.dumps(function))
    assert copied.reduce(*TUPLES[:2]) == function.reduce(*TUPLES[:2])


def test_projection_gives_tuples() -> None:
    assert projection((2, 0))((1, 2, 3)) == (3, 1)
    assert projection((1,))((1, 2, 3)) == (2,)
