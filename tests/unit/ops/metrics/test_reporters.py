"""Metrics for others: Prometheus' lines with Flink's names and labels, and lines in a log."""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.ops.metrics.otel import OtelSender
from funke.ops.metrics.prometheus import prometheus_text
from funke.ops.metrics.reporters import named_metrics, start_reporters
from funke.ops.metrics.statsd import StatsdSender
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.login import read_token
from tests.unit.ops.rest.job_samples import MAP, sample_view, submit

JOB = "1" * 32


def test_names_and_labels_are_flinks() -> None:
    lines = prometheus_text([sample_view(JOB)], {"numRunningJobs": 1, "version": "text"}).decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    (running,) = [line for line in values if line.startswith("flink_jobmanager_numRunningJobs{")]
    assert values[running] == "1.0"
    (restarts,) = [line for line in values if line.startswith("flink_jobmanager_job_numRestarts{")]
    assert f'job_id="{JOB}"' in restarts and 'job_name="orders"' in restarts
    tasks = [line for line in values if line.startswith("flink_taskmanager_job_task_numRecordsIn{")]
    assert [values[line] for line in tasks] == ["6.0", "2.0"]
    for label in (
        'task_name="Map -> Sink: out"',
        f'task_id="{MAP}"',
        'subtask_index="0"',
        'tm_id="worker-1-111111111111"',
    ):
        assert label in tasks[0]
    # Of a function's own: a meter has its rate under its name, as in Flink.
    own = [line for line in values if line.startswith("flink_taskmanager_job_task_operator_my_meter{")]
    assert [values[line] for line in own] == ["0.5"] and 'operator_name="Map"' in own[0]
    assert not any("version" in line for line in values)
    assert "# TYPE flink_taskmanager_job_task_numRecordsIn gauge" in lines


def test_a_port_of_its_own_and_lines_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = submit(str(tmp_path / "home"))
    cluster = Cluster(JobDirectory(str(tmp_path / "home")))
    settings = Settings(
        {
            "metrics.reporter.prom.factory.class": "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
            "metrics.reporter.prom.port": "0",
            "metrics.reporter.log.factory.class": "org.apache.flink.metrics.slf4j.Slf4jReporterFactory",
            "metrics.reporter.log.interval": "1 s",
            "metrics.reporter.other.factory.class": "org.apache.flink.metrics.graphite.GraphiteReporterFactory",
        }
    )
    with caplog.at_level(logging.INFO, "funke.metrics"):
        closing = start_reporters(settings, cluster, str(tmp_path / "home"))
        try:
            assert len(closing) == 2
            url = next(record.args[1] for record in caplog.records if record.args and len(record.args) == 2)  # type: ignore[index]
            assert httpx.get(f"{url}/metrics").status_code == 401
            headers = {"authorization": f"Bearer {read_token(str(tmp_path / 'home'))}"}
            answer = httpx.get(f"{url}/metrics", headers=headers)
            assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert "flink_jobmanager_job_numRestarts" in answer.text
            assert httpx.get(f"{url}/jobs", headers=headers).status_code == 404
            end = time.monotonic() + 30
            while "Map -> Sink: out.0.numRecordsIn: 6" not in caplog.text:
                assert time.monotonic() < end
                time.sleep(0.05)
        finally:
            for close in closing:
                close()
            job.release()
    assert "worker-1.taskmanager.orders.Map.0.my.meter: 0.5" in caplog.text
    assert list(named_metrics(Cluster(JobDirectory(str(tmp_path))))) == []


def test_packets_for_statsd(tmp_path: Path) -> None:
    job = submit(str(tmp_path / "home"))
    cluster = Cluster(JobDirectory(str(tmp_path / "home")))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(30)
        settings = Settings(
            {
                "metrics.reporter.st.factory.class": "org.apache.flink.metrics.statsd.StatsDReporterFactory",
                "metrics.reporter.st.host": "127.0.0.1",
                "metrics.reporter.st.port": str(listener.getsockname()[1]),
                "metrics.reporter.st.interval": "1 s",
            }
        )
        closing = start_reporters(settings, cluster, str(tmp_path / "home"))
        lines: list[str] = []
        while "worker-1.taskmanager.orders.Map.0.my.meter:0.5|g" not in lines:
            packet = listener.recv(65_536)
            assert len(packet) <= 1_400
            lines += packet.decode().splitlines()
        for close in closing:
            close()
        job.release()
    assert "worker-1.taskmanager.orders.Map -> Sink- out.0.numRecordsIn:6|g" in lines
    assert "jobmanager.orders.numRestarts:0|g" in lines
    # A negative gauge would be a change.
    mark = "worker-1.taskmanager.orders.Map.1.currentInputWatermark"
    assert lines[lines.index(f"{mark}:{-(2**63)}|g") - 1] == f"{mark}:0|g"
    assert not any("ExternalPath" in line for line in lines)


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", "x"), ("127.0.0.1", "0"), ("no host", "8125")])
def test_a_statsd_that_cannot_be(host: str, port: str) -> None:
    with pytest.raises(ConfigurationError, match="StatsD"):
        StatsdSender(host, port)


