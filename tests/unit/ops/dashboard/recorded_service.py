"""The REST interface and the dashboard over jobs that are made up, in this process, on a port of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from funke.engine.jobs.views.job_view import JobView
from funke.ops.dashboard.pages import dashboard_pages
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster, LogFolder, Slots
from funke.ops.rest.guard import Access
from tests.unit.ops.dashboard.shown_jobs import HOUR, MB, MINUTE, NOW, ShownJob, ShownJobs, job_id

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


_NOTHING: dict[str, Any] = {"statements": [], "operators": None}


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
_STATE = {
    "operators": [
        {
            "operator": "e",
            "name": "enrich",
            "states": [
                {"name": "rates", "kind": "MapState", "bytes": 31 * MB, "entries": 12_400},
                {"name": "seen", "kind": "ValueState", "bytes": 9 * MB, "entries": 410_000},
            ],
        },
        {
            "operator": "w",
            "name": "sum_by_region",
            "states": [{"name": "window-contents", "kind": "ReducingState", "bytes": 140 * MB, "entries": 2_300_000}],
        },
    ],
    "history": [{"at": NOW - (30 - n) * MINUTE, "bytes": 150 * MB + n * MB} for n in range(31)],
}


@dataclass
class Programs:
    """Takes programs, and runs none."""

    folder: str
    is_upload_allowed: bool = True
    submitted: list[list[str]] = field(default_factory=list)

    def submit(self, arguments: list[str], working_folder: str) -> str:
        self.submitted.append(arguments)
        return job_id("orders")

    def rescale(self, job_id: str, parallelism: int) -> str:
        return job_id

    def shut_down(self) -> None:
        raise AssertionError("nobody asks for that here")

    def count(self) -> Slots:
        return Slots(13, 3)


def _overlays() -> list[BaseRoute]:
    """What the service may know beside Flink's paths."""

    def told(path: str, content: Any, of: str) -> Route:
        async def endpoint(request: Any) -> JSONResponse:
            return JSONResponse(content if request.path_params["jobid"] == job_id(of) else _NOTHING)

        return Route(f"/v1{path}", endpoint)

    return [
        told("/funke/jobs/{jobid}/sql", {"statements": [{"sql": _SQL, "plan": _PLAN}]}, "top-bids"),
        told("/funke/jobs/{jobid}/state", _STATE, "orders"),
        told("/jobs/{jobid}/vertices/{vertexid}/flamegraph", {"endTimestamp": NOW - HOUR, "data": _FLAME}, "orders"),
    ]


@dataclass(frozen=True)
class RecordedService:
    """Where it listens, and what it was told."""

    url: str
    jobs: dict[str, ShownJob]
    programs: Programs
    _server: uvicorn.Server
    _thread: threading.Thread

    def stop(self) -> None:
        """No more answers."""
        self._server.should_exit = True
        self._thread.join(10)


@contextmanager
def recorded_service(folder: Path, views: list[JobView], access: Access | None = None) -> Iterator[RecordedService]:
    """Serves until the end of the block."""
    jobs = [ShownJob(view) for view in views]
    programs = Programs(str(folder / "programs"))
    cluster = Cluster(
        ShownJobs(jobs),  # type: ignore[arg-type]
        {"rest.port": "8081", "parallelism.default": "4", "web.submit.enable": "true", "a.password": "x"},
        LogFolder(str(folder)),
        programs,
        programs,
    )
    app = make_app(cluster, access or Access(), [*_overlays(), *dashboard_pages(cluster.logs)])
    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service has not started"
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    service = RecordedService(
        f"http://127.0.0.1:{port}", {each.seen.name: each for each in jobs}, programs, server, thread
    )
    try:
        yield service
    finally:
        service.stop()
