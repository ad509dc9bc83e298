"""The cluster: an overview, settings, the service's own log files and threads, and the workers of running jobs."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from funke import __version__
from funke.engine.config import rest_options
from funke.engine.config.memory_model import MemoryModelError, worker_memory
from funke.engine.config.secret_keys import masked
from funke.engine.config.settings import Settings
from funke.engine.jobs.views.job_view import JobView
from funke.engine.runtime.monitoring.thread_dump import ThreadStack, thread_stacks
from funke.engine.types.job_status import JobStatus
from funke.ops.metrics.cluster_metrics import USED_MEMORY, cluster_metrics, process_metrics
from funke.ops.rest.call import Answer, Call, Parameter, RestError, Route
from funke.ops.rest.job_pages import KEY_VALUES, key_values
from funke.ops.rest.metric_pages import AGG, AGGREGATED, GET, VALUES, aggregated, values
from funke.ops.rest.shapes import ANY, MapOf, Optional
from funke.ops.rest.vertex_metrics import task_manager_id
from funke.version import __version__ as flink_version

__all__ = ["ROUTES"]


def health(call: Call) -> Answer:
    return Answer(b"ok", media_type="text/plain")


def overview(call: Call) -> Any:
    statuses = Counter(job.seen.status for job in call.cluster.jobs.all())
    ended = {JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED}
    slots = call.cluster.slots.count() if call.cluster.slots is not None else None
    used = sum(each.slots for each in _workers(call))
    return {
        "taskmanagers": sum(1 for _ in _workers(call)),
        "slots-total": slots.total if slots is not None else used,
        "slots-available": slots.free if slots is not None else 0,
        "slots-free-and-blocked": 0,
        "taskmanagers-blocked": 0,
        "jobs-running": sum(number for status, number in statuses.items() if status not in ended),
        "jobs-finished": statuses[JobStatus.FINISHED],
        "jobs-cancelled": statuses[JobStatus.CANCELED],
        "jobs-failed": statuses[JobStatus.FAILED],
        "flink-version": flink_version,
        "flink-commit": "",
        "funke-version": __version__,
    }


def config(call: Call) -> Any:
    programs = call.cluster.programs
    configured = Settings(call.cluster.configuration)
    is_dst = time.localtime().tm_isdst > 0
    return {
        "refresh-interval": configured.get(rest_options.WEB_REFRESH),
        "timezone-name": time.tzname[is_dst],
        "timezone-offset": -(time.altzone if is_dst else time.timezone) * 1000,
        "flink-version": flink_version,
        "flink-revision": "",
        "funke-version": __version__,
        "features": {
            "web-submit": programs is not None and programs.is_upload_allowed,
            "web-cancel": configured.get(rest_options.WEB_CANCEL),
            "web-rescale": programs is not None,
            "web-history": False,
        },
    }


def shut_down(call: Call) -> Any:
    if call.cluster.programs is None:
        raise RestError(503, "These pages belong to a program, and end with it")
    call.cluster.programs.shut_down()
    return {}


# The service itself, which stands where Flink's job manager does


def settings(call: Call) -> Any:
    return key_values(masked(call.cluster.configuration))


def environment(call: Call) -> Any:
    return {
        "jvm": {
            "version": f"Python {platform.python_version()} ({sys.executable})",
            "arch": platform.machine(),
            "options": [],
        },
        "classpath": [each for each in sys.path if each],
    }


def job_environment(call: Call) -> Any:
    call.job.view()
    return environment(call)


def metrics(call: Call) -> Any:
    return values(call, cluster_metrics(overview(call)))


def logs(call: Call) -> Any:
    files = call.cluster.logs.files()
    return {"logs": [{"name": each.name, "size": each.size, "mtime": each.mtime_ms} for each in files]}


def log_file(call: Call) -> Any:
    return _log(call, call.path["name"])


def _log(call: Call, name: str) -> Answer:
    content = call.cluster.logs.read(name)
    if content is None:
        raise RestError(404, "There is no such log file; /jobmanager/logs lists those that there are")
    return Answer(content, media_type="text/plain; charset=utf-8")


def thread_dump(call: Call) -> Any:
    return _thread_infos((each.name, each) for each in thread_stacks())


def _thread_infos(named: Iterable[tuple[str, ThreadStack]]) -> dict[str, Any]:
    return {"threadInfos": [{"threadName": name, "stringifiedThreadInfo": each.stack} for name, each in named]}


def job_log_url(call: Call) -> Any:
    run_id = call.job.record.run_id
    return {"url": f"/jobmanager/logs/{run_id}.log"}


# Workers


@dataclass(frozen=True)
class _Worker:
    """The slots of a job on one host."""

    view: JobView
    host: str
    slots: int

    @property
    def id(self) -> str:
        return task_manager_id(self.view, self.host)


def _workers(call: Call) -> Iterator[_Worker]:
    for job in call.cluster.jobs.all():
        if job.is_driven and not job.seen.status.is_globally_terminal_state():
            view = job.seen
            locations = {(each.host, each.slot) for vertex in view.vertices for each in vertex.subtasks if each.host}
            for host, slots in sorted(Counter(host for host, _ in locations).items()):
                yield _Worker(view, str(host), slots)


def _worker_of(call: Call) -> _Worker:
    worker_id = call.path["taskmanagerid"]
    worker = next((each for each in _workers(call) if each.id == worker_id), None)
    if worker is None:
        raise RestError(404, f"Task manager {worker_id[:200]} not found")
    return worker


def task_managers(call: Call) -> Any:
    return {"taskmanagers": [_worker_entry(each) for each in _workers(call)]}


def task_manager(call: Call) -> Any:
    worker = _worker_of(call)
    return {
        **_worker_entry(worker),
        "allocatedSlots": [{"jobId": worker.view.job_id, "resource": ANY_RESOURCE} for _ in range(worker.slots)],
        "metrics": _memory_metrics(worker),
    }


def _memory_metrics(worker: _Worker) -> dict[str, Any]:
    """What its slots hold stands where Flink tells of the heap; the other parts of a JVM are not there."""
    used = _metrics(worker).get(USED_MEMORY, 0)
    most = _memory(worker.view)["totalProcessMemory"]
    return {
        **dict.fromkeys(_JVM_PARTS, 0),
        "heapUsed": used,
        "heapCommitted": used,
        "heapMax": -1 if most is None else most,
        "garbageCollectors": [],
    }


ANY_RESOURCE: dict[str, Any] = {
    "cpuCores": 1.0,
    "taskHeapMemory": 0,
    "taskOffHeapMemory": 0,
    "managedMemory": 0,
    "networkMemory": 0,
    "extendedResources": {},
}


def _worker_entry(worker: _Worker) -> dict[str, Any]:
    view = worker.view
    memory = _memory(view)
    return {
        "id": worker.id,
        "path": f"job {view.job_id} on {worker.host}",
        "dataPort": 0,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": view.seen_ms,
        "slotsNumber": worker.slots,
        "freeSlots": 0,
        "totalResource": {**ANY_RESOURCE, "cpuCores": float(worker.slots)},
        "freeResource": {**ANY_RESOURCE, "cpuCores": 0.0},
        "hardware": {
            "cpuCores": os.cpu_count() or 1,
            "physicalMemory": _physical_memory(),
            "freeMemory": 0,
            "managedMemory": memory.get("managedMemory") or 0,
        },
        "memoryConfiguration": memory,
        "blocked": False,
        "assignedTasks": sum(1 for vertex in view.vertices for each in vertex.subtasks if each.host == worker.host),
        "jobId": view.job_id,
    }


def _physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


_MEMORY = {
    "frameworkHeap": "framework_heap",
    "taskHeap": "task_heap",
    "frameworkOffHeap": "framework_off_heap",
    "taskOffHeap": "task_off_heap",
    "networkMemory": "network",
    "managedMemory": "managed",
    "jvmMetaspace": "jvm_metaspace",
    "jvmOverhead": "jvm_overhead",
    "totalFlinkMemory": "total_flink",
    "totalProcessMemory": "total_process",
}


_JVM_PARTS = (
    *("heapUsed", "heapCommitted", "heapMax", "nonHeapUsed", "nonHeapCommitted", "nonHeapMax"),
    *("directCount", "directUsed", "directMax", "mappedCount", "mappedUsed", "mappedMax"),
    *(f"nettyShuffleMemorySegments{each}" for each in ("Available", "Used", "Total")),
    *(f"nettyShuffleMemory{each}" for each in ("Available", "Used", "Total")),
)


def _memory(view: JobView) -> dict[str, int | None]:
    """By the job's configuration; empty where it sets no size."""
    try:
        model = worker_memory(Settings(view.configuration))
    except MemoryModelError:
        return dict.fromkeys(_MEMORY)
    return {name: getattr(model, attribute) for name, attribute in _MEMORY.items()}


