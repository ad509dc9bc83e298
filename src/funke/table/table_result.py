"""What a statement gave: rows to collect or print, and the job that gives them."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from funke.common.job_client import JobClient
from funke.datastream.html_view import html_view
from funke.datastream.interrupts import cancel_interrupted, watch_cell
from funke.engine.types.logical import to_sql_text
from funke.engine.types.row import Row
from funke.passed_on_names import pass_on_names
from funke.table.catalog import ResolvedSchema
from funke.table.result_kind import ResultKind
from funke.table.results.result_content import ResultContent
from funke.table.results.result_schema import resolved_schema_of, table_schema_of
from funke.table.table_schema import TableSchema

__all__ = ["TableResult", "CloseableIterator"]

pass_on_names(__name__)


class TableResult:
    """The result of a statement; `collect()` and `print()` read the same rows, so only one of them is used.

    >>> from funke.table import EnvironmentSettings, TableEnvironment, TableResult
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> result: TableResult = t_env.execute_sql("SHOW DATABASES")
    >>> result.get_table_schema().get_field_names(), list(result.collect())
    (['database name'], [<Row('default_database')>])
    """

    def __init__(self, content: ResultContent) -> None:
        self._content = content

    def get_job_client(self) -> JobClient | None:
        """Return the client of the job; None if the statement needed none."""
        return None if self._content.job is None else JobClient(self._content.job)

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait for the first row of a query, or for the end of an insert."""
        with self._content.interruptible():
            self._content.wait(timeout_ms)

    def get_table_schema(self) -> TableSchema:
        """Return names and types of the columns."""
        return table_schema_of(resolved_schema_of(self._content.columns))

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return names and types of the columns."""
        return resolved_schema_of(self._content.columns)

    def get_result_kind(self) -> int:
        """Return whether there is more than the news that it succeeded: a constant of `ResultKind`."""
        return ResultKind.SUCCESS_WITH_CONTENT if self._content.has_rows else ResultKind.SUCCESS

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self._shown_columns())
        job = "" if self._content.job is None else f"; job {self._content.job.job_id}"
        return f"TableResult({columns}{job})"

    def _repr_html_(self) -> str:
        if self._content.job is None:
            # The rows are there, and reading them takes none away.
            names = [name for name, _ in self._shown_columns()]
            rows = [["" if value is None else str(value) for value in row] for row in self._content.rows()]
            return html_view("TableResult", names, rows)
        note = f"job {self._content.job.job_id}; print() and collect() give its rows"
        return html_view("TableResult", ("column", "type"), self._shown_columns(), note)

    def _shown_columns(self) -> list[tuple[str, str]]:
        return [(each.name, to_sql_text(each.type)) for each in self._content.columns]

    def collect(self) -> CloseableIterator:
        """Return an iterator over the rows, each with its kind."""
        return CloseableIterator(self._content)

    def print(self) -> None:
        """Print the rows in a frame, each as soon as it is there."""
        with self._content.interruptible():
            for line in self._content.lines(self._content.rows()):
                print(line, flush=True)


class CloseableIterator:
    """Iterates over rows; closing it, or leaving its `with` block, cancels a job that still runs."""

    def __init__(self, content: ResultContent) -> None:
        self._content = content
        with content.interruptible():
            self._rows: Iterator[Row] = content.rows()
        if content.job is not None and not content.is_insert:
            watch_cell(content.job)

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Row:
        try:
            return next(self._rows)
        except KeyboardInterrupt as interrupt:
            if self._content.job is not None:
                cancel_interrupted(self._content.job, interrupt)
            raise

    def next(self) -> Row:
        """Return the next row; waits for it, and raises StopIteration after the last one."""
        return self.__next__()

    def close(self) -> None:
        """Stop collecting and cancel the job if it still runs."""
        self._content.close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()