class Collector(BaseHTTPRequestHandler):
    """Takes what it is sent, and says no at first."""

    request_bodies: ClassVar[list[tuple[str, str | None, Any]]] = []
    answers: ClassVar[list[int]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.request_bodies.append((self.path, self.headers["content-type"], body))
        status = self.answers.pop(0) if self.answers else 200
        self.send_response(status)
        if status == 302:
            self.send_header("location", "/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


def otel_properties(port: int) -> dict[str, str]:
    return {
        "exporter.endpoint": f"http://127.0.0.1:{port}",
        "exporter.protocol": "HTTP",
        "service.name": "orders-service",
        "scope.variables.additional": "region:eu-west-1, stage:test",
    }


def test_opentelemetry(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = submit(str(tmp_path / "home"))
    cluster = Cluster(JobDirectory(str(tmp_path / "home")))
    Collector.request_bodies.clear()
    Collector.answers[:] = [503, 302]
    factory = "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory"
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        properties = {**otel_properties(server.server_port), "factory.class": factory, "interval": "1 s"}
        settings = Settings({f"metrics.reporter.otel.{key}": value for key, value in properties.items()})
        with caplog.at_level(logging.INFO, "funke.metrics"):
            closing = start_reporters(settings, cluster, str(tmp_path / "home"))
            end = time.monotonic() + 60
            while "are sent" not in caplog.text:
                assert time.monotonic() < end, caplog.text
                time.sleep(0.05)
            for close in closing:
                close()
        server.shutdown()
    job.release()
    # Two that failed are told once; a collector cannot send metrics elsewhere.
    assert caplog.text.count("cannot be sent") == 1
    assert {path for path, _, _ in Collector.request_bodies} == {"/v1/metrics"}
    _, kind, body = Collector.request_bodies[-1]
    assert kind == "application/json"
    (resource,) = body["resourceMetrics"]
    assert {"key": "service.name", "value": {"stringValue": "orders-service"}} in resource["resource"]["attributes"]
    metrics = {each["name"]: each["gauge"]["dataPoints"] for each in resource["scopeMetrics"][0]["metrics"]}
    first, second = metrics["flink.taskmanager.job.task.numRecordsIn"]
    assert (first["asInt"], second["asInt"]) == ("6", "2") and int(first["timeUnixNano"]) > 0
    labels = {each["key"]: each["value"]["stringValue"] for each in first["attributes"]}
    assert labels["task_name"] == "Map -> Sink: out" and labels["stage"] == "test"
    assert metrics["flink.taskmanager.job.task.operator.my.meter"][0]["asDouble"] == 0.5
    assert metrics["flink.jobmanager.numRunningJobs"][0]["asInt"] == "1"
    assert not any("ExternalPath" in name for name in metrics)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"exporter.protocol": "UDP"}, "exporter.protocol must be gRPC or HTTP, got 'UDP'"),
        ({"exporter.endpoint": "collector:4318"}, "exporter.endpoint must be like http://"),
        ({"exporter.endpoint": "file:///etc/passwd"}, "exporter.endpoint must be like http://"),
    ],
)
def test_a_collector_that_cannot_be(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        OtelSender({**otel_properties(1), **changed})


def test_grpc_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ConfigurationError, match=r"exporter.protocol is gRPC, which needs `pip install 'funke\[otlp"):
        OtelSender({**otel_properties(1), "exporter.protocol": "gRPC"})


def test_opentelemetry_over_grpc(caplog: pytest.LogCaptureFixture) -> None:
    grpc = pytest.importorskip("grpc")
    services = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc")
    messages = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    requests: list[Any] = []

    class GrpcService(services.MetricsServiceServicer):  # type: ignore[misc,name-defined]
        def Export(self, request: Any, context: Any) -> Any:
            requests.append(request)
            if len(requests) == 1:
                context.abort(grpc.StatusCode.UNAVAILABLE, "not yet")
            return messages.ExportMetricsServiceResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    services.add_MetricsServiceServicer_to_server(GrpcService(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.raises(ConfigurationError, match=r"exporter.endpoint must be like http://127.0.0.1:4317"):
        OtelSender({"exporter.endpoint": "collector:4317"})
    # Flink's default.
    sender = OtelSender({key: value for key, value in otel_properties(port).items() if key != "exporter.protocol"})
    with caplog.at_level(logging.INFO, "funke.metrics"):
        for _ in range(2):
            sender.send([("taskmanager.job.task", {"task_name": "Map"}, {"numRecordsIn": 6, "busy": 0.5, "line": "x"})])
    server.stop(None).wait()
    assert caplog.text.count("cannot be sent") == 1 and "not yet" in caplog.text and "are sent" in caplog.text
    (resource,) = requests[-1].resource_metrics
    assert {each.key: each.value.string_value for each in resource.resource.attributes}[
        "service.name"
    ] == "orders-service"
    points = {each.name: each.gauge.data_points[0] for each in resource.scope_metrics[0].metrics}
    assert points.keys() == {"flink.taskmanager.job.task.numRecordsIn", "flink.taskmanager.job.task.busy"}
    point = points["flink.taskmanager.job.task.numRecordsIn"]
    assert point.as_int == 6 and point.time_unix_nano > 0
    assert {each.key: each.value.string_value for each in point.attributes}["task_name"] == "Map"
    assert points["flink.taskmanager.job.task.busy"].as_double == 0.5