def task_manager_metrics(call: Call) -> Any:
    return values(call, _metrics(_worker_of(call)))


def task_managers_metrics(call: Call) -> Any:
    chosen = set(call.query_list("taskmanagers"))
    return aggregated(call, (_metrics(each) for each in _workers(call) if not chosen or each.id in chosen))


def _metrics(worker: _Worker) -> dict[str, Any]:
    return process_metrics(worker.view, worker.host)


def task_manager_logs(call: Call) -> Any:
    run_id = _run_of(call)
    files = [each for each in call.cluster.logs.files() if each.name.startswith(run_id)]
    return {"logs": [{"name": each.name, "size": each.size, "mtime": each.mtime_ms} for each in files]}


def task_manager_log(call: Call) -> Any:
    return _log(call, f"{_run_of(call)}.log")


def _run_of(call: Call) -> str:
    job = call.cluster.jobs.find(_worker_of(call).view.job_id)
    if job is None:
        raise RestError(404, "Its job is gone")
    return job.record.run_id


def task_manager_log_url(call: Call) -> Any:
    _worker_of(call)
    return job_log_url(call)


def task_manager_thread_dump(call: Call) -> Any:
    worker = _worker_of(call)
    job = call.cluster.jobs.find(worker.view.job_id)
    own = {each.slot for vertex in worker.view.vertices for each in vertex.subtasks if each.host == worker.host}
    stacks_by_slot = job.commanded().thread_stacks() if job is not None else {}
    return _thread_infos(
        (f"slot {slot}: {each.name}", each)
        for slot, stacks in sorted(stacks_by_slot.items())
        if slot in own
        for each in stacks
    )


