"""Jobs as their records show them: those that have ended, and those that another process runs."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from threading import Thread
from typing import Any

from funke.engine.config.secret_keys import masked
from funke.engine.errors import JobExecutionError, StateError
from funke.engine.graph.execution_graph import ExecutionVertex
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.engine.jobs.control import SILENCE_S, ask
from funke.engine.jobs.records.job_record import JobRecord
from funke.engine.jobs.views.flame_graph import TERMINATED, FlameGraph, FlameKind
from funke.engine.jobs.views.job_view import ExceptionView, JobView
from funke.engine.jobs.views.metric_names import metrics_by_name
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary
from funke.engine.types.json_form import from_json

__all__ = ["EndedJob", "RemoteJob", "recorded_view"]


def recorded_view(record: JobRecord) -> JobView:
    """What was last written down about a job, with how it stands for those who look at it now."""
    state, written = record.observed_state(), record.view()
    if written is None:
        written = JobView(
            record.job_id,
            record.name,
            state.status,
            started_ms=record.started_ms,
            configuration=masked(record.configuration),
            seen_ms=record.started_ms,
        )
    first_lines = {failure.message.partition("\n")[0] for failure in written.exceptions}
    further = [text for text in state.failures if text.partition("\n")[0] not in first_lines]
    exceptions = (*(ExceptionView(0, written.attempt, text) for text in reversed(further)), *written.exceptions)
    return replace(written, status=state.status, ended_ms=state.ended_ms, exceptions=exceptions)


class EndedJob:
    """A job that an earlier run of the program has seen to its end: it is not run again."""

    def __init__(self, record: JobRecord) -> None:
        self.job_id = record.job_id
        self._record = record
        self._state = record.state()
        self.result_future: Future[JobSummary] = Future()
        if self._state.status is JobStatus.FINISHED:
            runtime_ms = (self._state.ended_ms or self._state.started_ms) - record.started_ms
            self.result_future.set_result(JobSummary(self.job_id, runtime_ms, metrics=self.metrics()))
        else:
            reason = self._state.failures[-1] if self._state.failures else self._state.status.name
            self.result_future.set_exception(JobExecutionError(f"the job had ended before: {reason}"))

    def status(self) -> JobStatus:
        """How the job has ended."""
        return self._state.status

    def view(self) -> JobView:
        """What was seen of it last."""
        return recorded_view(self._record)

    def flame_graph(self, vertex_id: int, kind: FlameKind = "FULL", subtask: int | None = None) -> FlameGraph:
        """None was kept."""
        return TERMINATED

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        """No thread of it is left."""
        return {}

    def cancel(self) -> Future[None]:
        """Nothing is left to cancel."""
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def savepoint(self, folder: str | None = None, afterwards: Afterwards = "go on") -> Future[str]:
        """There is nothing left to write down."""
        raise StateError(f"job {self.job_id} has ended")

    def checkpoint(self, is_full: bool = False) -> Future[int]:
        """There is nothing left to write down."""
        raise StateError(f"job {self.job_id} has ended")

    def set_log_levels(self, default: str, overrides: Mapping[str, str]) -> None:
        """Nothing of it logs any more."""
        raise StateError(f"job {self.job_id} has ended")

    def result(self) -> JobSummary:
        """The summary, or what made the job fail."""
        return self.result_future.result()

    def collected(self, name: str) -> Iterator[list[Any]]:
        """What the job has sent to the driver went with the driver of that time."""
        raise StateError(f"job {self.job_id} had ended before the program was run again; its results were not kept")
        yield []

    def exceptions(self) -> tuple[ExceptionView, ...]:
        """The last failures, newest first."""
        return self.view().exceptions

    def executions(self) -> list[ExecutionVertex]:
        """The subtasks as they ended."""
        return [
            ExecutionVertex(vertex.id, vertex.name, each.subtask, vertex.parallelism, each.attempt, each.state)
            for vertex in self.view().vertices
            for each in vertex.subtasks
        ]

    def accumulators(self) -> dict[str, Any]:
        """None were kept."""
        return {}

    def metrics(self) -> dict[str, Any]:
        """What was measured last."""
        view = self.view()
        return metrics_by_name(view.metrics, view.vertices)


class RemoteJob:
    """A job that another process of this user runs; every call is a command to that process."""

    def __init__(self, record: JobRecord, silence_s: float = SILENCE_S) -> None:
        """`silence_s` is how long the other process may say nothing."""
        self.job_id = record.job_id
        self._record = record
        self._silence_s = silence_s

    def status(self) -> JobStatus:
        """Where the job stands."""
        return JobStatus[self._answer("status")]

    def view(self) -> JobView:
        """All there is to see of it."""
        return from_json(JobView, self._answer("view"))

    def flame_graph(self, vertex_id: int, kind: FlameKind = "FULL", subtask: int | None = None) -> FlameGraph:
        """Which functions take the time of a vertex, or of one of its subtasks."""
        asked = {"vertex_id": vertex_id, "kind": kind, "subtask": subtask}
        return from_json(FlameGraph, self._answer("flame_graph", **asked))

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        """What the threads of each slot do."""
        answer = self._answer("threads")
        return {int(slot): tuple(from_json(ThreadStack, each) for each in stacks) for slot, stacks in answer.items()}

    def cancel(self) -> Future[None]:
        """Ends the job."""
        return self._ask("cancel")

    def savepoint(self, folder: str | None = None, afterwards: Afterwards = "go on") -> Future[str]:
        """Takes a savepoint."""
        return self._ask("savepoint", folder=folder, afterwards=afterwards)

    def checkpoint(self, is_full: bool = False) -> Future[int]:
        """Takes a checkpoint now."""
        return self._ask("checkpoint", is_full=is_full)

    def set_log_levels(self, default: str, overrides: Mapping[str, str]) -> None:
        """From which level on its functions log."""
        self._answer("log_levels", default=default, overrides=dict(overrides))

    def _ask(self, command: str, **arguments: Any) -> Future[Any]:
        answer: Future[Any] = Future()

        def wait() -> None:
            try:
                answer.set_result(self._answer(command, **arguments))
            except BaseException as error:
                answer.set_exception(error)

        Thread(target=wait, name="funke-command", daemon=True).start()
        return answer

    def _answer(self, command: str, **arguments: Any) -> Any:
        try:
            return ask(self._record.control_path, command, self._silence_s, **arguments)
        except StateError as error:
            owner = self._record.owner()
            if owner is None or not owner.is_alive or owner.host == socket.gethostname():
                raise
            raise StateError(
                f"the job's driver runs on host '{owner.host}', where commands for the job must be given: {error}"
            ) from error
