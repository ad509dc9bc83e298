"""Windows of the Table API: what `window`, `group_by` and `over_window` come to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.windows.window_relations import OverAggregation, WindowAggregation
from funke.engine.sql.window_kinds import HoppingWindows, SessionWindows, TumblingWindows, Windows
from funke.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import CURRENT_RANGE, UNBOUNDED_RANGE, col, lit, row_interval
from funke.table.window import Over, Session, Slide, Tumble


@pytest.fixture
def clicks() -> Table:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("""
        CREATE TABLE clicks (name STRING, ts TIMESTAMP(3), amount INT, p AS PROCTIME(), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')
    """)
    return t_env.from_path("clicks")


def node_of(table: Table, kind: type[Any]) -> Any:
    node: Any = table._relation
    while not isinstance(node, kind):
        node = node.input
    return node


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Tumble.over(lit(10).seconds).on(col("ts")), TumblingWindows(10_000)),
        (Slide.over(lit(10).seconds).every(lit(4).seconds).on(col("ts")), HoppingWindows(10_000, 4_000)),
        (Session.with_gap(lit(1).minutes).on(col("p")), SessionWindows(60_000)),
    ],
)
def test_group_windows(clicks: Table, window: Any, expected: Windows) -> None:
    result = (
        clicks.window(window.alias("w"))
        .group_by(col("w"), col("name"))
        .select(col("name"), col("w").start.alias("s"), col("w").end.alias("e"), col("amount").sum.alias("total"))
    )
    node = node_of(result, WindowAggregation)
    assert (node.windows, len(node.keys)) == (expected, 1)
    assert [column.name for column in result._relation.columns] == ["name", "s", "e", "total"]


def test_a_window_that_counts_rows_is_a_frame_of_which_some_rows_are_kept(clicks: Table) -> None:
    window = Slide.over(row_interval(3)).every(row_interval(2)).on(col("p")).alias("w")
    result = clicks.window(window).group_by(col("w"), col("name")).select(col("name"), col("amount").sum.alias("total"))
    node = node_of(result, OverAggregation)
    assert (node.is_rows, node.preceding, len(node.partition_by)) == (True, 2, 1)


@pytest.mark.parametrize(
    ("bounds", "is_rows", "preceding"),
    [((UNBOUNDED_RANGE, CURRENT_RANGE), False, None), ((lit(2).seconds,), False, 2_000), ((row_interval(5),), True, 5)],
)
def test_over_windows(clicks: Table, bounds: tuple[Any, ...], is_rows: bool, preceding: int | None) -> None:
    window = Over.partition_by(col("name")).order_by(col("ts")).preceding(bounds[0])
    named = window.following(bounds[1]).alias("w") if len(bounds) > 1 else window.alias("w")
    result = clicks.over_window(named).select(col("name"), col("amount").sum.over(col("w")).alias("total"))
    node = node_of(result, OverAggregation)
    assert (node.is_rows, node.preceding, node.time.is_event_time) == (is_rows, preceding, True)


def test_event_time_has_milliseconds() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE seconds (s TIMESTAMP(0), l TIMESTAMP_LTZ(1), WATERMARK FOR s AS s) WITH ('connector' = 'datagen')"
    )
    windows = "TABLE(TUMBLE(TABLE seconds, DESCRIPTOR(s), INTERVAL '10' SECOND))"
    result = t_env.sql_query(f"SELECT s, l, window_time FROM {windows}").get_resolved_schema()
    assert str(result) == (
        "(\n  `s` TIMESTAMP(3) *ROWTIME*,\n  `l` TIMESTAMP_LTZ(1),\n  `window_time` TIMESTAMP(3) NOT NULL *ROWTIME*\n)"
    )


def test_bounds_of_windows_have_the_names_of_computed_columns(clicks: Table) -> None:
    result = (
        clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"))
        .select(col("w").start, col("amount").max, col("w").end, col("amount").min.alias("least"))
    )
    assert result.get_schema().get_field_names() == ["EXPR$0", "EXPR$1", "EXPR$2", "least"]


def test_what_an_aggregate_function_gave_stands_beside_the_bounds_of_its_window(clicks: Table) -> None:
    groups = clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(col("w"), col("name"))
    aggregated = groups.aggregate(col("amount").max.alias("most"))
    result = aggregated.select(col("w").rowtime, col("name"), col("most") + 1, col("w").end.cast(DataTypes.STRING()))
    assert result.get_schema().get_field_names() == ["EXPR$0", "name", "_c2", "EXPR$1-STRING"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (col("*"), "Can not use * for window aggregate!"),
        (col("most").sum, "Aggregate functions cannot be used in the select right after the aggregate."),
    ],
)
def test_what_cannot_be_chosen_after_an_aggregate_in_a_window(clicks: Table, item: Any, message: str) -> None:
    groups = clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(col("w"))
    with pytest.raises(ValidationException, match=re.escape(message)):
        groups.aggregate(col("amount").max.alias("most")).select(item)


def test_windows_over_rows_of_a_stream_are_ordered_by_time(clicks: Table) -> None:
    window = Over.partition_by(col("name")).order_by(col("amount")).preceding(UNBOUNDED_RANGE).alias("w")
    message = "Second argument in OVER window must be a TIME ATTRIBUTE, but is: INT"
    with pytest.raises(ValidationException, match=message):
        clicks.over_window(window).select(col("amount").sum.over(col("w")))
