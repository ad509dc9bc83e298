"""What a user function can learn about the subtask it runs in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from funke.engine.operators.functions.distributed_cache import DistributedCache
from funke.engine.state.interfaces import KeyedStateStore

__all__ = ["RuntimeContext", "TimerService"]


class RuntimeContext(KeyedStateStore):
    """The surroundings of one parallel instance of a function.

    >>> from funke.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
    >>> class WithSubtask(MapFunction):
    ...     def open(self, runtime_context: RuntimeContext):
    ...         self.subtask = runtime_context.get_index_of_this_subtask()
    ...         self.parallelism = runtime_context.get_number_of_parallel_subtasks()
    ...     def map(self, value):
    ...         return value, f"subtask {self.subtask} of {self.parallelism}"
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection(["a"]).map(WithSubtask()).execute_and_collect())
    [('a', 'subtask 0 of 1')]
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the task."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the task."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the maximum parallelism of the task, which is its number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the number of this subtask, counted from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how often this subtask was started before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the task's name with the subtask's number, as in `count (3/6)`."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """Return the files that the program registered; goes beyond PyFlink."""

    @abstractmethod
    def get_metrics_group(self) -> Any:
        """Return the group in which the function registers its metrics."""


class TimerService(ABC):
    """Reads the clocks and sets timers for the current key.

    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment, TimerService
    >>> class Remind(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         timers: TimerService = ctx.timer_service()
    ...         timers.register_event_time_timer(1000)
    ...     def on_timer(self, timestamp, ctx):
    ...         yield ctx.get_current_key(), timestamp
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> names = env.from_collection(["ada", "bob", "ada"]).key_by(lambda name: name)
    >>> sorted(names.process(Remind()).execute_and_collect())  # one timer for each key and time
    [('ada', 1000), ('bob', 1000)]
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time in milliseconds."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the watermark in milliseconds."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when processing time reaches `timestamp`."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when the watermark reaches `timestamp`."""

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Remove the processing-time timer at `timestamp`, if any."""

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Remove the event-time timer at `timestamp`, if any."""
