"""Metrics for OpenTelemetry: its protocol in the form of JSON over HTTP, which needs nothing, or over gRPC."""

from __future__ import annotations

import json
import logging
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any

from funke import __version__
from funke.engine.config.option_values import parse_duration
from funke.engine.errors import ConfigurationError
from funke.ops.metrics.flink_metrics import plain_metrics
from funke.ops.metrics.labelled_metrics import LabelledMetrics
from funke.ops.metrics.otel_grpc import GrpcCollector

__all__ = ["OtelSender"]

_LOG = logging.getLogger("funke.metrics")
_PATH = "/v1/metrics"


class OtelSender:
    """Sends gauges to a collector; whether it is there is said when that changes."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """`properties` are those of the reporter, by Flink's names."""
        self._collector = _collector(properties)
        names = {"service.name": "funke", "service.version": __version__}
        self._resource = _attributes({key: properties.get(key, default) for key, default in names.items()})
        self._further = _variables(properties.get("scope.variables.additional", ""))
        self._is_heard = True

    def send(self, metrics: Iterable[LabelledMetrics]) -> None:
        """Sends those that are numbers, in one request."""
        try:
            self._collector.take(self._to_request(metrics, time.time_ns()))
        except (OSError, ValueError) as error:
            if self._is_heard:
                _LOG.warning("metrics cannot be sent to %s: %s", self._collector.endpoint, error)
            self._is_heard = False
            return
        if not self._is_heard:
            _LOG.info("metrics are sent to %s again", self._collector.endpoint)
        self._is_heard = True

    def _to_request(self, metrics: Iterable[LabelledMetrics], now_ns: int) -> dict[str, Any]:
        points: dict[str, list[dict[str, Any]]] = {}
        for scope, labels, values in metrics:
            attributes = _attributes({**labels, **self._further})
            for name, value in plain_metrics(values).items():
                number = _number(value)
                if number:
                    point = {"timeUnixNano": str(now_ns), "attributes": attributes, **number}
                    points.setdefault(f"flink.{scope}.{name}", []).append(point)
        gauges = [{"name": name, "gauge": {"dataPoints": data_points}} for name, data_points in points.items()]
        scoped = {"scope": {"name": "org.apache.flink.metrics"}, "metrics": gauges}
        return {"resourceMetrics": [{"resource": {"attributes": self._resource}, "scopeMetrics": [scoped]}]}


class _HttpCollector:
    """A collector that takes metrics over HTTP."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self.endpoint = url
        self._timeout_s = timeout_s
        # Redirections and the environment's proxies are not for metrics, which name jobs and hosts.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirection())

    def take(self, request: dict[str, Any]) -> None:
        """Sends a request."""
        body, head = json.dumps(request).encode(), {"Content-Type": "application/json"}
        with self._opener.open(
            urllib.request.Request(self.endpoint, body, head, method="POST"), timeout=self._timeout_s
        ):
            pass


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """Takes an answer that points elsewhere for an error."""

    def redirect_request(self, *_: Any) -> None:
        """Goes nowhere."""


def _collector(properties: Mapping[str, str]) -> _HttpCollector | GrpcCollector:
    timeout_s = parse_duration(properties.get("exporter.timeout", "10 s")).to_millis() / 1000
    protocol, endpoint = properties.get("exporter.protocol", "gRPC"), properties.get("exporter.endpoint", "")
    if protocol.lower() == "grpc":
        return GrpcCollector(endpoint, timeout_s)
    if protocol.lower() == "http":
        return _HttpCollector(_url(endpoint), timeout_s)
    raise ConfigurationError(f"exporter.protocol must be gRPC or HTTP, got '{protocol}'")


def _url(endpoint: str) -> str:
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"exporter.endpoint must be like http://127.0.0.1:4318{_PATH}, got '{endpoint}'")
    return urllib.parse.urlunsplit(parts._replace(path=parts.path if parts.path.strip("/") else _PATH))


def _variables(text: str) -> dict[str, str]:
    pairs = [part.partition(":") for part in text.split(",") if part.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]


def _number(value: Any) -> dict[str, Any]:
    """Integers are strings, because JSON numbers would lose digits; values that are not numbers are left out."""
    if isinstance(value, int):
        return {"asInt": str(int(value))} if -(2**63) <= value < 2**63 else {}
    return {"asDouble": value} if isinstance(value, float) and math.isfinite(value) else {}
