"""The REST interface and the dashboard over jobs that are made up, in this process, on a port of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from funke.engine.jobs.views.job_view import JobView
from funke.ops.dashboard.pages import dashboard_pages
from funke.ops.history.metric_history import MetricHistory
from funke.ops.rest.answering import DirectAnswers
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster, LogFolder, Slots
from funke.ops.rest.guard import Access
from tests.unit.ops.dashboard.shown_jobs import ShownJob, ShownJobs, job_id


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
def recorded_service(
    folder: Path, views: list[JobView], access: Access | None = None, history: MetricHistory | None = None
) -> Iterator[RecordedService]:
    """Serves until the end of the block."""
    jobs = [ShownJob(view) for view in views]
    programs = Programs(str(folder / "programs"))
    cluster = Cluster(
        ShownJobs(jobs),  # type: ignore[arg-type]
        {"rest.port": "8081", "parallelism.default": "4", "web.submit.enable": "true", "a.password": "x"},
        LogFolder(str(folder)),
        programs,
        programs,
        history=history or MetricHistory(),
        is_service_run=lambda run_id: run_id != f"run-{job_id('try-out')[:8]}",
    )
    app = make_app(cluster, access or Access(), dashboard_pages(cluster.logs, DirectAnswers(cluster).of))
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
