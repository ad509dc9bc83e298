"""The JDBC sink: rows are gathered and written batch by batch, each batch in one transaction."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from funke.engine.connectors.jdbc.database import Database
from funke.engine.connectors.jdbc.statements import Statements, Work
from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.errors import ConfigurationError, SinkError

__all__ = ["BatchSettings", "Connection", "JdbcSink"]


@dataclass(frozen=True)
class BatchSettings:
    """How many rows make a batch, how long they wait for it, and how often a batch that failed is tried again."""

    size: int = 5000
    interval_ms: int = 0
    max_retries: int = 3

    def __post_init__(self) -> None:
        """Rejects numbers that make no sense."""
        if min(self.size, self.interval_ms, self.max_retries) < 0:
            raise ConfigurationError(f"batch size, interval and retries must not be negative, got {self}")


class Connection:
    """A connection that is made when it is needed, and made anew after an error."""

    def __init__(self, database: Database, max_retries: int, pause: Callable[[float], None] = time.sleep) -> None:
        self.database = database
        self._max_retries = max_retries
        self._pause = pause
        self._opened: Any = None

    def check(self) -> None:
        """Connects, so that a wrong host or password fails before anything is read."""
        try:
            self._open()
        except self.database.error as error:
            raise SinkError(f"the database cannot be reached: {error}") from error

    def _open(self) -> Any:
        if self._opened is None:
            self._opened = self.database.connect()
        return self._opened

    def in_transaction(self, action: Callable[[Any], None]) -> None:
        """Calls `action` with a cursor and commits; undone and tried again while it fails, as often as is set."""
        for retry in range(self._max_retries + 1):
            try:
                self._try(action)
                return
            except self.database.error as error:
                self.close()
                if retry == self._max_retries or isinstance(error, self.database.lasting_errors):
                    raise SinkError(f"rows could not be written: {type(error).__name__}: {error}") from error
                # Flink's pauses: none, a second, two seconds …
                self._pause(float(retry))

    def _try(self, action: Callable[[Any], None]) -> None:
        connection = self._open()
        cursor = connection.cursor()
        try:
            action(cursor)
            connection.commit()
        finally:
            with contextlib.suppress(self.database.error):
                cursor.close()

    def close(self) -> None:
        """Closes the connection; what was not committed is undone."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(self.database.error):
                opened.close()


@dataclass(frozen=True)
class JdbcSink(Sink):
    """Writes at least once: rows after the last checkpoint are written again after a restart."""

    database: Database
    statements: Statements
    batches: BatchSettings = field(default_factory=BatchSettings)

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return JdbcWriter(self, context)


class JdbcWriter(SinkWriter):
    """Gathers rows; writes them when there are enough, when they have waited long enough, and at checkpoints."""

    def __init__(self, sink: JdbcSink, context: WriterContext) -> None:
        self._statements, self._batches = sink.statements, sink.batches
        self._now_ms = context.now_ms
        self._connection = Connection(sink.database, sink.batches.max_retries)
        self._work: list[Work] = []
        self._due_ms: int | None = None
        self._connection.check()

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        if values:
            self.take(self._statements.bind(values, self._connection.database))

    def take(self, work: list[Work]) -> None:
        """Takes statements; runs them when there are enough."""
        self._work += work
        size, interval_ms = self._batches.size, self._batches.interval_ms
        while size and len(self._work) >= size:
            batch, self._work = self._work[:size], self._work[size:]
            self._run(batch)
        if interval_ms and self._due_ms is None:
            self._due_ms = self._now_ms() + interval_ms

    def _run(self, batch: list[Work]) -> None:
        database = self._connection.database
        self._connection.in_transaction(lambda cursor: self._statements.run(cursor, batch, database))

    def _write_all(self) -> None:
        if self._work:
            self._run(self._work)
            self._work = []
        self._due_ms = None

    def flush(self, end_of_input: bool) -> None:
        """After the last row, writes what is left."""
        if end_of_input:
            self._write_all()

    def prepare_commit(self) -> list[Any]:
        """At a checkpoint everything must be in the database."""
        self._write_all()
        return []

    def next_wakeup_ms(self) -> int | None:
        """When the oldest row has waited long enough."""
        return self._due_ms

    def on_processing_time(self, now_ms: int) -> None:
        """Writes rows that have waited long enough."""
        if self._due_ms is not None and now_ms >= self._due_ms:
            self._write_all()

    def close(self) -> None:
        """Writes what is left, if the database takes it, and disconnects."""
        work, self._work = self._work, []
        if work:
            with contextlib.suppress(Exception):
                self._connection._try(lambda cursor: self._statements.run(cursor, work, self._connection.database))
        self._connection.close()
