"""Records from elements: by schemas for keys and values, and a topic for all or for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.connectors.kafka.producing import OutputRecords, RecordWriter
from funke.engine.errors import SinkError

__all__ = ["SchemaRecords"]

Serialize = Callable[[Any], bytes | None]
# In batch mode, what comes of all the input has the greatest time there is; brokers reject it.
_END_OF_TIME = 2**63 - 1


class SchemaRecords(RecordWriter):
    """What the parts of a record serialisation schema make of elements; timestamps are those of the elements."""

    def __init__(
        self,
        value: Serialize,
        key: Serialize | None = None,
        topic: str | None = None,
        topic_of: Callable[[Any], str] | None = None,
        has_timestamps: bool = True,
    ) -> None:
        self._value, self._key = value, key
        self._topic, self._topic_of = topic or "", topic_of
        self._has_timestamps = has_timestamps

    def records(self, values: list[Any], timestamps: list[int] | None) -> OutputRecords:
        times = None
        if timestamps is not None and self._has_timestamps:
            times = [time if time is not None and 0 <= time < _END_OF_TIME else 0 for time in timestamps]
        try:
            return OutputRecords(
                self._topic if self._topic_of is None else list(map(self._topic_of, values)),
                list(map(self._value, values)),
                None if self._key is None else list(map(self._key, values)),
                timestamps=times,
            )
        except Exception as error:
            raise SinkError(f"an element cannot be written to Kafka: {type(error).__name__}: {error}") from error
