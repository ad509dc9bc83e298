"""Jobs for the pages: one is held up, one has no checkpoints, one fails, one is a query, some have ended."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import md5
from types import SimpleNamespace
from typing import Any

from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.back_pressure import PressureView, diagnose, status_of, together
from funke.engine.jobs.views.flame_graph import WAITING, FlameGraph, FlameKind
from funke.engine.jobs.views.job_view import (
    CheckpointsView,
    CheckpointView,
    EdgeView,
    ExceptionView,
    JobView,
    MetricsView,
    OperatorView,
    SlotSnapshotView,
    StatementView,
    StateView,
    StatusEntry,
    SubtaskView,
    VertexView,
)
from funke.engine.operators.patterns.conditions import OfColumns
from funke.engine.operators.patterns.pattern import Contiguity, Pattern, Stage
from funke.engine.operators.patterns.picture import shown_states
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.types.job_status import JobStatus

S = ExecutionState
NOW = int(time.time() * 1000)
MINUTE, HOUR = 60_000, 3_600_000
MB = 1_000_000


def job_id(name: str) -> str:
    """An id that stays the same from run to run."""
    return md5(name.encode()).hexdigest()


@dataclass(frozen=True)
class Vertex:
    """A vertex as it is to be shown: its operators, and for each subtask how busy and how pressed it is."""

    operators: tuple[str, ...]
    loads: tuple[tuple[float, float], ...]
    records: tuple[int, ...]
    rate: float
    inputs: tuple[int, ...] = ()
    late: int = 0
    ship: str = "HASH"


def _operator(job: str, vertex: int, number: int, name: str) -> OperatorView:
    own = md5(f"{job}/{vertex}/{number}".encode()).hexdigest()
    line = None if ":" in name else f"/home/ada/shop/orders.py:{17 + 9 * vertex + number}"
    return OperatorView(own, name, name.lower() if number == 0 else None, line)


def _pressure(busy: float, back: float) -> PressureView:
    in_usage = 1.0 if busy > 0.9 else 0.1
    return PressureView(status_of(back), back, busy, in_usage, back, back > 0.1, diagnose(in_usage, back, busy))


def job(
    name: str, output: tuple[Vertex, ...], status: JobStatus = JobStatus.RUNNING, age_ms: int = 3 * HOUR, **changes: Any
) -> JobView:
    """A job of vertices."""
    begun = NOW - age_ms
    is_over = status.is_globally_terminal_state()
    state = {JobStatus.FINISHED: S.FINISHED, JobStatus.FAILED: S.FAILED, JobStatus.CANCELED: S.CANCELED}.get(
        status, S.RUNNING
    )
    entered = {S.CREATED: begun, S.SCHEDULED: begun + 300, S.DEPLOYING: begun + 800, S.RUNNING: begun + 2_600}
    ended_ms = begun + age_ms // 3 if is_over else None
    if ended_ms is not None:
        entered[state] = ended_ms
    vertices: list[VertexView] = []
    tasks: dict[int, dict[int, dict[str, Any]]] = {}
    operators: dict[str, dict[int, dict[str, Any]]] = {}
    for number, each in enumerate(output):
        chain = tuple(_operator(name, number, location, text) for location, text in enumerate(each.operators))
        subtasks = tuple(
            SubtaskView(i, 0, state, entered, i, f"worker-{1 + i % 2}", None if is_over else _pressure(*load))
            for i, load in enumerate(each.loads)
        )
        pressures = [one.pressure for one in subtasks if one.pressure is not None]
        pressure = together(pressures) if pressures else None
        name_of = " -> ".join(each.operators)
        vertices.append(VertexView(number, name_of, chain, len(each.loads), 128, subtasks=subtasks, pressure=pressure))
        tasks[number] = {
            i: {
                "busyTimeMsPerSecond": 1000 * busy,
                "backPressuredTimeMsPerSecond": 1000 * back,
                "idleTimeMsPerSecond": 1000 * (1 - busy - back),
                "numBytesIn": 90 * each.records[i],
                "numBytesOut": 70 * each.records[i],
                "numBytesInPerSecond": 90 * each.rate / len(each.loads),
                "numBytesOutPerSecond": 70 * each.rate / len(each.loads),
                "inPoolUsage": busy,
                "outPoolUsage": back,
                "slotMemoryUsed": (140 + 60 * i) << 20,
            }
            for i, (busy, back) in enumerate(each.loads)
        }
        for location, operator in enumerate(chain):
            operators[operator.id] = {
                i: {
                    **({"numRecordsIn": each.records[i]} if each.inputs or location else {}),
                    **({"numRecordsInPerSecond": each.rate / len(each.loads)} if each.inputs or location else {}),
                    "numRecordsOut": each.records[i],
                    "numRecordsOutPerSecond": each.rate / len(each.loads),
                    **({"currentInputWatermark": NOW - 2_400 - 300 * i} if each.inputs else {}),
                    **({"numLateRecordsDropped": each.late // len(each.loads)} if each.late else {}),
                }
                for i in range(len(each.loads))
            }
    for number, each in enumerate(output):
        if each.late:
            for i in range(len(each.loads)):
                tasks[number][i]["numLateRecordsDropped"] = each.late // len(each.loads)
    edges = tuple(
        EdgeView(source, vertices[source].operators[-1].id, number, vertices[number].operators[0].id, each.ship)
        for number, each in enumerate(output)
        for source in each.inputs
    )
    history = [StatusEntry(JobStatus.CREATED, begun), StatusEntry(JobStatus.RUNNING, begun + 2_600)]
    if status is not JobStatus.RUNNING:
        history.append(StatusEntry(status, ended_ms or NOW - 9_000))
    view = JobView(
        job_id(name),
        name,
        status,
        tuple(history),
        started_ms=begun,
        ended_ms=ended_ms,
        parallelism=max((len(each.loads) for each in output), default=1),
        slots=max((len(each.loads) for each in output), default=1),
        vertices=tuple(vertices),
        edges=edges,
        metrics=MetricsView({}, tasks, operators),
        configuration={
            "execution.checkpointing.interval": "1 min",
            "execution.checkpointing.dir": "file:///var/funke/checkpoints",
            "parallelism.default": "4",
            "pipeline.name": name,
            "restart-strategy.type": "exponential-delay",
            "s3.secret-key": "******",
            "state.backend.type": "rocksdb",
            "taskmanager.memory.process.size": "2 gb",
            "taskmanager.numberOfTaskSlots": "4",
            "pipeline.global-job-parameters": "region:EU,retries:3",
        },
        seen_ms=NOW,
    )
    return replace(view, **changes)


def checkpoints(ages_ms: tuple[int, ...], size: int, failed: tuple[tuple[int, str], ...] = ()) -> CheckpointsView:
    """Checkpoints that were completed so long ago, and others that have failed."""
    view = CheckpointsView()
    first = 400
    for number, age in enumerate(ages_ms):
        at = size + number * size // 40
        slots = tuple(
            SlotSnapshotView(i, 700.0 + 190 * i, 6.0 + i, at // 8 * (1 + i % 3), 900.0 + 260 * i) for i in range(4)
        )
        kind = "savepoint" if number == 3 else "checkpoint"
        path = f"file:///var/funke/checkpoints/{kind}-{first + number}"
        newest = CheckpointView(
            first + number,
            kind,
            "COMPLETED",
            NOW - age - 1300,
            1300.0 + 90 * number,
            at // 6,
            at,
            9.0,
            path,
            slots=slots,
        )
        view = view.with_completed(newest)
    for number, (age, why) in enumerate(failed):
        view = view.with_failed(
            CheckpointView(first + len(ages_ms) + number, "checkpoint", "FAILED", NOW - age, 600_000.0, failure=why)
        )
    return view


_TRACE = """Traceback (most recent call last):
  File "/opt/funke/engine/operators/records/map.py", line 61, in process_batch
    out.append(function(value))
  File "/home/ada/shop/orders.py", line 42, in parse
    return Order(row["id"], float(row["price"]))
