"""Statements that a SQL gateway runs: a client of its REST interface, version 2 or later."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from funke.engine.config import rest_options
from funke.engine.errors import ConfigurationError, JobExecutionError, StateError
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.sql.syntax.statements import Statement
from funke.engine.types.row import Row, RowKind
from funke.ops.cli.properties import settings_with
from funke.ops.cli.sql.shown_result import ShownColumn, ShownResult
from funke.ops.rest.login import read_token
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceFolder
from funke.ops.sql.completion import Suggestion
from funke.ops.sql.text_location import location_of

__all__ = ["GatewayStatements"]

# Headers of every request, one in a line; Flink's clients read them, too.
_HEADERS_VARIABLE = "FLINK_REST_CLIENT_HEADERS"
_REQUEST_S = 150.0
_HEARTBEAT_S = 60.0
_WAIT_S = 0.1
_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"})
_KINDS = {each.name: each for each in RowKind}


class GatewayStatements:
    """A session of a gateway."""

    def __init__(self, url: str, headers: dict[str, str], options: dict[str, str]) -> None:
        self._url = url
        self._headers = headers
        self._options = options
        versions = self._ask("GET", "/v1/api_versions")["versions"]
        self._version = f"/v{max(int(each[1:]) for each in versions)}"
        opened = self._ask("POST", f"{self._version}/sessions", {"properties": options})
        self._session = f"{self._version}/sessions/{opened['sessionHandle']}"
        self._is_closed = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    @staticmethod
    @contextlib.contextmanager
    def connected(address: str, options: dict[str, str]) -> Iterator[GatewayStatements]:
        """A session, closed at the end."""
        statements = GatewayStatements(_url_of(address), _headers(address), options)
        try:
            yield statements
        finally:
            statements._close()

    def _close(self) -> None:
        self._is_closed.set()
        with contextlib.suppress(StateError, JobExecutionError):
            self._ask("DELETE", self._session)

    def _beat(self) -> None:
        while not self._is_closed.wait(_HEARTBEAT_S):
            with contextlib.suppress(StateError, JobExecutionError):
                self._ask("POST", f"{self._session}/heartbeat", {})

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **self._headers}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_S) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            raise JobExecutionError(_message_of(error)) from None
        except OSError as error:
            raise StateError(f"the SQL gateway at {self._url} cannot be reached: {error}") from error

    def run(self, statement: Statement) -> ShownResult:
        """Run a statement; returns when its result begins."""
        handle = self._ask("POST", f"{self._session}/statements", {"statement": statement.written})["operationHandle"]
        operation = f"{self._session}/operations/{handle}"

        def cancel() -> None:
            with contextlib.suppress(StateError, JobExecutionError):
                self._ask("POST", f"{operation}/cancel", {})

        try:
            page = self._page(f"{operation}/result/0?rowFormat=PLAIN_TEXT")
        except KeyboardInterrupt:
            cancel()
            raise
        columns = page["results"]["columns"]
        is_insert = "jobID" in page and not page["isQueryResult"]
        return ShownResult(
            tuple(_column(each) for each in columns),
            self._rows(page, operation),
            is_query=page["isQueryResult"],
            is_changing=page["isQueryResult"] and self._is_streaming(),
            is_ok=page["resultKind"] == "SUCCESS",
            is_plain=not page["isQueryResult"] and [each["name"] for each in columns] == ["result"],
            insert_job=page.get("jobID") if is_insert else None,
            cancel=cancel,
        )

    def _page(self, path: str) -> dict[str, Any]:
        while True:
            page = self._ask("GET", path)
            if page["resultType"] != "NOT_READY":
                return page
            self._is_closed.wait(_WAIT_S)

    def _rows(self, page: dict[str, Any], operation: str) -> Iterator[Row]:
        while True:
            for each in page["results"]["data"]:
                row = Row(*each["fields"])
                row.set_row_kind(_KINDS[each["kind"]])
                yield row
            following = page.get("nextResultUri")
            if following is None:
                break
            page = self._page(following)
        with contextlib.suppress(StateError, JobExecutionError):
            self._ask("DELETE", f"{operation}/close")

    def _is_streaming(self) -> bool:
        return self.settings().get("execution.runtime-mode", "streaming").lower() == "streaming"

    def settings(self) -> dict[str, str]:
        """The settings of the session."""
        properties = self._ask("GET", self._session)["properties"]
        return {str(key): str(value) for key, value in properties.items()}

    def suggestions(self, text: str, position: int) -> tuple[str, list[Suggestion]]:
        """The word at a place, and what the gateway knows that it may become."""
        word = location_of(text, position).word
        body = {"statement": text, "position": position}
        try:
            candidates = self._ask("GET", f"{self._session}/complete-statement", body)["candidates"]
        except (StateError, JobExecutionError):
            return word, []
        return word, [Suggestion(each) for each in candidates]

    def running_jobs(self) -> list[tuple[str, str]]:
        """No job of a gateway ends with the shell but the query that it shows."""
        return []

    def is_slow_to_start(self, statement: Statement) -> bool:
        """The gateway has its own Spark."""
        return False

    def wait_for(self, job_id: str) -> None:
        """There is none to wait for."""
        raise StateError(f"job {job_id} is not one of the shell")

    def cancel(self, job_id: str) -> None:
        """There is none to end."""
        raise StateError(f"job {job_id} is not one of the shell")

    def leave_to_service(self, job_id: str) -> str:
        """There is none to leave."""
        raise StateError(f"job {job_id} is not one of the shell")


def _column(column: dict[str, Any]) -> ShownColumn:
    kind = column["logicalType"]["type"]
    return ShownColumn(column["name"], kind in _NUMBERS, kind == "BOOLEAN")


def _message_of(error: urllib.error.HTTPError) -> str:
    """What the gateway says was wrong, without the words around it."""
    with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
        message = str(json.load(error)["errors"][-1])
        return message.removeprefix("<Exception on server side:\n").removesuffix("\nEnd of exception on server side>")
    return f"the SQL gateway answers {error.code} {error.reason}"


def _url_of(address: str) -> str:
    url = address if "//" in address else f"http://{address}"
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"invalid address '{address}'; expected host:port or a URL")
    return url.rstrip("/")


def _headers(address: str) -> dict[str, str]:
    """Those that are set; to the service of this user, its token: no other place is told it."""
    lines = os.environ.get(_HEADERS_VARIABLE, "").splitlines()
    headers = {key.strip(): value.strip() for key, mark, value in (each.partition(":") for each in lines) if mark}
    if headers:
        return headers
    settings = settings_with([])
    folder = ServiceFolder(home_folder(settings))
    try:
        ServiceClient(folder).require(address)
    except ConfigurationError:
        return {}
    token = settings.get(rest_options.REST_TOKEN)
    if token is None and not settings.get(rest_options.REST_INSECURE):
        token = read_token(folder.local_home)
    return {} if token is None else {"Authorization": f"Bearer {token}"}
