"""What the operators tell user functions about the subtask they run in."""

from __future__ import annotations

from typing import Any

from funke.engine.errors import StateError
from funke.engine.operators.functions.distributed_cache import DistributedCache
from funke.engine.operators.functions.runtime_context import RuntimeContext
from funke.engine.operators.keyed.keyed_states import KeyedStates
from funke.engine.operators.operator import OperatorContext
from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.state_latency import StateLatencies
from funke.engine.types.metrics import MetricRegistry

__all__ = ["StreamingRuntimeContext"]


class StreamingRuntimeContext(KeyedStates, RuntimeContext):
    """The runtime context of one function; it has state when its stream is keyed."""

    def __init__(self, context: OperatorContext, backend: KeyedBackend | None = None) -> None:
        self._context = context
        self._task = context.task
        self._backend = backend
        self._metrics = MetricRegistry()
        tracking = context.task.backend.latency_tracking
        self._latencies = None if tracking is None else StateLatencies(tracking)

    def get_task_name(self) -> str:
        return self._task.task_name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups."""
        return self._task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._task.subtask

    def get_attempt_number(self) -> int:
        return self._task.attempt

    def get_task_name_with_subtasks(self) -> str:
        """Return the task's name with the subtask's number and the attempt, as in `count (3/6)#0`."""
        task = self._task
        return f"{task.task_name} ({task.subtask + 1}/{task.parallelism})#{task.attempt}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._task.job_parameters.get(key, default_value)

    def get_distributed_cache(self) -> DistributedCache:
        """Return the registered files of the job."""
        return DistributedCache(self._task.cached_files)

    def get_metrics_group(self) -> MetricRegistry:
        return self._metrics

    def _state(self, descriptor: StateDescriptor) -> Any:
        if self._backend is None:
            raise StateError(
                f"operator '{self._context.operator_name}' asks for state '{descriptor.name}', but this state is only "
                "accessible by functions executed on a KeyedStream; call key_by() first"
            )
        state = self._backend.get_state(descriptor)
        return state if self._latencies is None else self._latencies.of(descriptor, state)

    def state_latencies(self) -> dict[str, Any]:
        """How long accesses to state took, if that is measured."""
        return {} if self._latencies is None else self._latencies.metrics()
