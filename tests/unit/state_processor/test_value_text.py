"""Keys and values of any type have a text."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from funke.common import Row
from funke.engine.state_processor.value_text import to_value_text


@dataclass
class Point:
    x: int
    y: float


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("ann", "ann"),
        (3, "3"),
        (True, "true"),
        (1.5, "1.5"),
        ((1, "b", None), '[1, "b", null]'),
        (Row(name="ann", age=3), '{"name": "ann", "age": 3}'),
        (Row("ann", 3), '["ann", 3]'),
        ({1: ["ü"], "b": {}}, '{"1": ["ü"], "b": {}}'),
        ({3, 1}, "[1, 3]"),
        (b"ab", '"YWI="'),
        (Decimal("1.50"), '"1.50"'),
        (datetime.date(2024, 1, 2), '"2024-01-02"'),
        (datetime.datetime(2024, 1, 2, 3), '"2024-01-02T03:00:00"'),
        (Point(1, 2.0), '{"x": 1, "y": 2.0}'),
        (Opaque(), '"<opaque>"'),
    ],
)
def test_strings(value: Any, text: str | None) -> None:
    assert to_value_text(value) == text
