"""The states a job goes through."""

from __future__ import annotations

from funke.engine.types.job_status import JobStatus

__all__ = ["JobStatus"]
