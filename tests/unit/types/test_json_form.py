"""Frozen values go to JSON and come back the same; what JSON does not know becomes text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from funke.engine.types.json_form import from_json, to_json


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Leaf:
    number: int
    text: str | None = None


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    colour: Colour
    pair: tuple[str, int] = ("", 0)
    by_number: dict[int, Leaf] = field(default_factory=dict)
    since: dict[Colour, int] = field(default_factory=dict)
    best: Leaf | None = None
    anything: dict[str, Any] = field(default_factory=dict)


TREE = Tree(
    (Leaf(1), Leaf(2, "two")),
    Colour.BLUE,
    ("a", 3),
    {7: Leaf(7)},
    {Colour.RED: 5},
    Leaf(9),
    {"list": [1, {"x": None}], "float": 1.5},
)


def test_there_and_back() -> None:
    assert from_json(Tree, json.loads(json.dumps(to_json(TREE)))) == TREE


def test_what_another_version_wrote_is_read() -> None:
    written = {"leaves": [{"number": 1, "weight": 3}], "colour": "RED", "later": True}
    assert from_json(Tree, written) == Tree((Leaf(1),), Colour.RED)


class Odd:
    def __str__(self) -> str:
        raise RuntimeError("not shown")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        (Colour, str(Colour)),
        ({1, 2} - {2}, "{1}"),
        (b"x", "b'x'"),
        (Odd(), "<Odd>"),
        ("x" * 2000, "x" * 2000),
        ([Colour.RED], ["RED"]),
    ],
)
def test_what_json_does_not_know_is_reported_in_words(value: Any, written: Any) -> None:
    assert to_json(value) == written
    json.dumps(to_json(value), allow_nan=False)
