"""A kind of windows is one class: what SQL, EXPLAIN and savepoints say about it, and how its windows lie."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.windows.window_relations import WindowAggregation
from funke.engine.sql.plan.explain_text import PREFIX
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.window_kinds import (
    WINDOW_KINDS,
    CumulativeWindows,
    HoppingWindows,
    SessionWindows,
    SlicedWindows,
    TumblingWindows,
    Windows,
)
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.plan_nodes import meaning_of_node
from tests.harness.sql_plans import SmallTable, changes_from, planned

COLUMNS = (
    Column("ts", from_sql_text("TIMESTAMP(3)"), TimeAttribute.ROWTIME),
    Column("v", from_sql_text("INT")),
)
START = datetime.datetime(2024, 5, 1)
TABLE = SmallTable(COLUMNS, [(START + datetime.timedelta(seconds=each), each) for each in range(0, 30, 4)])


def counts_of(function: str) -> Any:
    """The plan of counts by window."""
    text = f"SELECT window_start, window_end, COUNT(*) AS n FROM TABLE({function}) GROUP BY window_start, window_end"
    return planned(text, {"t": TABLE})


def aggregation_in(relation: Any) -> WindowAggregation:
    return relation if isinstance(relation, WindowAggregation) else aggregation_in(relation.input)


@pytest.mark.parametrize(
    ("function", "explained", "state"),
    [
        (
            "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '90' SECOND, INTERVAL '30' SECOND)",
            "TUMBLE(time_col=[ts], size=[90 s], offset=[30 s])",
            "TUMBLE(event time t.ts, size 90000 ms, offset 30000 ms)",
        ),
        (
            "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
            "HOP(time_col=[ts], size=[1 h], slide=[1 min])",
            "HOP(event time t.ts, size 3600000 ms, slide 60000 ms)",
        ),
        (
            "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)",
            "CUMULATE(time_col=[ts], max_size=[1 d], step=[1 h])",
            "CUMULATE(event time t.ts, size 86400000 ms, slide 3600000 ms)",
        ),
        (
            "SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '9' SECOND)",
            "SESSION(time_col=[ts], gap=[9 s])",
            "SESSION(event time t.ts, size 9000 ms)",
        ),
    ],
)
def test_what_explain_and_savepoints_say(function: str, explained: str, state: str) -> None:
    aggregation = aggregation_in(counts_of(function))
    assert f"window=[{explained}]" in as_node(aggregation).title(PREFIX)
    assert ("windows", state) in meaning_of_node(aggregation).facts


@pytest.mark.parametrize(
    ("windows", "slices"),
    [
        # The slice of a time; the first and the last window that it belongs to; the start of the last.
        (TumblingWindows(10, offset_ms=3), (13, 13, 13, 3)),
        (HoppingWindows(10, 4), (8, 10, 14, 4)),
        (HoppingWindows(3, 7), (8, 10, 10, 7)),
        (CumulativeWindows(12, 4), (8, 8, 12, 0)),
    ],
)
def test_slices_and_their_windows(windows: SlicedWindows, slices: tuple[int, ...]) -> None:
    end = windows.slice_end(7)
    last = windows.last_window(end)
    assert (end, windows.first_window(end), last, windows.start_of(last)) == slices


def test_names_and_arguments() -> None:
    assert {name: kind.arguments() for name, kind in WINDOW_KINDS.items()} == {
        "tumble": ("data", "timecol", "size", "offset"),
        "hop": ("data", "timecol", "slide", "size", "offset"),
        "cumulate": ("data", "timecol", "step", "size", "offset"),
        "session": ("data", "timecol", "gap"),
    }
    with pytest.raises(SqlValidationError, match="HOP table function based aggregate requires slide to be positive"):
        HoppingWindows.of([0, 5])
    assert SessionWindows.of([5]) == SessionWindows(5)


@dataclass(frozen=True)
class HalfWindows(HoppingWindows):
    """Windows that begin whenever half of the one before has passed."""

    name = "halves"
    length_arguments = ("size",)
    length_names = ("size",)

    @classmethod
    def _of(cls, lengths_ms: Sequence[int], offset_ms: int) -> Windows:
        (size_ms,) = lengths_ms
        return cls(size_ms, size_ms // 2, offset_ms=offset_ms)


def test_a_new_kind_is_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOW_KINDS, HalfWindows.name, HalfWindows)
    hop = counts_of("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)")
    halves = counts_of("HALVES(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)")
    assert changes_from(halves, 3) == changes_from(hop, 3) != []
    assert "window=[HALVES(time_col=[ts], size=[10 s], slide=[5 s])]" in as_node(aggregation_in(halves)).title(PREFIX)
