"""Whether the blocks of a job are pushed from slot to slot, or travel in epochs through Spark's shuffle."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.errors import ConfigurationError
from funke.engine.graph.job_graph import JobGraph
from funke.engine.graph.operations import ReadSource, WriteSink

__all__ = ["ExchangeMode", "exchange_mode"]


@dataclass(frozen=True)
class ExchangeMode:
    """The way, and why it was chosen."""

    is_pipelined: bool
    reason: str

    def __str__(self) -> str:
        return f"{'pipelined' if self.is_pipelined else 'blocking'}: {self.reason}"


def exchange_mode(graph: JobGraph, configured: str = "auto") -> ExchangeMode:
    """Flink's two kinds of exchange: streams are pipelined, unless Spark itself has a part in them."""
    if configured not in ("auto", "pipelined", "blocking"):
        raise ConfigurationError(f"funke.exchange is 'auto', 'pipelined' or 'blocking', not '{configured}'")
    unsupported_reason = _unsupported_reason(graph)
    if configured == "blocking":
        return ExchangeMode(False, "the configuration says so")
    if unsupported_reason is not None:
        if configured == "pipelined":
            raise ConfigurationError(f"funke.exchange is 'pipelined', but {unsupported_reason}")
        return ExchangeMode(False, unsupported_reason)
    return ExchangeMode(True, "nothing stands against it" if configured == "auto" else "the configuration says so")


def _unsupported_reason(graph: JobGraph) -> str | None:
    if graph.is_batch:
        return "the job runs in batch mode"
    for vertex in graph.vertices:
        for operator in vertex.operators:
            operation = operator.operation
            if isinstance(operation, ReadSource) and operation.source.is_spark:
                return f"Spark itself reads '{operator.name}'"
            if isinstance(operation, WriteSink) and operation.sink.is_spark:
                return f"Spark itself writes '{operator.name}'"
    return None
