"""The identity of a job."""

from __future__ import annotations

import uuid

__all__ = ["JobID"]


class JobID:
    """Identifies a job: 32 hexadecimal digits, random when none are given.

    >>> from funke.common import JobID
    >>> str(JobID("8c2c4c3f0d0c4f6a9f8d7c6b5a493827"))  # JobClient.get_job_id() returns that of a job
    '8c2c4c3f0d0c4f6a9f8d7c6b5a493827'
    """

    __slots__ = ("_hex",)

    def __init__(self, job_id: str | None = None) -> None:
        self._hex = job_id if job_id is not None else uuid.uuid4().hex

    def __str__(self) -> str:
        return self._hex

    def __repr__(self) -> str:
        return f"JobID({self._hex!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash(self._hex)
