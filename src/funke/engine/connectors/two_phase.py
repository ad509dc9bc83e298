"""Sinks with transactions, as a function with a method for each step of the two-phase commit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from funke.engine.connectors.python_sink import SinkContext, SubtaskContext
from funke.engine.connectors.sink import Committer, Sink, SinkWriter, WriterContext

__all__ = ["TransactionalFunction", "TransactionalSink"]


@dataclass
class _TransactionIds:
    """Names for transactions: `<prefix><attempt>-<subtask>-<number>`, different for all of a job."""

    prefix: str
    attempt: int
    subtask: int
    used: int = 0

    def new(self) -> str:
        self.used += 1
        return f"{self.prefix}{self.attempt}-{self.subtask}-{self.used}"

    def writer_of(self, transaction_id: str) -> tuple[int, int] | None:
        """Attempt and subtask in an id of this sink, None for any other text."""
        numbers = transaction_id.removeprefix(self.prefix).split("-")
        if not transaction_id.startswith(self.prefix) or len(numbers) != 3 or not all(map(str.isdecimal, numbers)):
            return None
        return int(numbers[0]), int(numbers[1])


class TransactionalFunction(ABC):
    """What a user's sink with transactions provides.

    A transaction is any value that can be pickled and that names what was begun: a temporary file, the id of a
    transaction in a database. `begin_transaction`, `invoke` and `pre_commit` run in the writer's process; `commit` runs
    in the driver after the checkpoint is complete; `abort` runs wherever a transaction is found that must not be seen.
    """

    _ids: _TransactionIds | None = None

    def open(self, context: SubtaskContext) -> None:
        """Prepare the writer; called once, before the first transaction. Not called in the driver."""

    @abstractmethod
    def begin_transaction(self) -> Any:
        """Open a transaction and return its handle."""

    @abstractmethod
    def invoke(self, transaction: Any, value: Any, context: SinkContext) -> None:
        """Write one record within the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: Any) -> None:
        """Flush and close: nothing is written to the transaction any more, and `commit` must succeed from now on."""

    @abstractmethod
    def commit(self, transaction: Any) -> None:
        """Make the transaction visible. It may be called again for the same one, and must then do nothing."""

    @abstractmethod
    def abort(self, transaction: Any) -> None:
        """Undo the transaction. It may be called for one that is gone already."""

    def recover_and_commit(self, transaction: Any) -> None:
        """Commit after a restart, when it may have been committed before."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: Any) -> None:
        """Abort, after a restart, a transaction that an earlier attempt had begun."""
        self.abort(transaction)

    def finish(self) -> None:
        """Called after the last record, before the last transaction is pre-committed."""

    def close(self) -> None:
        """Release what the writer holds; called once, also after a failure."""

    def new_transaction_id(self) -> str:
        """Return a name for a transaction, to be used in `begin_transaction`; see `find_transactions`."""
        assert self._ids is not None
        return self._ids.new()

    def find_transactions(self, prefix: str) -> Mapping[str, Any]:
        """Return the transactions that are not committed and whose id starts with `prefix`, by id.

        Override it when ids come from `new_transaction_id` and the system can be asked (files in a folder, prepared
        transactions of a database). What attempts before this one have left behind is then aborted after a restart,
        also what no checkpoint knows of.
        """
        return {}


@dataclass(frozen=True)
class TransactionalSink(Sink):
    """Lets the engine use a function with transactions."""

    function: TransactionalFunction

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Open the function, abort what the attempt before has left, and begin a transaction."""
        return _TransactionalWriter(self.function, context, restored or [])

    def create_committer(self) -> Committer:
        """The commits, which run in the driver."""
        return _TransactionalCommitter(self.function)


class _TransactionalWriter(SinkWriter):
    def __init__(self, function: TransactionalFunction, context: WriterContext, restored: list[Any]) -> None:
        self._function = function
        self._context = SinkContext(context.now_ms)
        self._ids = _TransactionIds(f"{context.job_id}-{context.operator_id}-", context.attempt, context.subtask)
        self._parallelism = context.parallelism
        self._is_open, self._has_ended = False, False
        function._ids = self._ids
        function.open(SubtaskContext(context))
        for transaction in restored:
            function.recover_and_abort(transaction)
        self._abort_lingering()
        self._begin()

    def _abort_lingering(self) -> None:
        """Aborts what earlier attempts began after the checkpoint; present subtasks share the earlier ones."""
        for transaction_id, transaction in self._function.find_transactions(self._ids.prefix).items():
            writer = self._ids.writer_of(transaction_id)
            if writer is None:
                continue
            attempt, subtask = writer
            if attempt < self._ids.attempt and subtask % self._parallelism == self._ids.subtask:
                self._function.recover_and_abort(transaction)

    def _begin(self) -> None:
        self._transaction = self._function.begin_transaction()
        self._is_open = True

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        invoke, transaction, context = self._function.invoke, self._transaction, self._context
        for value, timestamp in zip(values, timestamps or repeat(None), strict=False):
            context._timestamp = timestamp
            invoke(transaction, value, context)

    def flush(self, end_of_input: bool) -> None:
        """After the last record no further transaction is begun."""
        if end_of_input:
            self._function.finish()
            self._has_ended = True

    def prepare_commit(self) -> list[Any]:
        """Pre-commits the transaction and begins the next."""
        if not self._is_open:
            return []
        self._is_open = False
        prepared = self._transaction
        self._function.pre_commit(prepared)
        if not self._has_ended:
            self._begin()
        return [prepared]

    def snapshot(self) -> list[Any]:
        """The transaction that has just been begun: a restart aborts it."""
        return [self._transaction] if self._is_open else []

    def close(self) -> None:
        """Aborts what was not pre-committed."""
        try:
            if self._is_open:
                self._is_open = False
                self._function.abort(self._transaction)
        finally:
            self._function.close()


class _TransactionalCommitter(Committer):
    def __init__(self, function: TransactionalFunction) -> None:
        self._function = function

    def commit(self, committables: list[Any]) -> None:
        """Commits one transaction after the other."""
        for transaction in committables:
            self._function.commit(transaction)

    def recover(self, epoch: int, committables: list[Any]) -> None:
        """Commits again."""
        for transaction in committables:
            self._function.recover_and_commit(transaction)
