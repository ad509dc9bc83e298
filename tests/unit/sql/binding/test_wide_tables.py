"""Queries over a thousand columns, and with a thousand aggregates."""

from __future__ import annotations

import pytest

from funke.engine.types.logical.data_type import DataType
from tests.harness.sql_changelogs import RunningQuery, bound_query

WIDTH = 1000
COLUMNS = {f"c{index}": "BIGINT" for index in range(WIDTH)}


def test_a_thousand_columns() -> None:
    items = ", ".join(f"c{index} + {index}" for index in range(WIDTH))
    query = RunningQuery(bound_query(f"SELECT {items} FROM t", **COLUMNS))
    changes = query.feed([("+I", tuple(range(WIDTH)))])
    assert changes == [("+I", tuple(2 * index for index in range(WIDTH)))]


def test_a_thousand_aggregates() -> None:
    items = ", ".join(f"SUM(c{index})" for index in range(WIDTH))
    query = RunningQuery(bound_query(f"SELECT {items} FROM t", **COLUMNS))
    assert query.feed([("+I", tuple(range(WIDTH)))] * 2)[-1] == ("+U", tuple(2 * index for index in range(WIDTH)))


def test_what_is_compared_grows_with_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not with its square: a query of a thousand aggregates would take seconds to plan."""
    counts = {}
    compare = DataType.__eq__
    for width in (50, 200):
        comparisons: list[None] = []

        def counting(one: DataType, other: object, seen: list[None] = comparisons) -> bool:
            seen.append(None)
            return compare(one, other)

        items = ", ".join(f"SUM(c{index})" for index in range(width))
        with monkeypatch.context() as patch:
            patch.setattr(DataType, "__eq__", counting)
            bound_query(f"SELECT {items} FROM t", **COLUMNS)
        counts[width] = len(comparisons)
    assert counts[200] < 5 * counts[50] + 5000, counts