KeyError: 'price'"""
_JAVA = """
org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2856)
\tat java.base/java.lang.Thread.run(Thread.java:840)"""


def _failure(age_ms: int, attempt: int, view: JobView) -> ExceptionView:
    operator = view.vertices[1].operators[0]
    return ExceptionView(
        NOW - age_ms,
        attempt,
        "operator 'parse' failed\n  in your job: orders.py:42",
        "KeyError",
        _TRACE + (_JAVA if attempt == 2 else ""),
        operator.name,
        operator.id,
        "/home/ada/shop/orders.py:42",
        1,
        attempt % 2,
        record="Row(id=17, card=******)",
    )


_SQL = """INSERT INTO top_bids
SELECT auction, MAX(price) AS top
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY auction, window_start, window_end
HAVING MAX(price) > 100"""
_PLAN = """Sink(table=[shop.top_bids], fields=[auction, top])
+- Calc(select=[auction, top], where=[top > 100])
   +- GroupWindowAggregate(groupBy=[auction], window=[TUMBLE(ts, 10 s)], select=[auction, MAX(price) AS top])
      +- Exchange(distribution=[hash[auction]])
         +- Calc(select=[auction, price, ts])
            +- TableSourceScan(table=[[shop, bids]], fields=[auction, price])"""


def _frame(name: str, value: int, *children: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "value": value, "children": list(children)}


_FLAME = _frame(
    "subtask",
    1000,
    _frame(
        "process_batch",
        930,
        _frame("enrich orders.py:35", 690, _frame("match re.py", 610), _frame("lookup orders.py:51", 60)),
        _frame("to_euro orders.py:36", 170),
    ),
    _frame("send_blocks", 50),
)


def _states(view: JobView) -> tuple[StateView, ...]:
    enrich, window = view.vertices[2].operators[0].id, view.vertices[3].operators[1].id
    return (
        StateView(window, "window-contents", "reducing", 2_300_000, 140 * MB),
        StateView(enrich, "rates", "map", 12_400, 31 * MB),
        StateView(enrich, "seen", "value", 410_000, 9 * MB),
    )


_EVEN = ((0.31, 0.0), (0.28, 0.0), (0.3, 0.0), (0.27, 0.0))
_SAME = (48_000_000, 47_800_000, 48_200_000, 47_900_000)
ORDERS = (
    Vertex(("Source: orders", "parse"), ((0.18, 0.74), (0.16, 0.78)), (96_000_000, 95_100_000), 412_000),
    Vertex(("Source: rates",), ((0.04, 0.0),), (12_400,), 3.2),
    Vertex(
        ("enrich", "to_euro", "drop_returns"),
        ((0.97, 0.0), (0.41, 0.0), (0.39, 0.0), (0.42, 0.0)),
        (118_000_000, 24_000_000, 23_500_000, 25_600_000),
        412_003,
        (0, 1),
        late=18_240,
    ),
    Vertex(("TumblingEventTimeWindows", "sum_by_region"), _EVEN, _SAME, 380_000, (2,)),
    Vertex(("Sink: pg",), ((0.22, 0.0), (0.2, 0.0)), (210_000, 209_400), 840, (3,), ship="REBALANCE"),
    Vertex(("Sink: late_orders",), ((0.01, 0.0),), (18_240,), 1.4, (2,), ship="REBALANCE"),
)
CLICKS = (
    Vertex(("Source: clicks",), ((0.4, 0.02), (0.38, 0.0)), (800_000_000, 790_000_000), 1_240_000),
    Vertex(("sessions", "Sink: pg"), ((0.52, 0.0), (0.5, 0.0)), (800_000_000, 789_000_000), 1_240_000, (0,)),
)
SENSORS = (
    Vertex(("Source: sensors",), ((0.1, 0.0), (0.1, 0.0)), (40_000, 40_000), 900),
    Vertex(("parse", "Sink: out"), ((0.1, 0.0), (0.1, 0.0)), (40_000, 40_000), 900, (0,)),
)
QUERY = (
    Vertex(
        ("TableSourceScan(table=[[shop, bids]], fields=[auction, price])", "Calc(select=[auction, price, ts])"),
        ((0.2, 0.0), (0.2, 0.0)),
        (9_000_000, 9_100_000),
        88_000,
    ),
    Vertex(
        (
            "GroupWindowAggregate(groupBy=[auction], window=[TUMBLE(ts, 10 s)], select=[auction, MAX(price) AS top])",
            "Calc(select=[auction, top], where=[top > 100])",
            "Sink(table=[shop.top_bids], fields=[auction, top])",
        ),
        ((0.44, 0.0), (0.4, 0.0)),
        (9_000_000, 9_050_000),
        88_000,
        (0,),
    ),
)


def with_attempts(view: JobView, failures_ago_ms: tuple[int, ...]) -> JobView:
    """A job that failed so long ago, and ran again some seconds later each time but the last."""
    began = view.started_ms
    history = [StatusEntry(JobStatus.CREATED, began)]
    runs: list[dict[S, int]] = []
    for ago_ms in failures_ago_ms:
        failed = NOW - ago_ms
        history += [StatusEntry(JobStatus.RUNNING, began + 2_600), StatusEntry(JobStatus.FAILING, failed)]
        history += [StatusEntry(JobStatus.RESTARTING, failed + 20), StatusEntry(JobStatus.CREATED, failed + 9_000)]
        runs.append({S.SCHEDULED: began + 300, S.DEPLOYING: began + 800, S.RUNNING: began + 2_600, S.CANCELED: failed})
        began = failed + 9_000
    vertices = tuple(
        replace(
            vertex,
            prior=tuple(
                SubtaskView(each.subtask, attempt, S.CANCELED, entered, each.slot)
                for attempt, entered in enumerate(runs[:-1])
                for each in vertex.subtasks
            ),
            subtasks=tuple(
                replace(each, attempt=len(runs) - 1, state=S.CANCELED, entered_ms=runs[-1], pressure=None)
                for each in vertex.subtasks
            ),
        )
        for vertex in view.vertices
    )
    return replace(view, status_history=tuple(history[:-1]), vertices=vertices)


def _with_pattern(view: JobView, vertex: int) -> JobView:
    """The job with a pattern in the first operator of a vertex."""
    small, large = (OfColumns(text, None) for text in ("amount < 1", "amount > 500"))
    pattern = Pattern((Stage("small", small), Stage("large", large, Contiguity.RELAXED)), 60_000)
    changed = view.vertices[vertex]
    head = replace(changed.operators[0], pattern=shown_states(pattern))
    for metrics in view.metrics.operators[head.id].values():
        metrics.update({"partialMatches.large": 21_000, "conditionChecks.small": 1_000, "conditionFailures.small": 20})
        metrics.update({"conditionChecks.large": 60_000, "conditionFailures.large": 57_000})
    vertices = list(view.vertices)
    vertices[vertex] = replace(changed, operators=(head, *changed.operators[1:]))
    return replace(view, vertices=tuple(vertices))


def all_jobs() -> list[JobView]:
    """Every job that the pages are shown with, the oldest first."""
    global NOW
    NOW = int(time.time() * 1000)  # not when the file was loaded, which may be minutes ago
    ages = tuple(10_000 * n + 4_000 for n in reversed(range(9)))
    orders = job("orders", ORDERS, checkpoints=checkpoints(ages, 180 * MB))
    orders = replace(orders, checkpoints=replace(orders.checkpoints, states=_states(orders)))
    for metrics in orders.metrics.operators[orders.vertices[2].operators[0].id].values():
        metrics.update(numRowsInMemoryOfInput0=310_000, stateBytesOfInput0=28 * MB)
        metrics.update(numRowsInMemoryOfInput1=3_100, stateBytesOfInput1=MB // 4)
    orders.metrics.tasks[2][0].update(busiestLine="orders.py:35 in enrich", busiestLineShare=0.69)
    held = 'sink "pg" holds the epoch: its commit has not returned for 10 min'
    clicks = job(
        "clicks-to-sessions",
        CLICKS,
        age_ms=26 * HOUR,
        checkpoints=checkpoints((16 * MINUTE, 14 * MINUTE), 96 * MB, ((4 * MINUTE, held),)),
    )
    clicks = _with_pattern(clicks, 1)
    sensors = job("sensors", SENSORS, JobStatus.RESTARTING, 40 * MINUTE, restarts=3)
    sensors = replace(
        sensors,
        checkpoints=checkpoints((30_000,), 2 * MB),
        exceptions=tuple(
            _failure(age, attempt, sensors) for age, attempt in ((12_000, 2), (4 * MINUTE, 1), (8 * MINUTE, 0))
        ),
    )
    sensors = with_attempts(sensors, (8 * MINUTE, 4 * MINUTE, 12_000))
    query = job(
        "top-bids",
        QUERY,
        age_ms=50 * MINUTE,
        checkpoints=checkpoints((8_000,), 14 * MB),
        statements=(StatementView(_SQL, _PLAN),),
    )
    waiting = job(
        "backfill-2026",
        (),
        JobStatus.CREATED,
        2 * MINUTE,
        waiting_for="4 slots: 0 of 12 are free",
        status_history=(StatusEntry(JobStatus.CREATED, NOW - 2 * MINUTE),),
    )
    finished = job("import-products", SENSORS, JobStatus.FINISHED, 9 * HOUR)
    cancelled = job("try-out", SENSORS, JobStatus.CANCELED, 30 * HOUR)
    failed = job("export-invoices", SENSORS, JobStatus.FAILED, 6 * HOUR)
    failed = replace(failed, exceptions=(_failure(4 * HOUR, 0, failed),))
    return [cancelled, clicks, finished, failed, orders, query, sensors, waiting]


@dataclass(frozen=True)
class ShownJob:
    """A job as the interface knows it, without a driver; notes what it is told."""

    seen: JobView
    commands: list[tuple[str, Any]] = field(default_factory=list)
    is_driven: bool = True
    kept: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def job_id(self) -> str:
        return self.seen.job_id

    @property
    def tasks(self) -> Any:
        return self.seen.state_counts

    @property
    def record(self) -> Any:
        return SimpleNamespace(job_id=self.job_id, run_id=f"run-{self.job_id[:8]}")

    def view(self) -> JobView:
        return self.seen

    def commanded(self) -> Any:
        return self

    def flame_graph(self, vertex_id: int, kind: FlameKind, subtask: int | None) -> FlameGraph:
        return FlameGraph(NOW - HOUR, _FLAME) if self.seen.name == "orders" else WAITING

    def cancel(self) -> None:
        self.commands.append(("cancel", None))

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        return {0: (ThreadStack("MainThread", '  File "orders.py", line 35, in enrich\n'),)}

    def set_log_levels(self, default: str, overrides: dict[str, str]) -> None:
        self.commands.append(("log levels", (default, overrides)))

    def savepoint(self, folder: str | None, afterwards: str) -> Future[str]:
        self.commands.append(("savepoint", (folder, afterwards)))
        newest: Future[str] = Future()
        newest.set_result(f"{folder or 'file:///var/funke/savepoints'}/savepoint-409")
        return newest


@dataclass(frozen=True)
class ShownJobs:
    """Stands where the folder of records does."""

    jobs: list[ShownJob]

    def all(self) -> list[ShownJob]:
        return self.jobs

    def find(self, job_id: str) -> ShownJob | None:
        return next((each for each in self.jobs if each.job_id == job_id), None)
