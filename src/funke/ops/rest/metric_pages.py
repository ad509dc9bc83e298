"""Metrics: names when none is asked for, values by name, and aggregates over jobs, subtasks or workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.flink_metrics import metrics_of_job
from funke.ops.rest.call import Call, Parameter, RestError, Route
from funke.ops.rest.shapes import Optional, Text
from funke.ops.rest.vertex_metrics import find_subtask, find_vertex, metrics_of

__all__ = ["AGGREGATED", "GET", "VALUES", "aggregated", "values"]

GET = Parameter("get", "names of metrics, with commas between; their names are listed without it")
_WORDS = "(min|max|sum|avg|skew)"
AGG = Parameter("agg", "which of min, max, sum, avg, skew; all of them without it", Text(f"^({_WORDS}(,{_WORDS})*)?$"))
VALUES = [{"id": str, "value": Optional(str)}]
AGGREGATED = [
    {
        "id": str,
        "min": Optional(float),
        "max": Optional(float),
        "avg": Optional(float),
        "sum": Optional(float),
        "skew": Optional(float),
    }
]
_AGGREGATES = ("min", "max", "avg", "sum", "skew")


def values(call: Call, metrics: Mapping[str, Any]) -> list[dict[str, str]]:
    """The metrics that a request asks for; only their names when it names none."""
    names = call.query_list("get")
    if not names:
        return [{"id": name} for name in metrics]
    return [{"id": name, "value": _text(metrics[name])} for name in names if name in metrics]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def aggregated(call: Call, each: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The numbers that a request asks for, over several owners of the same metrics."""
    names, which = call.query_list("get"), call.query_list("agg") or list(_AGGREGATES)
    unknown = [name for name in which if name not in _AGGREGATES]
    if unknown:
        raise RestError(400, f"unknown aggregation '{unknown[0][:100]}'; expected one of {', '.join(_AGGREGATES)}")
    owners = list(each)
    if not names:
        return [{"id": name} for name in sorted({name for metrics in owners for name in metrics})]
    entries = []
    for name in names:
        numbers = [float(metrics[name]) for metrics in owners if isinstance(metrics.get(name), (int, float))]
        if numbers:
            entries.append({"id": name, **{key: value for key, value in _aggregates(numbers).items() if key in which}})
    return entries


def _aggregates(numbers: list[float]) -> dict[str, float]:
    total, mean = sum(numbers), sum(numbers) / len(numbers)
    # As Flink has it: how far the numbers are from their mean, in percent of it.
    deviation = sum(abs(number - mean) for number in numbers) / len(numbers)
    skew = 100 * deviation / mean if mean else 0.0
    return {"min": min(numbers), "max": max(numbers), "avg": mean, "sum": total, "skew": min(100.0, skew)}


def of_job(call: Call) -> Any:
    return values(call, metrics_of_job(call.job.view()))


def of_jobs(call: Call) -> Any:
    chosen = set(call.query_list("jobs"))
    jobs = call.cluster.jobs.all()
    return aggregated(call, (metrics_of_job(job.seen) for job in jobs if not chosen or job.job_id in chosen))


def of_vertex(call: Call) -> Any:
    """Metrics of all subtasks, each with the number of the subtask before its name."""
    view = call.job.view()
    vertex = find_vertex(view, call.path["vertexid"])
    metrics = {
        f"{each.subtask}.{name}": value
        for each in vertex.subtasks
        for name, value in metrics_of(view, vertex, each.subtask).items()
    }
    return values(call, metrics)


def of_subtask(call: Call) -> Any:
    view = call.job.view()
    vertex = find_vertex(view, call.path["vertexid"])
    subtask = find_subtask(vertex, call.path_integer("subtaskindex"))
    return values(call, metrics_of(view, vertex, subtask.subtask))


def of_subtasks(call: Call) -> Any:
    view: JobView = call.job.view()
    vertex = find_vertex(view, call.path["vertexid"])
    chosen = _numbers(call.query_list("subtasks"), vertex.parallelism)
    return aggregated(
        call, (metrics_of(view, vertex, each.subtask) for each in vertex.subtasks if each.subtask in chosen)
    )


def _numbers(parts: list[str], parallelism: int) -> set[int]:
    """Subtasks as `1,3,5-9`; all of them when nothing is named."""
    numbers: set[int] = set()
    for part in parts:
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and len(part) < 24):
            raise RestError(400, f"'{part[:100]}' names no subtasks; write 0,2,5-7")
        numbers.update(range(int(first), min(int(last or first), parallelism - 1) + 1))
    return numbers or set(range(parallelism))


def none_of_job_manager(call: Call) -> Any:
    find_vertex(call.job.view(), call.path["vertexid"])
    return []


_V = "/jobs/{jobid}/vertices/{vertexid}"
ROUTES = (
    Route(
        "GET",
        "/jobs/metrics",
        of_jobs,
        "Aggregates over jobs",
        AGGREGATED,
        query=(GET, AGG, Parameter("jobs", "ids of jobs, with commas between")),
    ),
    Route("GET", "/jobs/{jobid}/metrics", of_job, "Metrics of a job", VALUES, query=(GET,)),
    Route("GET", f"{_V}/metrics", of_vertex, "Metrics of a vertex by subtask", VALUES, query=(GET,)),
    Route(
        "GET",
        f"{_V}/subtasks/metrics",
        of_subtasks,
        "Aggregates over subtasks",
        AGGREGATED,
        query=(GET, AGG, Parameter("subtasks", "subtasks, as 0,2,5-7")),
    ),
    Route("GET", f"{_V}/subtasks/{{subtaskindex}}/metrics", of_subtask, "Metrics of a subtask", VALUES, query=(GET,)),
    Route(
        "GET",
        f"{_V}/jm-operator-metrics",
        none_of_job_manager,
        "Metrics that operators keep in the driver: there are none",
        VALUES,
        query=(GET,),
    ),
)
