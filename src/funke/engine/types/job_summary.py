"""What is known about a job that has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["JobSummary"]


@dataclass(frozen=True)
class JobSummary:
    """The outcome of a finished job; runtime without planning and start-up."""

    job_id: str
    net_runtime_ms: int
    accumulators: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
