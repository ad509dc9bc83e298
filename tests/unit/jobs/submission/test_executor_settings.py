"""How many executors a job asks for, and how large they are."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.jobs.submission.executor_settings import executor_settings

SLOTS = "taskmanager.numberOfTaskSlots"
CORES, INSTANCES, MOST = "spark.executor.cores", "spark.executor.instances", "spark.cores.max"
OVERHEAD = "spark.executor.memoryOverhead"


@pytest.mark.parametrize(
    ("master", "slots", "configured", "expected"),
    [
        # Parallelism divided by slots per worker, as Flink does on YARN.
        ("yarn", 10, {SLOTS: "3"}, {CORES: "3", INSTANCES: "4"}),
        ("k8s://https://host", 4, {SLOTS: "4"}, {CORES: "4", INSTANCES: "1"}),
        ("spark://host:7077", 10, {SLOTS: "3"}, {CORES: "3", MOST: "12"}),
        (
            "yarn",
            10,
            {SLOTS: "2", "taskmanager.memory.process.size": "2g"},
            {CORES: "2", INSTANCES: "5", OVERHEAD: "2432m"},
        ),
        # What is set stays.
        ("yarn", 10, {SLOTS: "3", CORES: "5"}, {INSTANCES: "2"}),
        ("yarn", 10, {SLOTS: "3", INSTANCES: "1", OVERHEAD: "1g"}, {CORES: "3"}),
        ("yarn", 10, {SLOTS: "3", "spark.dynamicAllocation.enabled": "true"}, {}),
        ("yarn", 10, {}, {}),
        ("local[4]", 10, {SLOTS: "3"}, {}),
    ],
)
def test_what_is_asked_for(master: str, slots: int, configured: dict[str, str], expected: dict[str, str]) -> None:
    assert executor_settings(Settings(configured), master, slots) == expected
