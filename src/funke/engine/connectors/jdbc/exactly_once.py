"""The JDBC sink that writes every row once, also when the job fails anywhere.

Rows wait until the checkpoint that covers them is complete. Then the driver writes what each writer has prepared in one
transaction, together with a note of it in a table of the same database. A commit that is repeated finds the note.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from funke.engine.connectors.jdbc.database import Database
from funke.engine.connectors.jdbc.sink import BatchSettings, Connection
from funke.engine.connectors.jdbc.statements import Statements, Work
from funke.engine.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from funke.engine.connectors.staging import StagedData, UnitWriter

__all__ = ["DEFAULT_COMMIT_TABLE", "ExactlyOnceJdbcSink"]

DEFAULT_COMMIT_TABLE = "funke_commits"
_ROWS_PER_CHUNK = 5000


@dataclass(frozen=True)
class ExactlyOnceJdbcSink(Sink):
    """Writes exactly once; rows become visible when a checkpoint completes, or when the input ends."""

    database: Database
    statements: Statements
    batches: BatchSettings = field(default_factory=BatchSettings)
    commit_table: str = DEFAULT_COMMIT_TABLE

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _StagingWriter(self, context)

    def create_committer(self) -> Committer:
        """The committer that writes to the database."""
        return _JdbcCommitter(self)


class _StagingWriter(SinkWriter):
    """Keeps rows, as the values of statements, until the driver writes them."""

    def __init__(self, sink: ExactlyOnceJdbcSink, context: WriterContext) -> None:
        self._statements, self._database = sink.statements, sink.database
        probe = Connection(sink.database, 0)
        probe.check()
        probe.close()
        self._unit_writer = UnitWriter(context)
        self._chunk_rows = sink.batches.size or _ROWS_PER_CHUNK
        self._work: list[Work] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._work += self._statements.bind(values, self._database)
        while len(self._work) >= self._chunk_rows:
            self._stage(self._chunk_rows)

    def _stage(self, rows: int) -> None:
        chunk, self._work = self._work[:rows], self._work[rows:]
        self._unit_writer.add(pickle.dumps(chunk, pickle.HIGHEST_PROTOCOL))

    def prepare_commit(self) -> list[Any]:
        """Everything since the last call, as one unit."""
        if self._work:
            self._stage(len(self._work))
        staged = self._unit_writer.finish()
        return [staged] if staged is not None else []

    def close(self) -> None:
        """Drops what was not prepared."""
        self._unit_writer.discard()


class _JdbcCommitter(Committer):
    def __init__(self, sink: ExactlyOnceJdbcSink) -> None:
        self._sink = sink

    def commit(self, committables: list[Any]) -> None:
        """Writes what each writer has prepared, unless that was done before."""
        connection = Connection(self._sink.database, self._sink.batches.max_retries)
        try:
            connection.in_transaction(self._create_table)
            for staged in committables:
                connection.in_transaction(lambda cursor, staged=staged: self._write(cursor, staged))  # type: ignore[misc]
                # Not before the transaction: a commit that fails is repeated from here.
                staged.delete()
        finally:
            connection.close()

    def _create_table(self, cursor: Any) -> None:
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {self._sink.database.quote(self._sink.commit_table)} "
            "(sink VARCHAR(200) NOT NULL, writer VARCHAR(50) NOT NULL, number BIGINT NOT NULL, "
            "PRIMARY KEY (sink, writer))"
        )

    def _write(self, cursor: Any, staged: StagedData) -> None:
        if not self._note(cursor, staged):
            return
        for chunk in staged.chunks():
            self._sink.statements.run(cursor, pickle.loads(chunk), self._sink.database)

    def _note(self, cursor: Any, staged: StagedData) -> bool:
        """Notes the unit in the same transaction; False when it, or a later one of the same writer, is noted."""
        database = self._sink.database
        note = database.to_native(database.note_statement(self._sink.commit_table))
        cursor.execute(note, (staged.owner, staged.writer, staged.number))
        return bool(cursor.rowcount)
