"""OpenTelemetry's protocol over gRPC, Flink's default; its client and messages are the extra `otlp-grpc`."""

from __future__ import annotations

import urllib.parse
from typing import Any

from funke.engine.errors import ConfigurationError

__all__ = ["GrpcCollector"]


class GrpcCollector:
    """A collector that takes metrics over gRPC."""

    def __init__(self, endpoint: str, timeout_s: float) -> None:
        try:
            import grpc
            from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
        except ImportError as error:
            raise ConfigurationError(
                "exporter.protocol is gRPC, which needs `pip install 'funke[otlp-grpc]'`; or set it to HTTP, and "
                f"exporter.endpoint to the port of the collector for that (4318): {error}"
            ) from None
        parts = urllib.parse.urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"exporter.endpoint must be like http://127.0.0.1:4317, got '{endpoint}'")
        # The environment's proxies are not for metrics, which name jobs and hosts.
        options = [("grpc.enable_http_proxy", 0)]
        if parts.scheme == "https":
            channel = grpc.secure_channel(parts.netloc, grpc.ssl_channel_credentials(), options)
        else:
            channel = grpc.insecure_channel(parts.netloc, options)
        self.endpoint = endpoint
        self._timeout_s = timeout_s
        self._failure: type[Exception] = grpc.RpcError
        self._message = metrics_service_pb2.ExportMetricsServiceRequest
        self._export = metrics_service_pb2_grpc.MetricsServiceStub(channel).Export

    def take(self, request: dict[str, Any]) -> None:
        """Sends a request in the form of JSON, of which protobuf knows how to make messages; OSError if it fails."""
        from google.protobuf.json_format import ParseDict

        try:
            self._export(ParseDict(request, self._message()), timeout=self._timeout_s)
        except self._failure as error:
            raise OSError(str(error)) from error
