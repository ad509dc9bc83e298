"""Names the two clocks that timers can follow."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Whether a timer follows event time or processing time.

    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment, TimeDomain
    >>> class Fire(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(1000)
    ...     def on_timer(self, timestamp, ctx):
    ...         yield ctx.time_domain() is TimeDomain.EVENT_TIME
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> list(env.from_collection(["a"]).key_by(lambda name: name).process(Fire()).execute_and_collect())
    [True]
    """

    EVENT_TIME = 0
    PROCESSING_TIME = 1
