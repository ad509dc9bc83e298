"""Which record a failure tells, and what of it is hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from funke.engine.operators.operator import OperatorFailure
from funke.engine.runtime.monitoring.failed_records import FailedRecords, RecordDisplay
from funke.engine.types.operator_location import NOWHERE
from funke.engine.types.row import Row


class Card(NamedTuple):
    number: str
    owner: str


@dataclass
class Order:
    id: int
    card: Card
    api_token: str = "abc"


class Parse:
    def process_element(self, value: Any, context: Any) -> None:
        self.deeper(7)

    def deeper(self, number: int) -> None:
        raise KeyError(number)


def text_of_record(value: Any, *masked: str, function: Callable[[Any], None] | None = None) -> str:
    """What a failure of a function with a value tells."""
    records = FailedRecords()
    records.display = RecordDisplay(masked)
    try:
        (function or (lambda each: Parse().process_element(each, None)))(value)
    except KeyError as error:
        return records.text_of(error)
    raise AssertionError("it does not fail")


ORDER = Order(4, Card("4111", "Ada"))


@pytest.mark.parametrize(
    ("value", "masked", "expected"),
    [
        (Row(id=4, card="4111"), (), "Row(id=4, card='4111')"),
        (Row(id=4, card="4111"), ("Card",), "Row(id=4, card=******)"),
        (Row(4, "4111"), (), "<Row(4, '4111')>"),
        (Row(4, "4111"), ("card",), "******"),
        ({"id": 4, "password": "x"}, (), "dict(id=4, password=******)"),
        (ORDER, ("number",), "Order(id=4, card=Card(number=******, owner='Ada'), api_token=******)"),
        ("4111,Ada", ("card",), "******"),
        ("4111,Ada", (), "'4111,Ada'"),
        (17, ("card",), "17"),
    ],
)
def test_what_is_reported(value: Any, masked: tuple[str, ...], expected: str) -> None:
    assert text_of_record(value, *masked, function=lambda record: Parse().deeper(record)) == expected


def test_it_is_the_argument_of_the_outermost_function_of_the_user() -> None:
    assert text_of_record("a row") == "'a row'"


def test_a_record_that_cannot_be_shown_fails_nothing() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    assert text_of_record(Odd()) == ""
    assert len(text_of_record("x" * 10_000)) == 2_000


def test_nothing_is_reported_unless_it_is_allowed() -> None:
    assert FailedRecords().text_of(OperatorFailure(NOWHERE)) == ""
