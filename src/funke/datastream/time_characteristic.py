"""The time that a Flink 1.x program chose for all of its windows at once."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(Enum):
    """The meaning of "time" in a program of Flink 1.x; later versions choose it per window and timer.

    >>> from funke.datastream import StreamExecutionEnvironment, TimeCharacteristic
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    >>> env.get_stream_time_characteristic().name
    'EventTime'
    """

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
