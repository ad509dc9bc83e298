"""Jobs: submission, the coordinator that drives epochs, status and results."""

from funke.engine.jobs.running_job import JobOutcome, RunningJob, submit_job
from funke.engine.jobs.settings import JobSettings

__all__ = ["JobOutcome", "JobSettings", "RunningJob", "submit_job"]
