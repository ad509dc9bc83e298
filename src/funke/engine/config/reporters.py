"""Reporters of metrics by Flink's keys: `metrics.reporter.<name>.factory.class`, `.host`, `.port`, `.interval`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from funke.engine.config import rest_options as options
from funke.engine.config.option_values import parse_duration
from funke.engine.config.settings import Settings

__all__ = ["PREFIX", "ReporterSettings", "reporters_of"]

PREFIX = "metrics.reporter."
_KINDS = {
    "prometheus": "prometheus",
    "slf4j": "log",
    "logging": "log",
    "log": "log",
    "statsd": "statsd",
    "opentelemetrymetric": "otel",
}
# What each kind reads beside its class and interval.
_READ = {
    "prometheus": ("port",),
    "statsd": ("host", "port"),
    "otel": (
        "exporter.endpoint",
        "exporter.protocol",
        "exporter.timeout",
        "service.name",
        "service.version",
        "scope.variables.additional",
    ),
}
_DEFAULT_PORTS = {"statsd": "8125"}
_DEFAULT_PORT = "9249"
_DEFAULT_INTERVAL = "60 s"


@dataclass(frozen=True)
class ReporterSettings:
    """A reporter that is set up; of another kind than those known here, `kind` is empty."""

    name: str
    kind: str
    factory: str
    ports: str = _DEFAULT_PORT
    interval_s: float = 60.0
    # Of one that sends.
    host: str = "localhost"
    # All that is set of it, by the last part of its keys.
    properties: Mapping[str, str] = field(default_factory=dict)

    def reads(self, key: str) -> bool:
        """Whether a setting of it has an effect; named without what all of its keys begin with."""
        return key in ("factory.class", "interval", *_READ.get(self.kind, ()))


def reporters_of(settings: Settings) -> list[ReporterSettings]:
    """The reporters that the configuration names, in its order.

    >>> found = reporters_of(Settings({"metrics.reporter.prom.factory.class": "x.PrometheusReporterFactory"}))
    >>> [(each.name, each.kind, each.ports) for each in found]
    [('prom', 'prometheus', '9249')]
    """
    names_option = settings.get(options.METRICS_REPORTERS)
    chosen = None if names_option is None else {part.strip() for part in str(names_option).split(",")}
    names = dict.fromkeys(key[len(PREFIX) :].partition(".")[0] for key in settings if key.startswith(PREFIX))
    return [_reporter(settings, name) for name in names if chosen is None or name in chosen]


def _reporter(settings: Settings, name: str) -> ReporterSettings:
    def value(key: str, default: str) -> str:
        return str(settings.raw(f"{PREFIX}{name}.{key}", default))

    factory = value("factory.class", "")
    short = factory.rpartition(".")[2].lower()
    kind = next((kind for word, kind in _KINDS.items() if short.startswith(word) and "pushgateway" not in short), "")
    interval = parse_duration(value("interval", _DEFAULT_INTERVAL)).to_millis() / 1000
    port = value("port", _DEFAULT_PORTS.get(kind, _DEFAULT_PORT))
    own = f"{PREFIX}{name}."
    properties = {key.removeprefix(own): str(settings.raw(key)) for key in settings if key.startswith(own)}
    return ReporterSettings(name, kind, factory, port, max(1.0, interval), value("host", "localhost"), properties)
