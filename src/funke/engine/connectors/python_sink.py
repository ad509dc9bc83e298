"""Sinks that users write in Python: a writer per subtask and, if wanted, a commit in the driver."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from funke.engine.connectors.commit_requests import RequestCommitter, UserCommitter
from funke.engine.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.state.checkpointed import CheckpointListener
from funke.engine.state.function_states import FunctionStates

__all__ = ["FunctionSink", "PythonSinkAdapter", "PythonSinkWriter", "SinkContext", "SubtaskContext", "UserSink"]


class SubtaskContext:
    """Where in the job a writer stands, under the names that PyFlink's RuntimeContext has for it.

    >>> import os, tempfile
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.python import PythonSink, PythonSinkWriter, SubtaskContext
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = folder.name
    >>> class Part(PythonSinkWriter):
    ...     def open(self, context: SubtaskContext):
    ...         self.file = open(f"{path}/part-{context.get_index_of_this_subtask()}", "a")
    ...     def write(self, value):
    ...         print(value, file=self.file)
    ...     def close(self):
    ...         self.file.close()
    >>> class Parts(PythonSink):
    ...     def create_writer(self):
    ...         return Part()
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> _ = env.from_collection(["tea", "milk"]).sink_to(Parts())
    >>> _ = env.execute()
    >>> os.listdir(path)
    ['part-0']
    """

    def __init__(self, context: WriterContext) -> None:
        self._context = context

    def get_job_id(self) -> str:
        """The id of the job."""
        return self._context.job_id

    def get_index_of_this_subtask(self) -> int:
        """The number of this subtask, counted from 0."""
        return self._context.subtask

    def get_number_of_parallel_subtasks(self) -> int:
        """The parallelism of the sink."""
        return self._context.parallelism

    def get_attempt_number(self) -> int:
        """How often the job was started before."""
        return self._context.attempt

    def current_processing_time(self) -> int:
        """The processing time in milliseconds."""
        return self._context.now_ms()


class PythonSinkWriter(ABC):
    """Takes the records of one subtask; lives in a worker process as long as the job attempt.

    >>> from funke.datastream.connectors.python import PythonSinkWriter
    >>> class Buffering(PythonSinkWriter):
    ...     def __init__(self):
    ...         self.rows = []
    ...     def write(self, value):
    ...         self.rows.append(value)
    ...     def flush(self):
    ...         print("send", self.rows)
    ...         self.rows = []
    >>> writer = Buffering()
    >>> writer.write("tea")
    >>> writer.flush()  # the job calls it after each batch
    send ['tea']
    """

    def open(self, context: SubtaskContext) -> None:
        """Prepares the writer; called once before the first record."""

    @abstractmethod
    def write(self, value: Any) -> None:
        """Takes one record."""

    def flush(self) -> None:
        """Sends on what is buffered; called whenever the records at hand have been written."""

    def prepare_commit(self) -> list[Any]:
        """Finishes what was written since the last call; what it returns is given to `commit` of the sink."""
        return []

    def snapshot(self) -> Any:
        """State to be given to `restore` after a restart."""
        return None

    def restore(self, state: Any) -> None:
        """Takes back a snapshot; called before `open`, and only after a restart that has one."""

    def close(self) -> None:
        """Releases what the writer holds; called once, also after a failure."""


class UserSink(ABC):
    """What a user's sink provides: writers and, when output is to become visible all at once, a commit."""

    @abstractmethod
    def create_writer(self) -> PythonSinkWriter:
        """Makes the writer of one subtask."""

    def commit(self, committables: list[Any]) -> None:
        """Makes prepared output visible; runs in the driver, and may run again for the same committables."""

    def create_committer(self) -> UserCommitter:
        """Makes a committer, to be overridden instead of `commit` when single committables can fail or be retried."""
        raise NotImplementedError


@dataclass(frozen=True)
class PythonSinkAdapter(Sink):
    """Lets the engine use a user's sink."""

    user_sink: UserSink

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        writer = self.user_sink.create_writer()
        if not isinstance(writer, PythonSinkWriter):
            raise ConfigurationError(
                f"create_writer() of {type(self.user_sink).__name__} must return a PythonSinkWriter, "
                f"got {type(writer).__name__}"
            )
        if restored is not None:
            writer.restore(restored)
        writer.open(SubtaskContext(context))
        return _WriterAdapter(writer)

    def create_committer(self) -> Committer | None:
        """The user's committer or commit, if the sink has one of its own."""
        if type(self.user_sink).create_committer is not UserSink.create_committer:
            return RequestCommitter(self.user_sink.create_committer)
        if type(self.user_sink).commit is UserSink.commit:
            return None
        return _CommitterAdapter(self.user_sink)


