"""Queries in batch mode that Spark computes: the rows are those of slots, and of the last state of a stream."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.engine.sql.binding.joins import JoinKind
from funke.engine.sql.binding.relations import Relation, with_inputs
from funke.engine.sql.plan.batch_join import BatchJoin
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
from tests.harness.local_jobs import changes_in, rows_of

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


def computed(spark: Any, plan: SparkRows) -> list[tuple[Any, ...]]:
    found = frame_of(spark, plan.input, PlanSettings()).toArrow()
    return [row for batch in found.to_batches() for row in rows_of(from_carried(batch, plan.columns), plan)]


@pytest.mark.parametrize("kind", ["semi", "anti"])
def test_half_a_join(spark: Any, tmp_path: Path, kind: JoinKind) -> None:
    """Rows with a match, and rows without one: with a condition that Spark knows, and with one of functions."""
    t_env = environment(EnvironmentSettings.in_batch_mode(), clicks_in(tmp_path))
    for condition in ("a.id > b.id", "UPPER(a.name) <= LOWER(b.name)"):
        query = f"SELECT a.id, a.name FROM t a JOIN t b ON a.k = b.v AND {condition}"
        frame, slots = (_with_kind(planned(t_env, query, mode), kind) for mode in ("spark", "slots"))
        assert isinstance(frame, SparkRows)
        rows = [row for sign, row in changes_in(slots) if sign == "+I"]
        assert sorted(computed(spark, frame), key=repr) == sorted(rows, key=repr) != []


def _with_kind(relation: Relation, kind: JoinKind) -> Relation:
    if isinstance(relation, BatchJoin):
        return replace(relation, kind=kind, columns=relation.left.columns)
    changed: Relation = with_inputs(relation, lambda each: _with_kind(each, kind))
    return changed
