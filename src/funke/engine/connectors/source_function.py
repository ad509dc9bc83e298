"""Runs a source function in the style of Flink 1.x, an object with run(ctx) and cancel(), in a thread of the driver."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.record_buffer import DEFAULT_CAPACITY, BufferEnumerator, PairReader, RecordBuffer
from funke.engine.connectors.source import Source
from funke.engine.errors import ConfigurationError, unsupported

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["SourceFunctionContext", "SourceFunctionSource"]


class SourceFunctionSource(Source):
    """Takes what a function collects until its run() returns; it can be read in one subtask only.

    >>> class Greetings:
    ...     def run(self, ctx):
    ...         ctx.collect("hello")
    ...     def cancel(self):
    ...         pass
    >>> SourceFunctionSource(Greetings()).fixed_parallelism
    1
    """

    fixed_parallelism = 1
    is_bounded = False

    def __init__(
        self, function: Any, type_info: TypeInformation | None = None, capacity: int = DEFAULT_CAPACITY
    ) -> None:
        for method in ("run", "cancel"):
            if not callable(getattr(function, method, None)):
                raise ConfigurationError(f"source function {type(function).__name__} has no method {method}()")
        self._function = function
        self._capacity = capacity
        self.produced_type = type_info

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SourceFunctionEnumerator:
        """Start the function; what it collected for an earlier enumerator it may collect again."""
        return SourceFunctionEnumerator(self._function, self.produced_type, self._capacity)

    def create_reader(self) -> PairReader:
        """Return a reader of what was collected."""
        return PairReader()


class SourceFunctionEnumerator(BufferEnumerator):
    """Hands out what a function has collected."""

    def __init__(self, function: Any, type_info: TypeInformation | None, capacity: int) -> None:
        self._function = function
        self._type_info = type_info
        super().__init__("source-function", self._run_function, capacity)

    def _run_function(self, buffer: RecordBuffer) -> None:
        self._function.run(SourceFunctionContext(buffer, self._type_info))

    def close(self) -> None:
        """Cancel the function."""
        self._function.cancel()
        super().close()


class SourceFunctionContext:
    """What a source function gets to hand over its records."""

    def __init__(self, buffer: RecordBuffer, type_info: TypeInformation | None) -> None:
        self._buffer = buffer
        self._coerce = None if type_info is None else type_info.coercer()
        self._lock = threading.RLock()

    def collect(self, element: Any) -> None:
        """Hand over a record without a timestamp; waits while the job is behind."""
        self._put(element, None)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Hand over a record with its event time in milliseconds."""
        self._put(element, timestamp)

    def _put(self, element: Any, timestamp: int | None) -> None:
        self._buffer.put([(element if self._coerce is None else self._coerce(element), timestamp)])

    emit_watermark = unsupported("emit_watermark of a source function", "give from_source a WatermarkStrategy")
    mark_as_temporarily_idle = unsupported(
        "mark_as_temporarily_idle of a source function", "give from_source a WatermarkStrategy with idleness"
    )

    def get_checkpoint_lock(self) -> threading.RLock:
        """Return a lock; records are taken in whole epochs, so holding it changes nothing."""
        return self._lock
