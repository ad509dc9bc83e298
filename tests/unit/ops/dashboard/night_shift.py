"""Five jobs as somebody meets them at night: a skewed one, a slow sink, a crash loop, a growing lag, a healthy one."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.jobs.views.job_view import ExceptionView, JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.history.metric_history import HOUR_MS, INTERVAL_MS, MetricHistory
from funke.ops.history.points import SERIES, Point, point_of
from tests.unit.ops.dashboard import shown_jobs
from tests.unit.ops.dashboard.shown_jobs import MB, MINUTE, Vertex, checkpoints, job

_EVEN = ((0.3, 0.0), (0.28, 0.0), (0.31, 0.0), (0.27, 0.0))
_SAME = (1_000_000, 1_010_000, 990_000, 1_000_000)
_TRACE = """Traceback (most recent call last):
  File "/home/ada/shop/invoices.py", line 42, in parse
    return Invoice(row["id"], float(row["price"]))
KeyError: 'price'"""
# What each job is called, and how its alarm begins: the cause is in it.
CAUSES = {
    "fraud-scores": r'is slow: "score -> Sink: alerts" is the bottleneck: busy 10% to 97%, "Source: payments" waits\. '
    r"One of its 4 subtasks has 72% of the records: its keys are skewed\. 65% of its records have the key 'DE'",
    "orders-to-pg": r'is slow: "Sink: pg" is the bottleneck: busy 98%, "Source: orders" waits\. '
    r"It waits for what it writes to",
    "invoices": r"fails again and again, \d\d times in the last 10 min: "
    r"invoices\.py:42 raised KeyError: 'price' in “parse”",
    "clicks": r"falls behind: 1[34] min behind, 30 s more each minute\. "
    r'"Source: clicks" is the bottleneck: busy 98%, the others of its slot wait for their turn\.',
    "audit-log": "",
}


def night_jobs() -> list[JobView]:
    """The five of them, as their drivers would tell."""
    return [_skewed(), _slow_sink(), _crash_loop(), _growing_lag(), _healthy()]


def night_history(jobs: list[JobView]) -> MetricHistory:
    """An hour of each: the lag began 28 minutes ago, the crash loop ten."""
    result = MetricHistory()
    for view in jobs:
        now = point_of(view)
        for ago_ms in range(HOUR_MS, 0, -INTERVAL_MS):
            result.add(view.job_id, _earlier(view.name, now, ago_ms))
    return result


def _earlier(name: str, now: Point, ago_ms: int) -> Point:
    values = dict(zip(SERIES, now.values))
    values["checkpoints"] -= ago_ms // MINUTE
    if name == "clicks":
        values["lag"] = max(2_000.0, values["lag"] - 0.5 * ago_ms)
        values["records-in"] = values["records-in"] if values["lag"] > 2_000 else 2 * values["records-in"]
    if name == "invoices":
        values["restarts"] = 40 * max(0.0, 1 - ago_ms / (10 * MINUTE))
    return Point(now.at_ms - ago_ms, tuple(values.values()))


def _recent() -> tuple[int, ...]:
    return tuple(MINUTE * n + 4_000 for n in reversed(range(9)))


def _skewed() -> JobView:
    view = job(
        "fraud-scores",
        (
            Vertex(("Source: payments",), ((0.2, 0.75), (0.18, 0.78)), (40_000_000, 40_000_000), 60_000),
            Vertex(
                ("score", "Sink: alerts"),
                ((0.97, 0.0), (0.12, 0.0), (0.1, 0.0), (0.11, 0.0)),
                (57_600_000, 7_500_000, 7_400_000, 7_500_000),
                60_000,
                (0,),
            ),
        ),
        checkpoints=checkpoints(_recent(), 80 * MB),
    )
    operators = view.metrics.operators[view.vertices[1].operators[0].id]
    for subtask, share in enumerate((0.72, 0.1, 0.09, 0.09)):
        operators[subtask]["numRecordsInPerSecond"] = 60_000 * share
    view.metrics.tasks[1][0].update(hottestKey="'DE'", hottestKeyShare=0.9)
    return view


def _slow_sink() -> JobView:
    return job(
        "orders-to-pg",
        (
            Vertex(("Source: orders",), ((0.1, 0.85), (0.1, 0.86)), (9_000_000, 9_000_000), 4_000),
            Vertex(("Sink: pg",), ((0.98, 0.0), (0.97, 0.0)), (9_000_000, 9_000_000), 4_000, (0,), ship="REBALANCE"),
        ),
        checkpoints=checkpoints(_recent(), MB),
    )


def _crash_loop() -> JobView:
    begun = job(
        "invoices",
        (
            Vertex(("Source: invoices",), ((0.1, 0.0),), (40_000,), 900),
            Vertex(("parse", "Sink: out"), ((0.1, 0.0),), (40_000,), 900, (0,)),
        ),
        JobStatus.RESTARTING,
    )
    operator = begun.vertices[1].operators[0]
    failures = tuple(
        ExceptionView(
            *(shown_jobs.NOW - 15_000 * (39 - attempt) - 5_000, attempt, "operator 'parse' failed", "KeyError", _TRACE),
            *(operator.name, operator.id, "/home/ada/shop/invoices.py:42", 1, 0),
        )
        for attempt in reversed(range(24, 40))
    )
    return replace(begun, exceptions=failures, failures=40, restarts=40, checkpoints=checkpoints((30_000,), MB))


def _growing_lag() -> JobView:
    view = job(
        "clicks",
        (
            Vertex(("Source: clicks",), ((0.98, 0.0),), (900_000_000,), 210_000),
            Vertex(("sessions", "Sink: lake"), _EVEN, _SAME, 210_000, (0,)),
        ),
        checkpoints=checkpoints(_recent(), 96 * MB),
    )
    for operator in view.vertices[1].operators:
        for measured in view.metrics.operators[operator.id].values():
            measured["currentInputWatermark"] = shown_jobs.NOW - 14 * MINUTE - 500
    return view


def _healthy() -> JobView:
    return job(
        "audit-log",
        (
            Vertex(("Source: events",), ((0.2, 0.0),), (9_000_000,), 12_000),
            Vertex(("count", "Sink: log"), _EVEN, _SAME, 12_000, (0,)),
        ),
        checkpoints=checkpoints(_recent(), 3 * MB),
    )
