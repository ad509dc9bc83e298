"""Where Spark starts the slots of a job that has run before."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.runtime.epochs.epoch_runner import placed_rdd

pytestmark = pytest.mark.spark


def test_a_slot_prefers_the_host_where_its_state_is(spark: Any) -> None:
    placed = placed_rdd(spark.sparkContext, range(3), [["one"], ["two"], []])
    assert placed.mapPartitionsWithIndex(lambda index, slots: [(index, *slots)]).collect() == [(0, 0), (1, 1), (2, 2)]
    on_java = placed._jrdd.rdd()
    preferred = [on_java.preferredLocations(part).mkString(" ") for part in on_java.partitions()]
    assert preferred == ["one", "two", ""]