class _WriterAdapter(SinkWriter):
    def __init__(self, writer: PythonSinkWriter) -> None:
        self._writer = writer

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Hands over the records one by one."""
        write = self._writer.write
        for value in values:
            write(value)

    def flush(self, end_of_input: bool) -> None:
        """Asks the writer to send on what it buffers."""
        self._writer.flush()

    def prepare_commit(self) -> list[Any]:
        return self._writer.prepare_commit()

    def snapshot(self) -> Any:
        return self._writer.snapshot()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tells the user's writer, if it wants to know."""
        if isinstance(self._writer, CheckpointListener):
            self._writer.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tells the user's writer, if it wants to know."""
        if isinstance(self._writer, CheckpointListener):
            self._writer.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self._writer.close()


class _CommitterAdapter(Committer):
    def __init__(self, user_sink: UserSink) -> None:
        self._user_sink = user_sink

    def commit(self, committables: list[Any]) -> None:
        """Calls the user's commit, unless there is nothing to commit."""
        if committables:
            self._user_sink.commit(committables)


class SinkContext:
    """What `invoke(value, context)` may ask about the record at hand.

    >>> import pathlib, tempfile
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.python import SinkContext
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "words")
    >>> class Save:
    ...     def invoke(self, value, context: SinkContext):
    ...         path.write_text(f"{value}, timestamp: {context.timestamp()}")
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.from_collection(["tea"]).add_sink(Save())
    >>> _ = env.execute()
    >>> path.read_text()
    'tea, timestamp: None'
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._timestamp: int | None = None

    def current_processing_time(self) -> int:
        """The processing time in milliseconds."""
        return self._now_ms()

    def timestamp(self) -> int | None:
        """The event time of the record in milliseconds, None when it has none."""
        return self._timestamp

    def current_watermark(self) -> int:
        """Not available: a sink is given records and no watermarks."""
        raise UnsupportedFeatureError("current_watermark() of a sink's context", "sinks are given records only")


@dataclass(frozen=True)
class FunctionSink(Sink):
    """Writes by calling `invoke(value, context)` or `invoke(value)` of an object, or the object itself.

    `open(context)`, `finish()` and `close()` are called if the object has them; it may be a CheckpointedFunction and a
    CheckpointListener.
    """

    function: Any

    def __post_init__(self) -> None:
        """Rejects an object that cannot be called before a job is started with it."""
        if not callable(getattr(self.function, "invoke", None)) and not callable(self.function):
            raise ConfigurationError(
                f"a sink needs a method invoke(value, context) or must be callable, got {type(self.function).__name__}"
            )

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Gives the object its state and opens it."""
        states = FunctionStates(context.now_ms, context.restored_checkpoint_id)
        if restored is not None:
            states.restore(restored)
        states.initialize(self.function)
        _call_if_present(self.function, "open", SubtaskContext(context))
        return _FunctionWriter(self.function, context, states)


class _FunctionWriter(SinkWriter):
    def __init__(self, function: Any, context: WriterContext, states: FunctionStates) -> None:
        self._function = function
        self._states = states
        self._invoke = getattr(function, "invoke", function)
        self._context = SinkContext(context.now_ms)
        # A plain callable is given the value alone, so that `print` or `list.append` can be a sink.
        self._takes_context = hasattr(function, "invoke") and _accepts_two(self._invoke)

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        invoke, context = self._invoke, self._context
        if not self._takes_context:
            for value in values:
                invoke(value)
            return
        for value, timestamp in zip(values, timestamps or repeat(None), strict=False):
            context._timestamp = timestamp
            invoke(value, context)

    def flush(self, end_of_input: bool) -> None:
        """Calls `finish()` after the last record."""
        if end_of_input:
            _call_if_present(self._function, "finish")

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Lets the object bring its state up to date."""
        self._states.prepare_snapshot(checkpoint_id)

    def snapshot(self) -> Any:
        return self._states.snapshot()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tells the object, if it wants to know."""
        self._states.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tells the object, if it wants to know."""
        self._states.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        _call_if_present(self._function, "close")


def _call_if_present(target: Any, method: str, *arguments: Any) -> None:
    function = getattr(target, method, None)
    if callable(function):
        function(*arguments)


def _accepts_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True
