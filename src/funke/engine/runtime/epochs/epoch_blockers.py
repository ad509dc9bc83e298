"""Who holds up the epoch that runs: the subtasks whose Spark tasks have not ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from funke.engine.planner.plan import Plan

if TYPE_CHECKING:
    from funke.engine.runtime.spark.spark_session import OnSpark

__all__ = ["epoch_blockers", "subtasks_at"]

_MOST_TASKS = 1000
_MOST_NAMED = 5


def epoch_blockers(spark: OnSpark, plan: Plan, group: str) -> str:
    """The names of the subtasks that a running Spark job of the group waits for; empty if none is known."""
    # Spark may be about to end, and this is only to tell.
    with contextlib.suppress(Exception):
        named = [name for level, task in _unfinished(spark, plan, group) for name in subtasks_at(plan, level, task)]
        return ", ".join(named[:_MOST_NAMED]) + (" and others" if len(named) > _MOST_NAMED else "")
    return ""


def subtasks_at(plan: Plan, level: int, slot: int) -> list[str]:
    """What the task of a stage, whose number is that of its slot, works on."""
    subtasks = []
    for vertex in plan.graph.vertices:
        placement = plan.placements[vertex.id]
        subtask = slot - placement.first_slot
        if placement.level == level and 0 <= subtask < vertex.parallelism:
            subtasks.append(f"'{vertex.name}' (subtask {subtask}, slot {slot})")
    return subtasks


def _unfinished(spark: OnSpark, plan: Plan, group: str) -> Iterator[tuple[int, int]]:
    """Level and number of every task that runs."""
    context = spark.sparkContext
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    for job_id in set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(group)):
        job = tracker.getJobInfo(job_id)
        # The last stage is that of the last level.
        for above, stage_id in enumerate(sorted(job.stageIds if job is not None else (), reverse=True)):
            tasks = store.taskList(stage_id, 0, _MOST_TASKS)
            for number in range(tasks.size()):
                task = tasks.apply(number)
                if task.status() == "RUNNING":
                    yield max(0, plan.levels - above), task.index()
