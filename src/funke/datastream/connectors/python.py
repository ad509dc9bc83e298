"""Base classes for sources and sinks that are written in Python."""

from __future__ import annotations

from funke.datastream.connectors.base import Sink
from funke.engine.connectors.python_sink import PythonSinkAdapter, PythonSinkWriter, SubtaskContext, UserSink
from funke.engine.connectors.python_source import PythonSource, ResumablePythonSource

__all__ = ["PythonSink", "PythonSinkWriter", "PythonSource", "ResumablePythonSource", "SubtaskContext"]


class PythonSink(UserSink, Sink):
    """A sink written in Python, for `sink_to`: `create_writer()` makes the writer of each subtask.

    When `commit(committables)` is defined too, output becomes visible in two steps: what `prepare_commit()` of the
    writers returns is given to `commit`, in the driver, at every checkpoint and at the end of the input.

    >>> class ListWriter(PythonSinkWriter):
    ...     def open(self, context):
    ...         self.seen = []
    ...     def write(self, value):
    ...         self.seen.append(value)
    >>> class ListSink(PythonSink):
    ...     def create_writer(self):
    ...         return ListWriter()
    """

    def __init__(self) -> None:
        # Nothing to hand over: the sink of the engine is made of this object when it is asked for.
        pass

    @property
    def engine_sink(self) -> PythonSinkAdapter:  # type: ignore[override]
        """What the engine writes to."""
        return PythonSinkAdapter(self)
