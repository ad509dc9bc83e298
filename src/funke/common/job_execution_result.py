"""The result of a job that has ended."""

from __future__ import annotations

from typing import Any

from funke.common.job_id import JobID
from funke.engine.types.job_summary import JobSummary

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Tells how long a job ran and what its accumulators held at the end.

    >>> from funke.common import JobExecutionResult
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.from_collection([1, 2, 3]).filter(lambda number: False).print()
    >>> result: JobExecutionResult = env.execute("Nothing to print")
    >>> result.get_net_runtime() >= 0, result.get_all_accumulator_results()
    (True, {})
    """

    def __init__(self, summary: JobSummary) -> None:
        self._summary = summary

    def get_job_id(self) -> JobID:
        """Return the identity of the job."""
        return JobID(self._summary.job_id)

    def get_net_runtime(self) -> int:
        """Return the milliseconds the job ran, without planning and start-up."""
        return self._summary.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the value of an accumulator, or None when there is none of that name."""
        return self._summary.accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the values of all accumulators by name."""
        return dict(self._summary.accumulators)

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._summary.job_id} has finished.",
            f"Job Runtime: {self._summary.net_runtime_ms} ms",
        ]
        if self._summary.accumulators:
            lines.append("Accumulator Results: ")
            lines += [f"- {name}: {value}" for name, value in sorted(self._summary.accumulators.items())]
        return "\n".join(lines) + "\n"
