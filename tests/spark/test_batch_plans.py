"""Queries in batch mode that Spark computes: the rows are those of slots, and of the last state of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.spark_plans.carried_columns import from_carried
from funke.engine.sql.spark_plans.spark_frames import frame_of
from funke.engine.sql.spark_plans.task_code import PlanSettings
from tests.harness import batch_queries
from tests.harness.batch_queries import BITMAPS, OF_SPARK, OVER, RANKS, WINDOW_QUERIES, differences
from tests.harness.local_jobs import rows_of

pytestmark = pytest.mark.spark


# Others need nothing of Spark that these do not: tests without it have all of them.
WINDOWS = [query for query in WINDOW_QUERIES if "SESSION(" in query or "COUNT(*) OVER" in query]


@pytest.mark.parametrize(
    "queries", [[*OF_SPARK, *RANKS], [*OVER, *WINDOWS], BITMAPS], ids=["rows", "windows", "bitmaps"]
)
def test_spark_slots_and_streams_give_the_same_rows(spark: Any, tmp_path: Path, queries: list[str]) -> None:
    def computed(plan: SparkRows) -> list[tuple[Any, ...]]:
        found = frame_of(spark, plan.input, PlanSettings()).toArrow()
        return [row for batch in found.to_batches() for row in rows_of(from_carried(batch, plan.columns), plan)]

    cloudpickle.register_pickle_by_value(batch_queries)
    assert not differences(queries, tmp_path, computed)
