"""Reports metrics as configured: a port for Prometheus, lines in a log, StatsD, OpenTelemetry."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from funke.engine.config import rest_options
from funke.engine.config.reporters import ReporterSettings, reporters_of
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.ops.metrics.flink_metrics import metrics_of_job, metrics_of_operators, metrics_of_task
from funke.ops.metrics.otel import OtelSender
from funke.ops.metrics.prometheus import CONTENT_TYPE
from funke.ops.metrics.statsd import StatsdSender
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.guard import Guard
from funke.ops.rest.metrics_text import metrics_text, metrics_with_labels
from funke.ops.rest.server import RestServer, RestSettings

__all__ = ["named_metrics", "start_reporters"]

_LOG = logging.getLogger("funke.metrics")


def start_reporters(settings: Settings, cluster: Cluster, home: str) -> list[Callable[[], None]]:
    """Starts all that are set up; returns what ends them. One that cannot work is logged, and the others do."""
    closing: list[Callable[[], None]] = []
    for each in reporters_of(settings):
        try:
            if each.kind == "prometheus":
                closing.append(_serve(each, settings, cluster, home).close)
            elif each.kind == "log":
                closing.append(_Repeated(each, partial(_write_log, cluster)).start().close)
            elif each.kind == "statsd":
                sender = StatsdSender(each.host, each.ports)
                closing += [_Repeated(each, partial(_send, sender, cluster)).start().close, sender.close]
            elif each.kind == "otel":
                collector = OtelSender(each.properties)
                closing.append(_Repeated(each, partial(_export, collector, cluster)).start().close)
        except ConfigurationError as error:
            _LOG.error("reporter %s: %s", each.name, error)
    return closing


def _serve(reporter: ReporterSettings, settings: Settings, cluster: Cluster, home: str) -> RestServer:
    """A port of its own, as Flink's reporter has; the same addresses and callers as the interface."""

    def metrics(request: Request) -> Response:
        return Response(metrics_text(cluster), media_type=CONTENT_TYPE)

    ports = settings.copy()
    ports.set(rest_options.REST_BIND_PORT, reporter.ports)
    listening = RestSettings.of(ports, home)
    app = Starlette(routes=[Route("/", metrics), Route("/metrics", metrics)])
    server = RestServer(Guard(app, listening.access), listening).start()
    _LOG.info("reporter %s: metrics for Prometheus at %s", reporter.name, server.url)
    return server


class _Repeated:
    """Does something every interval, in a thread of its own."""

    def __init__(self, settings: ReporterSettings, report: Callable[[], None]) -> None:
        self._interval_s = settings.interval_s
        self._report = report
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"funke-reporter-{settings.name}", daemon=True)

    def start(self) -> _Repeated:
        self._thread.start()
        return self

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._is_over.wait(self._interval_s):
            self._report()


def _write_log(cluster: Cluster) -> None:
    for name, value in named_metrics(cluster):
        _LOG.info("%s: %s", name, value)


def _send(sender: StatsdSender, cluster: Cluster) -> None:
    sender.send(named_metrics(cluster))


def _export(collector: OtelSender, cluster: Cluster) -> None:
    collector.send(metrics_with_labels(cluster))


def named_metrics(cluster: Cluster) -> Iterator[tuple[str, Any]]:
    """Every metric of running jobs by its full name, as Flink's reporters without labels name them."""
    for job in cluster.jobs.all():
        if not job.is_driven or job.seen.status.is_globally_terminal_state():
            continue
        view = job.view()
        yield from ((f"jobmanager.{view.name}.{name}", value) for name, value in metrics_of_job(view).items())
        for vertex in view.vertices:
            for subtask in vertex.subtasks:
                scope = f"{subtask.host}.taskmanager.{view.name}"
                metrics = metrics_of_task(view, vertex, subtask.subtask)
                for name, value in metrics.items():
                    yield f"{scope}.{vertex.name}.{subtask.subtask}.{name}", value
                for operator, own in metrics_of_operators(view, vertex, subtask.subtask):
                    for name, value in own.items():
                        yield f"{scope}.{operator.name}.{subtask.subtask}.{name}", value
