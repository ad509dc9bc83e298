"""Finds the job that a command names."""

from __future__ import annotations

from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import JobRecord, read_records

__all__ = ["find_job"]


def find_job(home: str, job_id: str) -> JobRecord:
    """The job with this id; the first characters of it are enough if they fit only one."""
    prefix = job_id.lower().replace("-", "")
    records = [record for record in read_records(home) if record.job_id.startswith(prefix)]
    if len(records) == 1:
        return records[0]
    if not records:
        raise ConfigurationError(f"no job '{job_id}' is known in {home}; `funke list -a` shows all jobs")
    raise ConfigurationError(f"'{job_id}' fits {len(records)} jobs: " + ", ".join(record.job_id for record in records))
