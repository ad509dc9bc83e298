"""Queries in batch mode that Spark computes: the rows are those of slots, and of the last state of a stream."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.spark_plans.carried_columns import from_carried
from funke.engine.sql.spark_plans.spark_frames import frame_of
from funke.engine.sql.spark_plans.task_code import PlanSettings
from funke.table import EnvironmentSettings
from tests.harness import batch_queries
from tests.harness.batch_queries import (
    BITMAPS,
    CHOSEN_JOIN,
    JOINS,
    JOINS_OF_TASKS,
    OF_SPARK,
    OVER,
    RANKS,
    WINDOW_QUERIES,
    clicks_in,
    differences,
    environment,
    planned,
)
from tests.harness.local_jobs import rows_of

pytestmark = pytest.mark.spark


# Others need nothing of Spark that these do not: tests without it have all of them.
WINDOWS = [query for query in WINDOW_QUERIES if "SESSION(" in query or "COUNT(*) OVER" in query]


@pytest.mark.parametrize(
    "queries",
    [[*OF_SPARK, *RANKS], [*OVER, *WINDOWS], BITMAPS, [*JOINS, JOINS_OF_TASKS[0], CHOSEN_JOIN]],
    ids=["rows", "windows", "bitmaps", "joins"],
)
def test_spark_slots_and_streams_give_the_same_rows(spark: Any, tmp_path: Path, queries: list[str]) -> None:
    cloudpickle.register_pickle_by_value(batch_queries)
    assert not differences(queries, tmp_path, partial(computed, spark))


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("BROADCAST(a)", "BroadcastHashJoin [c0], [c1], Inner, BuildLeft"),
        ("NEST_LOOP(b)", "BroadcastHashJoin [c0], [c1], Inner, BuildRight"),
        ("SHUFFLE_HASH(b)", "ShuffledHashJoin [c0], [c1], Inner, BuildRight"),
        ("SHUFFLE_MERGE(a), BROADCAST(b)", "SortMergeJoin [c0], [c1], Inner"),
    ],
)
def test_hints_choose_the_join_of_spark(spark: Any, tmp_path: Path, hint: str, expected: str) -> None:
    t_env = environment(EnvironmentSettings.in_batch_mode(), clicks_in(tmp_path))
    plan = planned(t_env, f"SELECT /*+ {hint} */ a.k FROM t a JOIN t b ON a.k = b.v", "spark")
    assert isinstance(plan, SparkRows)
    text = frame_of(spark, plan.input, PlanSettings())._jdf.queryExecution().toString()
    assert expected in re.sub(r"#\d+L?", "", text)


def computed(spark: Any, plan: SparkRows) -> list[tuple[Any, ...]]:
    table = frame_of(spark, plan.input, PlanSettings()).toArrow()
    return [row for batch in table.to_batches() for row in rows_of(from_carried(batch, plan.columns), plan)]
