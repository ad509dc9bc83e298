"""Where every subtask of a job stands by Flink's state machine of tasks, now and in the attempts before."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from funke.engine.errors import JobExecutionError
from funke.engine.graph.execution_graph import ExecutionState, ExecutionVertex, to_execution_graph
from funke.engine.graph.job_graph import JobGraph
from funke.engine.planner.plan import Plan

__all__ = ["JobExecutions"]

_S = ExecutionState
_ACTIVE = (_S.CREATED, _S.SCHEDULED, _S.DEPLOYING, _S.INITIALIZING, _S.RUNNING)
_NEXT: dict[ExecutionState, frozenset[ExecutionState]] = {
    **{state: frozenset({*_ACTIVE[number + 1 :], _S.CANCELING, _S.FAILED}) for number, state in enumerate(_ACTIVE)},
    _S.RUNNING: frozenset({_S.FINISHED, _S.CANCELING, _S.FAILED}),
    _S.CANCELING: frozenset({_S.CANCELED, _S.FAILED}),
    _S.FINISHED: frozenset(),
    _S.CANCELED: frozenset(),
    _S.FAILED: frozenset(),
}
_MOST_PRIOR = 16


def now_ms() -> int:
    return int(time.time() * 1000)


class JobExecutions:
    """The subtasks of a job; each attempt runs them anew, and the earlier runs are kept for a while."""

    def __init__(self, graph: JobGraph, plan: Plan, now_ms: Callable[[], int] = now_ms) -> None:
        self._now_ms = now_ms
        # Called when subtasks have entered a state.
        self.on_change: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        vertices = to_execution_graph(graph).vertices
        self._current = {(each.vertex_id, each.subtask): each for vertex in vertices for each in vertex.subtasks}
        self._first_slot = {vertex_id: placement.first_slot for vertex_id, placement in plan.placements.items()}
        self._prior: deque[tuple[ExecutionVertex, ...]] = deque(maxlen=_MOST_PRIOR)

    @property
    def current(self) -> list[ExecutionVertex]:
        """Every subtask in its latest attempt."""
        with self._lock:
            return list(self._current.values())

    def prior(self, vertex_id: int, subtask: int) -> list[ExecutionVertex]:
        """The earlier runs of a subtask, oldest first."""
        runs = [each for attempt in self.prior_attempts for each in attempt]
        return [each for each in runs if (each.vertex_id, each.subtask) == (vertex_id, subtask)]

    @property
    def prior_attempts(self) -> list[tuple[ExecutionVertex, ...]]:
        """All subtasks in earlier attempts, oldest first."""
        with self._lock:
            return list(self._prior)

    def slot_of(self, subtask: ExecutionVertex) -> int:
        """The slot in which a subtask runs."""
        return self._first_slot[subtask.vertex_id] + subtask.subtask

    def begin(self, attempt: int, which: Callable[[ExecutionVertex], bool] = lambda each: True) -> None:
        """An attempt begins, of all subtasks or of a region's: they wait to be deployed."""
        with self._lock:
            begun = {vertex_subtask: each for vertex_subtask, each in self._current.items() if which(each)}
            if any(each.state is not _S.CREATED for each in begun.values()):
                self._prior.append(tuple(begun.values()))
            for vertex_subtask, each in begun.items():
                created = replace(each, attempt=attempt, entered_ms=())
                self._current[vertex_subtask] = self._in_state(created, _S.SCHEDULED)

    def enter(self, state: ExecutionState, which: Callable[[ExecutionVertex], bool] = lambda each: True) -> None:
        """Subtasks go on to another state; those whose state does not lead there stay as they are."""
        with self._lock:
            for vertex_subtask, each in self._current.items():
                if state in _NEXT[each.state] and which(each):
                    self._current[vertex_subtask] = self._in_state(each, state)
        self.on_change()

    def _in_state(self, subtask: ExecutionVertex, state: ExecutionState) -> ExecutionVertex:
        return replace(subtask, state=state, entered_ms=(*subtask.entered_ms, (state, self._now_ms())))

    def fail(self, failure: Exception, which: Callable[[ExecutionVertex], bool] = lambda each: True) -> None:
        """The attempt is over, or that of a region: what is known to have failed has, the others are cancelled."""
        if isinstance(failure, JobExecutionError):
            self.enter(_S.FAILED, lambda each: which(each) and self._has_failed(each, failure))
        self.cancel(which)

    def _has_failed(self, subtask: ExecutionVertex, failure: JobExecutionError) -> bool:
        if failure.vertex_id is not None:
            return (subtask.vertex_id, subtask.subtask) == (failure.vertex_id, failure.subtask)
        # Of a slot that is lost, all subtasks are.
        return failure.slot is not None and failure.slot == self.slot_of(subtask)

    def cancel(self, which: Callable[[ExecutionVertex], bool] = lambda each: True) -> None:
        """Marks unfinished subtasks as canceling, then canceled."""
        self.enter(_S.CANCELING, which)
        self.enter(_S.CANCELED, which)
