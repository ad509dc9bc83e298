"""Queries in batch mode: the steps of Spark's tasks, slots and the last state of a stream give the same rows.

Frames are local ones here; what Spark itself aggregates, `tests/spark/test_batch_plans.py` compares.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.spark_plans import spark_frames
from funke.engine.sql.spark_plans.carried_columns import from_carried
from funke.engine.sql.spark_plans.task_code import PlanSettings
from tests.harness.batch_queries import MINE, RECORDED_QUERIES, WINDOW_QUERIES, differences
from tests.harness.local_frames import LocalSpark
from tests.harness.local_jobs import rows_of


def computed(plan: SparkRows) -> list[tuple[Any, ...]]:
    spark: Any = LocalSpark()
    result: Any = spark_frames.frame_of(spark, plan.input, PlanSettings(2))
    return [row for batch in result.table.to_batches() for row in rows_of(from_carried(batch, plan.columns), plan)]


@pytest.mark.parametrize("kind", ["mine", "windows", "recorded"])
def test_plans_give_what_slots_and_streams_give(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Our own kernels, for all functions.
    monkeypatch.setattr(spark_frames, "has_twin", lambda aggregate: False)
    monkeypatch.setattr(spark_frames, "expression_twin", lambda *arguments: None)
    # As in Flink, rows of the same time have one LAG in streams; in batches each has its own.
    windows = [query for query in WINDOW_QUERIES if "SESSION(" not in query and "LAG(" not in query]
    queries = {"mine": MINE, "windows": windows, "recorded": RECORDED_QUERIES}[kind]
    assert not differences(queries, tmp_path, computed)
