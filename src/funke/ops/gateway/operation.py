"""A statement that a session runs, and its result, page by page."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import uuid
from collections.abc import Callable
from enum import Enum

from funke.engine.errors import StateError
from funke.engine.types.row import Row
from funke.ops.gateway.json_types import column_json, row_json
from funke.ops.sql.statement_session import SessionResult
from funke.table import ResultKind

__all__ = ["Operation", "OperationStatus"]

# Rows that are read before they are fetched, and that a page has; Flink's ResultStore.
_MOST_ROWS = 5_000
_MOST_PAGE_CHARACTERS = 4 << 20
# How long a fetch waits for a row, so that clients that ask again at once do not keep a core busy.
_WAIT_S = 0.5


class OperationStatus(Enum):
    """Flink's words."""

    INITIALIZED = "INITIALIZED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    CLOSED = "CLOSED"
    ERROR = "ERROR"

    @property
    def is_over(self) -> bool:
        """Whether no more rows can be fetched."""
        return self in (OperationStatus.CANCELED, OperationStatus.CLOSED, OperationStatus.ERROR)


class _End:
    """What comes after the last row: the error that ended them, if there was one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class Operation:
    """A statement, run by `execute()`, and its rows, of which only those of two pages are in memory."""

    def __init__(self, run: Callable[[], SessionResult]) -> None:
        self.handle = str(uuid.uuid4())
        self.status = OperationStatus.INITIALIZED
        self._error: BaseException | None = None
        self._result: SessionResult | None = None
        self._rows: queue.Queue[Row | _End] = queue.Queue(_MOST_ROWS)
        self._lock = threading.Lock()
        self._fetch_lock = threading.Lock()
        self._token = 0
        self._is_read = False
        # The last page, by token: a client whose connection broke asks for it again.
        self._page: tuple[int, str] = (-1, "")
        self._run = run
        self._is_planned = threading.Event()

    # What runs

    def execute(self) -> None:
        """Run the statement; a thread of its own reads the rows."""
        try:
            if self._goes_on(OperationStatus.RUNNING):
                self._plan()
        finally:
            self._is_planned.set()

    def _plan(self) -> None:
        try:
            result = self._run()
        except BaseException as error:  # clients that fetch the result get it
            self._fail(error)
            return
        self._result = result
        if not self._goes_on(OperationStatus.FINISHED):
            self._give_up()
            return
        threading.Thread(target=self._read, args=(result,), name="gateway result", daemon=True).start()

    def _goes_on(self, status: OperationStatus) -> bool:
        with self._lock:
            if self.status.is_over:
                return False
            self.status = status
            return True

    def _fail(self, error: BaseException) -> None:
        # First: fetches look at the status.
        self._error = error
        self._goes_on(OperationStatus.ERROR)

    def _read(self, result: SessionResult) -> None:
        error = None
        try:
            for row in result.table._content.rows():
                if not self._put(row):
                    return
        except BaseException as failure:
            error = failure
        self._put(_End(error))

    def _put(self, row: Row | _End) -> bool:
        """Hands a row over as soon as there is room; False when the operation was closed or cancelled."""
        while not self.status.is_over:
            with contextlib.suppress(queue.Full):
                self._rows.put(row, timeout=_WAIT_S)
                return True
        return False

    # What clients ask for

    def await_planned(self, seconds: float) -> None:
        """Wait until the statement was run, and raise what was wrong with it."""
        if not self._is_planned.wait(seconds):
            raise StateError(f"The operation {self.handle} has not run within {seconds:g} s.")
        if self._error is not None:
            raise self._error

    def end(self, status: OperationStatus) -> None:
        """Cancel or close it: the job of a query ends, one that writes goes on."""
        if self._goes_on(status):
            self._give_up()

    def _give_up(self) -> None:
        result = self._result
        if result is not None and result.is_query:
            job = result.table._content.job
            if job is not None:
                job.cancel()

    def fetch(self, token: int, is_plain: bool) -> tuple[str, str, int | None]:
        """A page: what kind it is, its JSON without the address of the next one, and that one's token."""
        with self._fetch_lock:
            if self.status is OperationStatus.ERROR:
                assert self._error is not None
                raise self._error
            if self.status.is_over:
                raise StateError(f"Can not fetch results from the {self.handle} in {self.status.value} status.")
            if self.status is not OperationStatus.FINISHED or self._result is None:
                return "NOT_READY", "", token
            if token == self._page[0]:
                return "PAYLOAD", self._page[1], token + 1
            if token != self._token:
                raise StateError(f"Expecting token to be {self._token}, but found {token}.")
            return self._next_page(self._result, is_plain)

    def _next_page(self, result: SessionResult, is_plain: bool) -> tuple[str, str, int | None]:
        rows = [] if self._is_read else self._take(result, is_plain)
        if not rows and self._is_read:
            return "EOS", _content(result, rows, is_plain), None
        self._page = self._token, _content(result, rows, is_plain)
        self._token += 1
        return "PAYLOAD", self._page[1], self._token

    def _take(self, result: SessionResult, is_plain: bool) -> list[str]:
        """The rows that are there, after some patience for the first."""
        types = [each.type for each in result.table._content.columns]
        rows: list[str] = []
        size = 0
        while len(rows) < _MOST_ROWS and size < _MOST_PAGE_CHARACTERS:
            try:
                row = self._rows.get_nowait() if rows else self._rows.get(timeout=_WAIT_S)
            except queue.Empty:
                break
            if isinstance(row, _End):
                self._is_read = True
                if row.error is not None:
                    self._fail(row.error)
                    raise row.error
                break
            rows.append(row_json(row, types, is_plain, result.zone))
            size += len(rows[-1])
        return rows


def _content(result: SessionResult, rows: list[str], is_plain: bool) -> str:
    """The members of a page's JSON object."""
    table = result.table
    columns = json.dumps([column_json(each) for each in table._content.columns])
    kind = "SUCCESS" if table.get_result_kind() == ResultKind.SUCCESS else "SUCCESS_WITH_CONTENT"
    client = table.get_job_client()
    job_id = result.insert_job or (str(client.get_job_id()) if client is not None else None)
    parts = [f'"isQueryResult":{json.dumps(result.is_query)}']
    if job_id is not None:
        parts.append(f'"jobID":"{job_id}"')
    form = "PLAIN_TEXT" if is_plain else "JSON"
    parts.append(f'"resultKind":"{kind}"')
    parts.append(f'"results":{{"columns":{columns},"rowFormat":"{form}","data":[{",".join(rows)}]}}')
    return ",".join(parts)
