"""Which node a relation with windows runs as."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import Column, inputs_of
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.sql_plans import SmallTable, planned

COLUMNS = (
    Column("k", from_sql_text("STRING")),
    Column("ts", from_sql_text("TIMESTAMP(3)"), TimeAttribute.ROWTIME),
    Column("v", from_sql_text("INT")),
)
TABLE = SmallTable(COLUMNS, [("a", datetime.datetime(2024, 5, 1), 1)])
TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
SESSION = "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
GROUPS = "SELECT k, COUNT(*) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)"
EARLY = {"table.exec.emit.early-fire.enabled": "true", "table.exec.emit.early-fire.delay": "1 s"}


def nodes_of(text: str, **options: Any) -> list[str]:
    """The classes of a plan's nodes."""

    def walked(relation: Any) -> Iterator[str]:
        yield type(relation).__name__
        for each in inputs_of(relation):
            yield from walked(each)

    return list(walked(planned(text, {"t": TABLE}, **options)))


def first_of(windows: str, order: str) -> str:
    numbers = f"ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY {order}) AS n"
    return f"SELECT * FROM (SELECT *, {numbers} FROM {windows}) WHERE n = 1"


@pytest.mark.parametrize(
    ("text", "node"),
    [
        (f"SELECT * FROM {TUMBLE}", "WindowTableFunction"),
        (f"SELECT * FROM {SESSION}", "SessionWindowTableFunction"),
        (GROUPS, "WindowAggregate"),
        (first_of(TUMBLE, "v DESC"), "WindowRank"),
        (first_of(TUMBLE, "ts DESC"), "WindowDeduplicate"),
        ("SELECT SUM(v) OVER (ORDER BY ts) FROM t", "OverAggregate"),
        ("SELECT SUM(v) OVER (ORDER BY v) FROM t", "SortedOverAggregate"),
    ],
)
def test_nodes_of_streams(text: str, node: str) -> None:
    assert node in nodes_of(text)


def test_nodes_of_batches() -> None:
    text = "SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) FROM t"
    assert "BatchOverAggregate" in nodes_of(text, is_streaming=False)
    assert "SortedOverAggregate" in nodes_of(text)


def test_group_windows_fire_in_streams_alone() -> None:
    assert "GroupWindowAggregate" in nodes_of(GROUPS, settings=EARLY)
    assert "WindowAggregate" in nodes_of(GROUPS, is_streaming=False, settings=EARLY)
    of_functions = f"SELECT COUNT(*) FROM {TUMBLE} GROUP BY window_start, window_end"
    with pytest.raises(TableException, match="doesn't support early-fire and late-fire"):
        nodes_of(of_functions, settings=EARLY)
