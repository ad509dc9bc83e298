"""Where the rows of a result come from: they are there, a job gives them, or a job writes them elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from threading import Thread
from typing import TYPE_CHECKING, Any

from funke.datastream.interrupts import cancelled_by_interrupt
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.results.table_print import ResultColumns, listing_lines, query_lines
from funke.engine.sql.statements.outcome import Outcome
from funke.engine.sql.table_rows import to_rows
from funke.engine.types.row import Row, RowKind
from funke.table.types import DataTypes

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["InsertCounts", "JobRows", "ReadyRows", "ResultContent", "left_rows"]


class ResultContent(ABC):
    """What stands behind a TableResult."""

    has_rows = True
    is_insert = False
    # Whether rows are changes of a result that goes on changing.
    is_changing = False
    # Whether its one text is shown without a frame.
    is_plain = False
    job: SubmittedJob | None = None

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Give the rows, each as soon as it is there."""

    @abstractmethod
    def lines(self, rows: Iterator[Row]) -> Iterator[str]:
        """Give the lines that print shows."""

    def wait(self, timeout_ms: int | None) -> None:
        """Wait until there is something to read."""

    def interruptible(self) -> AbstractContextManager[None]:
        """Within, an interrupt cancels the job."""
        return nullcontext() if self.job is None else cancelled_by_interrupt(self.job)

    def close(self) -> None:
        """Give up what is still to come."""
        if self.job is not None:
            self.job.cancel().result()


class ReadyRows(ResultContent):
    """What a statement answered at once."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.columns)
        self._outcome = outcome
        self.has_rows = outcome.has_content
        self.is_plain = outcome.is_plain

    def rows(self) -> Iterator[Row]:
        return (Row(*each) for each in self._outcome.rows)

    def lines(self, rows: Iterator[Row]) -> Iterator[str]:
        if self.is_plain:
            return (str(row[0]) for row in rows)
        return listing_lines(_names_and_types(self.columns), map(tuple, rows))


class JobRows(ResultContent):
    """What a job gives, batch by batch."""

    def __init__(
        self, columns: tuple[Column, ...], job: SubmittedJob, channel: str, printed: ResultColumns, is_streaming: bool
    ) -> None:
        super().__init__(columns)
        self.job = job
        self._printed = printed
        self.is_changing = is_streaming
        self._rows = chain.from_iterable(
            to_rows(columns, batch) for batches in job.collected(channel) for batch in batches
        )
        # The first row, while a caller waits for it.
        self._first: Future[Row | None] | None = None

    def rows(self) -> Iterator[Row]:
        first = None if self._first is None else self._first.result()
        self._first = None
        return self._rows if first is None else chain([first], self._rows)

    def lines(self, rows: Iterator[Row]) -> Iterator[str]:
        return query_lines(self._printed, rows, self.is_changing)

    def wait(self, timeout_ms: int | None) -> None:
        if self._first is None:
            self._first = Future()
            Thread(target=_fetch, args=(self._rows, self._first), name="first row", daemon=True).start()
        _wait_for(self._first, timeout_ms, "there was no row")


class InsertCounts(ResultContent):
    """How many rows went into each sink; as in Flink they are not counted, so it is -1, once the job has ended."""

    is_insert = True

    def __init__(self, sinks: tuple[str, ...], job: SubmittedJob) -> None:
        super().__init__(tuple(Column(name, DataTypes.BIGINT()) for name in sinks))
        self.job = job

    def rows(self) -> Iterator[Row]:
        assert self.job is not None
        self.job.result()
        yield Row(*(-1 for _ in self.columns))

    def lines(self, rows: Iterator[Row]) -> Iterator[str]:
        return (", ".join(map(str, row)) for row in rows)

    def wait(self, timeout_ms: int | None) -> None:
        assert self.job is not None
        _wait_for(self.job.result_future, timeout_ms, "the job did not end")


def _fetch(rows: Iterator[Row], first: Future[Row | None]) -> None:
    try:
        first.set_result(next(rows, None))
    except BaseException as error:  # waiting callers get it
        first.set_exception(error)


def _wait_for(future: Future[Any], timeout_ms: int | None, otherwise: str) -> None:
    try:
        future.result(None if timeout_ms is None else timeout_ms / 1000)
    except FutureTimeoutError:
        if future.done():
            raise
        raise TimeoutError(f"{otherwise} within {timeout_ms} ms") from None


def left_rows(changes: Iterable[Row]) -> list[Row]:
    """The rows that changes leave."""
    left: list[Row] = []
    for row in changes:
        is_added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        row.set_row_kind(RowKind.INSERT)
        if is_added:
            left.append(row)
        elif row in left:
            left.remove(row)
    return left


def _names_and_types(columns: tuple[Column, ...]) -> ResultColumns:
    return ResultColumns(tuple(each.name for each in columns), tuple(each.type for each in columns))
