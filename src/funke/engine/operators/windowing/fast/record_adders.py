"""The loops that add records to windows: the hot path, 0.2 to 0.4 µs per record with the user's function.

A window's contents are a plain dict from key to what is kept. Records come roughly in order of time, so a loop stays
with the dicts of the last record as long as times lie within the same piece of time, and asks `find` for others only
then. Each way of combining has a loop for one window per record and a loop for several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.operators.record_copy import ATOMS, detached

__all__ = ["Adder", "adder_for", "append_and_put"]

Table = dict[Any, Any]
# time -> (first time, time after the last, tables) of the piece of time in which all records have the same windows
Find = Callable[[int], tuple[int, int, list[Table]]]
Adder = Callable[[Find, list[Any], list[Any], list[int]], None]


def adder_for(reduce: Callable[[Any, Any], Any] | None, aggregate: Any, is_single: bool) -> Adder:
    """The loop for a way of combining; `is_single` says that a record has one window, or none."""
    if reduce is not None:
        return _reduce_into_one(reduce) if is_single else _reduce_into_many(reduce)
    if aggregate is not None:
        return _aggregate_into_one(aggregate) if is_single else _aggregate_into_many(aggregate)
    return _append


def _reduce_into_one(reduce: Callable[[Any, Any], Any]) -> Adder:
    def add(find: Find, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        start = end = 0
        table: Table = {}
        for key, value, timestamp in zip(keys, values, timestamps):
            if not start <= timestamp < end:
                start, end, tables = find(timestamp)
                table = tables[0] if tables else {}
                current_of = table.get
            current = current_of(key)
            table[key] = value if current is None else reduce(current, value)

    return add


def _reduce_into_many(reduce: Callable[[Any, Any], Any]) -> Adder:
    def add(find: Find, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        start = end = 0
        tables: list[Table] = []
        for key, value, timestamp in zip(keys, values, timestamps):
            if not start <= timestamp < end:
                start, end, tables = find(timestamp)
            is_atom = type(value) in ATOMS
            for table in tables:
                current = table.get(key)
                if current is None:
                    # A function that changes its first argument must not change the other windows.
                    table[key] = value if is_atom else detached(value)
                else:
                    table[key] = reduce(current, value)

    return add


def _aggregate_into_one(function: Any) -> Adder:
    create, add_value = function.create_accumulator, function.add

    def add(find: Find, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        start = end = 0
        table: Table = {}
        for key, value, timestamp in zip(keys, values, timestamps):
            if not start <= timestamp < end:
                start, end, tables = find(timestamp)
                table = tables[0] if tables else {}
                current_of = table.get
            current = current_of(key)
            if value is None:  # as in PyFlink's aggregating state, None clears
                table.pop(key, None)
            else:
                table[key] = add_value(value, create() if current is None else current)

    return add


def _aggregate_into_many(function: Any) -> Adder:
    create, add_value = function.create_accumulator, function.add

    def add(find: Find, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        start = end = 0
        tables: list[Table] = []
        for key, value, timestamp in zip(keys, values, timestamps):
            if not start <= timestamp < end:
                start, end, tables = find(timestamp)
            for table in tables:
                current = table.get(key)
                if value is None:
                    table.pop(key, None)
                else:
                    table[key] = add_value(value, create() if current is None else current)

    return add


def _append(find: Find, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
    start = end = 0
    tables: list[Table] = []
    for key, value, timestamp in zip(keys, values, timestamps):
        if not start <= timestamp < end:
            start, end, tables = find(timestamp)
        for table in tables:
            elements = table.get(key)
            if elements is None:
                table[key] = [value]
            else:
                elements.append(value)


def append_and_put(find: Find, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
    """The loop that keeps elements in tables outside memory, in which nothing can be changed in place."""
    start = end = 0
    tables: list[Table] = []
    for key, value, timestamp in zip(keys, values, timestamps):
        if not start <= timestamp < end:
            start, end, tables = find(timestamp)
        for table in tables:
            elements = table.get(key)
            if elements is None:
                elements = []
            elements.append(value)
            table[key] = elements
