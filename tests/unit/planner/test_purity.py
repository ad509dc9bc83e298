"""Which functions may run in an ingest task: those that neither keep nor read anything that changes."""

# ruff: noqa: PLW0108, RUF012, SIM115 - these functions are examined, not called
from __future__ import annotations

import functools
import json
import logging
import math
import operator
import re
import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from json import loads
from typing import Any

import pytest

from funke.engine.planner.purity import is_pure
from funke.engine.types.functions import MapFunction
from funke.engine.types.row import Row

LIMIT = 10
PATTERN = re.compile(r"\d+")
TABLE = {"a": 1}
SEEN: list[Any] = []
log = logging.getLogger(__name__)


class Event:
    total = 0
    kinds: list[str] = []

    def __init__(self, value: Any) -> None:
        self.value = value


class AddOne(MapFunction):
    def map(self, value: Any) -> Any:
        return value + 1


def helper(value: Any) -> Any:
    return value * LIMIT


def recursive(value: int) -> int:
    return 1 if value < 2 else value * recursive(value - 1)


def appending(value: Any) -> Any:
    SEEN.append(value)
    return value


def with_global_write(value: Any) -> Any:
    global LIMIT
    LIMIT = value
    return value


def with_attribute_write(value: Any) -> Any:
    Event.total += 1
    return value


def with_attribute_of_itself(value: Any) -> Any:
    with_attribute_of_itself.calls = 1  # type: ignore[attr-defined]
    return value


def words(line: str) -> Any:
    for word in line.split():
        yield word, 1


def with_default(value: Any, factor: int = 2) -> Any:
    return value * factor


def with_list_default(value: Any, seen: list[Any] = []) -> Any:  # noqa: B006
    return [*seen, value]


def with_keyword_list_default(value: Any, *, seen: list[Any] = []) -> Any:  # noqa: B006
    return [*seen, value]


def over_list() -> Callable[[Any], Any]:
    kept: list[Any] = []
    return lambda value: kept.append(value)


def over_number() -> Callable[[Any], Any]:
    factor = 3
    return lambda value: value * factor


def over_rebound_number() -> Callable[[Any], Any]:
    count = 0

    def counting(value: Any) -> Any:
        nonlocal count
        count += 1
        return count

    return counting


def over_instance() -> Callable[[Any], Any]:
    event = Event(1)
    return lambda value: event.value + value


PURE = {
    "lambda": lambda value: value + 1,
    "constant of the module": lambda value: value < LIMIT,
    "other function": lambda value: helper(value),
    "recursion": recursive,
    "generator": words,
    "builtin function": len,
    "builtin type": str,
    "method of a builtin type": str.upper,
    "module of Python": lambda value: math.sqrt(value),
    "function of a module of Python": lambda value: json.loads(value),
    "imported function of Python": lambda value: loads(value),
    "compiled pattern": lambda value: PATTERN.findall(value),
    "class of the program": lambda value: Event(value),
    "row": lambda value: Row(value, 1),
    "comprehension": lambda value: [item + LIMIT for item in value],
    "closure over a number": over_number(),
    "default": with_default,
    "partial": functools.partial(with_default, factor=3),
    "itemgetter": operator.itemgetter(1),
    "decimal and date": lambda value: (Decimal(value), datetime(2020, 1, 1)),
    "method of a constant": "-".join,
}

IMPURE = {
    "function object": AddOne(),
    "bound method": AddOne().map,
    "callable instance": functools.lru_cache(helper),
    "closure over a list": over_list(),
    "closure over an instance": over_instance(),
    "closure that rebinds": over_rebound_number(),
    "list of the module": appending,
    "dict of the module": lambda value: TABLE[value],
    "writes a global": with_global_write,
    "writes an attribute of a class": with_attribute_write,
    "writes an attribute of itself": with_attribute_of_itself,
    "reads a list of a class": lambda value: Event.kinds.append(value),
    "list default": with_list_default,
    "keyword list default": with_keyword_list_default,
    "calls such a function": lambda value: appending(value),
    "prints": lambda value: print(value),
    "print itself": print,
    "partial over print": functools.partial(print, "x"),
    "opens a file": lambda value: open(value),
    "standard output": lambda value: sys.stdout.write(value),
    "logger": lambda value: log.info(value),
    "logging": lambda value: logging.info(value),
    "partial over a list": functools.partial(with_default, SEEN),
    "method of a list": SEEN.append,
    "not a function": 5,
}


@pytest.mark.parametrize("name", PURE)
def test_pure(name: str) -> None:
    assert is_pure(PURE[name])


@pytest.mark.parametrize("name", IMPURE)
def test_not_pure(name: str) -> None:
    assert not is_pure(IMPURE[name])
