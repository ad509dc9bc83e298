"""Metrics of the service and of the workers of a job, by Flink's names."""

from __future__ import annotations

import os
import resource
import sys
import threading
from collections.abc import Mapping
from typing import Any

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.flink_metrics import metrics_of_task

__all__ = ["USED_MEMORY", "cluster_metrics", "process_metrics"]

# Of the service its own process, of a worker its slots, which have no JVM: Flink's name for what is watched.
USED_MEMORY = "Status.JVM.Memory.Heap.Used"

_PER_SECOND = ("numRecordsInPerSecond", "numRecordsOutPerSecond", "numBytesInPerSecond", "numBytesOutPerSecond")


def cluster_metrics(overview: Mapping[str, Any]) -> dict[str, Any]:
    """Of the service: jobs, slots, and its own process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "numRegisteredTaskManagers": overview["taskmanagers"],
        "numRunningJobs": overview["jobs-running"],
        "taskSlotsAvailable": overview["slots-available"],
        "taskSlotsTotal": overview["slots-total"],
        "Status.JVM.CPU.Time": int((used.ru_utime + used.ru_stime) * 1e9),
        "Status.JVM.CPU.Load": os.getloadavg()[0] / (os.cpu_count() or 1),
        USED_MEMORY: _resident_bytes(),
        "Status.JVM.Threads.Count": threading.active_count(),
    }


def _resident_bytes() -> int:
    """The memory of the process now; where the system does not report that, its peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def process_metrics(view: JobView, host: str) -> dict[str, Any]:
    """Of a job's slots on one host together."""
    totals: dict[str, Any] = {}
    held: dict[int | None, int] = {}
    for vertex in view.vertices:
        for subtask in vertex.subtasks:
            if subtask.host != host:
                continue
            metrics = metrics_of_task(view, vertex, subtask.subtask)
            # Every subtask tells it of the slot that it is in.
            held[subtask.slot] = metrics.get("slotMemoryUsed", held.get(subtask.slot, 0))
            for name in _PER_SECOND:
                if name in metrics:
                    totals[name] = totals.get(name, 0) + metrics[name]
    if any(held.values()):
        totals[USED_MEMORY] = sum(held.values())
    return {**totals, "slots": len(held)}
