"""Base classes for sources and sinks that are written in Python."""

from __future__ import annotations

from funke.datastream.connectors.base import Sink
from funke.engine.connectors.commit_requests import CommitRequest, UserCommitter
from funke.engine.connectors.python_sink import (
    PythonSinkAdapter,
    PythonSinkWriter,
    SinkContext,
    SubtaskContext,
    UserSink,
)
from funke.engine.connectors.python_source import PythonSource, ResumablePythonSource
from funke.engine.connectors.two_phase import TransactionalFunction, TransactionalSink

__all__ = [
    "CommitRequest",
    "PythonCommitter",
    "PythonSink",
    "PythonSinkWriter",
    "PythonSource",
    "ResumablePythonSource",
    "SinkContext",
    "SubtaskContext",
    "TwoPhaseCommitSinkFunction",
]

PythonCommitter = UserCommitter


class PythonSink(UserSink, Sink):
    """A sink written in Python, for `sink_to`: `create_writer()` makes the writer of each subtask.

    When `commit(committables)` is defined too, output becomes visible in two steps: what `prepare_commit()` of the
    writers returns is given to `commit`, in the driver, at every checkpoint and at the end of the input. A commit that
    raises is tried again, and after a restart it is called again for what the last checkpoint holds, so it must do no
    harm twice. `create_committer()`, in place of `commit`, returns a PythonCommitter, which answers for each of them.

    >>> import pathlib, tempfile
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.python import PythonSink, PythonSinkWriter
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "words")
    >>> class Append(PythonSinkWriter):
    ...     def write(self, value):
    ...         with path.open("a") as file:
    ...             print(value, file=file)
    >>> class File(PythonSink):
    ...     def create_writer(self):
    ...         return Append()
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> _ = env.from_collection(["to", "be"]).sink_to(File())
    >>> _ = env.execute()
    >>> path.read_text().split()
    ['to', 'be']
    """

    def __init__(self) -> None:
        # Nothing to hand over: the sink of the engine is made of this object when it is asked for.
        pass

    @property
    def engine_sink(self) -> PythonSinkAdapter:  # type: ignore[override]
        """What the engine writes to."""
        return PythonSinkAdapter(self)


class TwoPhaseCommitSinkFunction(TransactionalFunction, Sink):
    """A sink with transactions, for `add_sink` or `sink_to`, with the methods of Flink's class of this name.

    At a checkpoint the open transaction is pre-committed and the next one begun; when the checkpoint is complete, the
    first is committed. After a crash, what the last complete checkpoint has pre-committed is committed, and what was
    begun after it is aborted. Here transactions are files:

    >>> import os
    >>> from funke.datastream.connectors.python import TwoPhaseCommitSinkFunction
    >>> class Files(TwoPhaseCommitSinkFunction):
    ...     def begin_transaction(self):
    ...         return f"/data/.{self.new_transaction_id()}"
    ...     def invoke(self, transaction, value, context):
    ...         with open(transaction, "a") as file:
    ...             print(value, file=file)
    ...     def pre_commit(self, transaction):
    ...         pass
    ...     def commit(self, transaction):
    ...         if os.path.exists(transaction):
    ...             os.rename(transaction, transaction.replace("/.", "/"))
    ...     def abort(self, transaction):
    ...         if os.path.exists(transaction):
    ...             os.remove(transaction)
    >>> Files().commit("/data/.committed-before-a-crash")  # it may be called again, and must do no harm
    """

    def __init__(self) -> None:
        # Nothing to hand over: the sink of the engine is made of this object when it is asked for.
        pass

    @property
    def engine_sink(self) -> TransactionalSink:  # type: ignore[override]
        """What the engine writes to."""
        return TransactionalSink(self)