def no_datasets(call: Call) -> Any:
    return {"datasets": []}


_THREADS = {"threadInfos": [{"threadName": str, "stringifiedThreadInfo": str}]}
_LOGS = {"logs": [{"name": str, "size": int, "mtime": int}]}
_WORKER = {
    "id": str,
    "path": str,
    "dataPort": int,
    "jmxPort": int,
    "timeSinceLastHeartbeat": int,
    "slotsNumber": int,
    "freeSlots": int,
    "totalResource": ANY,
    "freeResource": ANY,
    "hardware": MapOf(int),
    "memoryConfiguration": dict.fromkeys(_MEMORY, Optional(int)),
    "blocked": bool,
    "assignedTasks": int,
    "jobId": str,
}
_METRICS = {**dict.fromkeys(_JVM_PARTS, int), "garbageCollectors": [ANY]}
_T = "/taskmanagers/{taskmanagerid}"

ROUTES = (
    Route("GET", "/healthz", health, "Whether the service answers; needs no token", str, media_type="text/plain"),
    Route(
        "GET",
        "/overview",
        overview,
        "Workers, slots and jobs in numbers",
        {
            "taskmanagers": int,
            "slots-total": int,
            "slots-available": int,
            "slots-free-and-blocked": int,
            "taskmanagers-blocked": int,
            "jobs-running": int,
            "jobs-finished": int,
            "jobs-cancelled": int,
            "jobs-failed": int,
            "flink-version": str,
            "flink-commit": str,
            "funke-version": str,
        },
    ),
    Route(
        "GET",
        "/config",
        config,
        "What a dashboard must know",
        {
            "refresh-interval": int,
            "timezone-name": str,
            "timezone-offset": int,
            "flink-version": str,
            "flink-revision": str,
            "funke-version": str,
            "features": {"web-submit": bool, "web-cancel": bool, "web-rescale": bool, "web-history": bool},
        },
    ),
    Route("DELETE", "/cluster", shut_down, "Ends the service and its jobs", ANY),
    Route("GET", "/jobmanager/config", settings, "The service's configuration", KEY_VALUES),
    Route(
        "GET",
        "/jobmanager/environment",
        environment,
        "The interpreter of the service",
        {"jvm": {"version": str, "arch": str, "options": [str]}, "classpath": [str]},
    ),
    Route("GET", "/jobmanager/metrics", metrics, "Metrics of the service", VALUES, query=(GET,)),
    Route("GET", "/jobmanager/logs", logs, "Log files of the service and of programs", _LOGS),
    Route("GET", "/jobmanager/logs/{name}", log_file, "The end of a log file", str, media_type="text/plain"),
    Route("GET", "/jobmanager/thread-dump", thread_dump, "What the threads of the service do", _THREADS),
    Route("GET", "/jobs/{jobid}/jobmanager/environment", job_environment, "The interpreter", ANY),
    Route("GET", "/jobs/{jobid}/jobmanager/log-url", job_log_url, "Where the job's log is", {"url": str}),
    Route(
        "GET",
        "/taskmanagers",
        task_managers,
        "Workers: the slots of a running job on one host",
        {"taskmanagers": [_WORKER]},
    ),
    Route(
        "GET",
        "/taskmanagers/metrics",
        task_managers_metrics,
        "Aggregates over workers",
        AGGREGATED,
        query=(
            GET,
            AGG,
            Parameter("taskmanagers", "ids of workers, with commas between"),
        ),
    ),
    Route("GET", _T, task_manager, "A worker", {**_WORKER, "allocatedSlots": [ANY], "metrics": _METRICS}),
    Route("GET", f"{_T}/metrics", task_manager_metrics, "Metrics of a worker", VALUES, query=(GET,)),
    Route("GET", f"{_T}/logs", task_manager_logs, "Log files of a worker's program", _LOGS),
    Route("GET", f"{_T}/log", task_manager_log, "The end of its log", str, media_type="text/plain"),
    Route("GET", f"{_T}/thread-dump", task_manager_thread_dump, "Rejected: see flame graphs", _THREADS),
    Route("GET", f"/jobs/{{jobid}}{_T}/log-url", task_manager_log_url, "Where the log of its slots is", {"url": str}),
    Route("GET", "/datasets", no_datasets, "Cached data sets; there are none", {"datasets": [ANY]}),
)
