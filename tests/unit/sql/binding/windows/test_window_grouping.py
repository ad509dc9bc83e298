"""Groups that are windows, as SQL writes them in three ways, and OVER: what they mean, and what is rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from funke.engine.errors import SqlValidationError, UnsupportedFeatureError
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import Aggregation, Calculation, Relation
from funke.engine.sql.binding.windows.window_relations import OverAggregation, WindowAggregation, WindowTable
from funke.engine.sql.plan.explain_text import PREFIX
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.sql.window_kinds import HoppingWindows, SessionWindows, TumblingWindows, Windows
from funke.engine.types.logical.sql_text import to_sql_text
from tests.unit.sql.binding.windows.test_window_tables import bound

TUMBLE = "TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
SESSION = "TABLE(SESSION(TABLE clicks PARTITION BY id, DESCRIPTOR(ts), INTERVAL '5' SECOND))"


def node_of(relation: Relation, kind: type[Any]) -> Any:
    """The first node of a kind on the way down."""
    node: Any = relation
    while not isinstance(node, kind):
        node = node.input
    return node


def columns_of(relation: Relation) -> list[tuple[str, str, TimeAttribute | None]]:
    return [(column.name, to_sql_text(column.type), column.time) for column in relation.columns]


@pytest.mark.parametrize(
    ("text", "windows", "keys"),
    [
        (f"SELECT window_start, COUNT(*) FROM {TUMBLE} GROUP BY window_start, window_end", TumblingWindows(5_000), 0),
        (
            f"SELECT id, SUM(id + 1) AS s FROM {TUMBLE} WHERE id > 1 GROUP BY id, window_end, window_start",
            TumblingWindows(5_000),
            1,
        ),
        (
            f"SELECT t, window_end, COUNT(*) FROM (SELECT id * 2 AS t, * FROM {TUMBLE}) "
            "GROUP BY window_start, window_end, t HAVING COUNT(*) > 1",
            TumblingWindows(5_000),
            1,
        ),
        (f"SELECT COUNT(*) FROM {SESSION} GROUP BY id, window_start, window_end", SessionWindows(5_000), 1),
        (
            f"SELECT id, COUNT(*) FROM {TUMBLE} GROUP BY window_start, window_end, GROUPING SETS ((id), ())",
            TumblingWindows(5_000),
            2,
        ),
        ("SELECT COUNT(*) FROM clicks GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)", TumblingWindows(5_000), 0),
        (
            "SELECT id, COUNT(*) FROM clicks WHERE id > 1 "
            "GROUP BY id, HOP(ts, INTERVAL '2' SECOND, INTERVAL '5' SECOND)",
            HoppingWindows(5_000, 2_000),
            1,
        ),
        ("SELECT COUNT(*) FROM clicks GROUP BY id + 1, SESSION(pt, INTERVAL '5' SECOND)", SessionWindows(5_000), 1),
    ],
)
def test_groups_are_windows(text: str, windows: Windows, keys: int) -> None:
    node = node_of(bound(text), WindowAggregation)
    assert (node.windows, len(node.keys)) == (replace(windows, is_table_function="TABLE(" in text), keys)
    assert node.input.columns[node.time.column].time is not None


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT window_start, COUNT(*) FROM {TUMBLE} GROUP BY window_start",
        f"SELECT window_start, COUNT(*) FROM {SESSION} GROUP BY window_start, window_end",
    ],
)
def test_other_groups_are_ordinary_ones(text: str) -> None:
    assert isinstance(node_of(bound(text), Aggregation).input.input, WindowTable)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) FROM (SELECT * FROM {TUMBLE} WHERE window_end > ts) GROUP BY window_start, window_end",
        f"SELECT SUM(n) FROM (SELECT window_start, window_end, id, COUNT(*) AS n FROM {TUMBLE} "
        "GROUP BY window_start, window_end, id) GROUP BY window_start, window_end",
    ],
)
def test_rows_that_carry_their_windows(text: str) -> None:
    node = node_of(bound(text), WindowAggregation)
    assert node.windows is None
    assert [node.input.columns[each].name.split("$")[0] for each in node.window_columns] == [
        "window_start",
        "window_end",
    ]


def test_the_time_of_a_window_is_time_again() -> None:
    inner = (
        f"SELECT window_time AS t, id, COUNT(*) AS n FROM {TUMBLE} GROUP BY window_start, window_end, window_time, id"
    )
    assert columns_of(bound(inner)) == [
        ("t", "TIMESTAMP(3) NOT NULL", TimeAttribute.ROWTIME),
        ("id", "INT", None),
        ("n", "BIGINT NOT NULL", None),
    ]
    outer = bound(
        f"SELECT window_end, SUM(n) FROM TABLE(TUMBLE(({inner}), DESCRIPTOR(t), INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end"
    )
    assert node_of(outer, WindowAggregation).windows == TumblingWindows(60_000, is_table_function=True)


def test_the_functions_of_group_windows() -> None:
    relation = bound(
        "SELECT TUMBLE_START(ts, INTERVAL '5' SECOND), TUMBLE_END(ts, INTERVAL '5' SECOND) AS e, "
        "TUMBLE_ROWTIME(ts, INTERVAL '5' SECOND) AS r, TUMBLE_PROCTIME(ts, INTERVAL '5' SECOND) AS p, id "
        "FROM clicks GROUP BY TUMBLE(ts, INTERVAL '5' SECOND), id "
        "HAVING TUMBLE_END(ts, INTERVAL '5' SECOND) IS NOT NULL"
    )
    assert columns_of(relation) == [
        ("EXPR$0", "TIMESTAMP(3) NOT NULL", None),
        ("e", "TIMESTAMP(3) NOT NULL", None),
        ("r", "TIMESTAMP(3)", TimeAttribute.ROWTIME),
        ("p", "TIMESTAMP_LTZ(3) NOT NULL", TimeAttribute.PROCTIME),
        ("id", "INT", None),
    ]


def test_the_clock_itself_is_the_time_of_a_window() -> None:
    relation = bound(
        "SELECT id, COUNT(*) AS n, HOP_END(PROCTIME(), INTERVAL '1' SECOND, INTERVAL '5' SECOND) AS e FROM clicks "
        "WHERE id > 1 GROUP BY id, HOP(PROCTIME(), INTERVAL '1' SECOND, INTERVAL '5' SECOND) "
        "HAVING HOP_START(PROCTIME(), INTERVAL '1' SECOND, INTERVAL '5' SECOND) IS NOT NULL"
    )
    assert [name for name, _, _ in columns_of(relation)] == ["id", "n", "e"]
    aggregation = node_of(relation, WindowAggregation)
    assert aggregation.windows == HoppingWindows(5_000, 1_000)
    assert not aggregation.time.is_event_time


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT TUMBLE_START(ts, INTERVAL '6' SECOND) FROM clicks GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)",
            "Call to auxiliary group function 'TUMBLE_START' must have matching call to group function '.TUMBLE'",
        ),
        (
            "SELECT TUMBLE(ts, INTERVAL '5' SECOND) FROM clicks GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)",
            "Group function '.TUMBLE' can only appear in GROUP BY clause",
        ),
        (
            "SELECT TUMBLE_ROWTIME(pt, INTERVAL '5' SECOND) FROM clicks GROUP BY TUMBLE(pt, INTERVAL '5' SECOND)",
            "A proctime window cannot provide a rowtime attribute.",
        ),
        (
            "SELECT COUNT(*) FROM clicks GROUP BY TUMBLE(plain, INTERVAL '5' SECOND)",
            r"Window aggregate can only be defined over a time attribute column, but TIMESTAMP\(3\) encountered.",
        ),
        (
            "SELECT COUNT(*) FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '5' SECOND)) "
            "GROUP BY window_start, window_end",
            "requires size must be an integral multiple of slide, but got size 5000 ms and slide 2000 ms",
        ),
        ("SELECT SUM(id) OVER (ORDER BY ts DESC) FROM clicks", "The window can only be ordered in ASCENDING mode."),
        (
            "SELECT SUM(id) OVER (PARTITION BY id) FROM clicks",
            "The window can only be ordered by a single time column.",
        ),
        (
            "SELECT SUM(id) OVER (ORDER BY plain RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM clicks",
            "Non-time attribute sort is not supported for bounded OVER window.",
        ),
        ("SELECT SUM(id) OVER w FROM clicks", "Window 'w' not found"),
    ],
)
def test_what_is_rejected(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        bound(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT SUM(id) OVER (ORDER BY ts), COUNT(*) OVER (ORDER BY ts ROWS 1 PRECEDING) FROM clicks",
            "All aggregates must be computed on the same window",
        ),
        ("SELECT LEAD(id) OVER (ORDER BY ts) FROM clicks", "LEAD Function is not supported in stream mode."),
        (
            "SELECT SUM(id) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM clicks",
            "OVER RANGE FOLLOWING windows are not supported yet.",
        ),
        ("SELECT LAG(id) OVER (ORDER BY plain) FROM clicks", "LAG by an order that is not that of time"),
    ],
)
def test_what_streams_do_not_have(text: str, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        bound(text)


@pytest.mark.parametrize(
    ("frame", "is_rows", "preceding"),
    [
        ("", False, None),
        ("ROWS BETWEEN 3 PRECEDING AND CURRENT ROW", True, 3),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", True, None),
        ("RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW", False, 2_000),
    ],
)
def test_frames_of_over(frame: str, is_rows: bool, preceding: int | None) -> None:
    relation = bound(
        f"SELECT ts, 1 + SUM(id * 2) OVER w AS s FROM clicks WINDOW w AS (PARTITION BY id ORDER BY ts {frame})"
    )
    node = node_of(relation, OverAggregation)
    assert (node.is_rows, node.preceding, node.partition_by, node.time.column) == (is_rows, preceding, (0,), 1)
    assert columns_of(relation) == [("ts", "TIMESTAMP(3)", TimeAttribute.ROWTIME), ("s", "INT", None)]
    assert isinstance(relation, Calculation)


def test_only_what_is_looked_at_is_computed_and_carried() -> None:
    over = node_of(without_unused(lower(bound("SELECT SUM(id) OVER (ORDER BY ts) FROM clicks"))), OverAggregation)
    assert [column.name for column in over.input.columns] == ["id", "ts"]
    text = f"SELECT COUNT(*) AS n, SUM(id) AS s FROM {TUMBLE} GROUP BY window_start, window_end"
    windows = node_of(without_unused(lower(bound(f"SELECT n FROM ({text})"))), WindowAggregation)
    assert len(windows.aggregates) == 1
    assert [column.time for column in windows.input.columns] == [TimeAttribute.ROWTIME]
    table = node_of(without_unused(lower(bound(f"SELECT window_end FROM {SESSION}"))), WindowTable)
    assert [column.name for column in table.columns] == [
        *(column.name for column in table.input.columns),
        "window_start",
        "window_end",
        "window_time",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            f"SELECT id, COUNT(*) FROM {TUMBLE} GROUP BY window_start, window_end, id",
            WindowAggregation,
            "WindowAggregate(groupBy=[id], window=[TUMBLE(time_col=[ts], size=[5 s])], select=[id, COUNT(*) AS EXPR$0, "
            "start('w$) AS window_start, end('w$) AS window_end])",
        ),
        (
            f"SELECT * FROM {SESSION}",
            WindowTable,
            "WindowTableFunction(window=[SESSION(time_col=[ts], gap=[5 s], partition keys=[id])])",
        ),
        (
            "SELECT SUM(id) OVER (ORDER BY ts ROWS 2 PRECEDING) FROM clicks",
            OverAggregation,
            "OverAggregate(orderBy=[ts ASC], window=[ ROWS BETWEEN 2 PRECEDING AND CURRENT ROW], "
            "select=[id, ts, SUM(id) AS w0$o0])",
        ),
    ],
)
def test_plans_name_windows_as_flink_does(text: str, kind: type[Any], expected: str) -> None:
    assert as_node(node_of(without_unused(lower(bound(text))), kind)).title(PREFIX) == expected
