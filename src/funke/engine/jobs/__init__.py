"""Jobs: submission, the coordinator that drives epochs, status and results."""

from __future__ import annotations

from funke.engine.jobs.running_job import RunningJob, submit_job
from funke.engine.jobs.settings import JobSettings

__all__ = ["JobSettings", "RunningJob", "submit_job"]
