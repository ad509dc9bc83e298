"""The sessions of the gateway: as many as are allowed, as long as they are used."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.config.secret_keys import masked
from funke.engine.errors import StateError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax import statements as syntax
from funke.ops.gateway.operation import Operation, OperationStatus
from funke.ops.sql.completion import completions
from funke.ops.sql.statement_session import StatementSession
from funke.table import EnvironmentSettings, TableEnvironment

__all__ = ["CONFIGURE_S", "Sessions"]

# Results that a session keeps for clients that do not close them; the oldest of more are closed.
_MOST_OPERATIONS = 1_000
# Spark starts, or a table of a catalog is asked for.
CONFIGURE_S = 120.0
# What prepares a session and starts no job.
_PREPARING = (
    syntax.Set,
    syntax.Reset,
    syntax.Use,
    syntax.UseModules,
    syntax.LoadModule,
    syntax.UnloadModule,
    syntax.CreateTable,
    syntax.CreateView,
    syntax.CreateDatabase,
    syntax.CreateCatalog,
    syntax.CreateFunction,
    syntax.AlterTable,
    syntax.AlterView,
    syntax.AlterDatabase,
    syntax.AlterCatalog,
    syntax.AlterFunction,
    syntax.DropObject,
)


class _Session:
    """Statements of one client: planned in the order in which they came, one at a time; reading results is not."""

    def __init__(self, properties: Mapping[str, str], clock: Callable[[], float]) -> None:
        t_env = TableEnvironment.create(EnvironmentSettings.new_instance().build())
        for key, value in properties.items():
            t_env.get_config().set(key, value)
        self.statements = StatementSession(t_env)
        self._submitted: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._operations: dict[str, Operation] = {}
        self._clock = clock
        self.used = clock()
        threading.Thread(target=self._execute, name="gateway session", daemon=True).start()

    def _execute(self) -> None:
        while (operation := self._submitted.get()) is not None:
            operation.execute()

    def touch(self) -> None:
        self.used = self._clock()

    def start(self, text: str, settings: Mapping[str, str]) -> Operation:
        operation = Operation(lambda: self.statements.run(_single(text), settings))
        self._operations[operation.handle] = operation
        self._submitted.put(operation)
        while len(self._operations) > _MOST_OPERATIONS:
            self.close_operation(next(iter(self._operations)))
        return operation

    def operation(self, handle: str) -> Operation:
        own = self._operations.get(handle)
        if own is None:
            raise StateError(f"Can not find the submitted operation in the OperationManager with the {handle}.")
        return own

    def close_operation(self, handle: str) -> None:
        operation = self.operation(handle)
        operation.end(OperationStatus.CLOSED)
        self._operations.pop(handle, None)

    def close(self) -> None:
        for handle in list(self._operations):
            self.close_operation(handle)
        self._submitted.put(None)


def _single(text: str) -> syntax.Statement:
    statements = parse(text)
    if len(statements) != 1:
        raise ValidationException(
            "Unsupported SQL statement! The SQL gateway runs one statement at a time, got " + str(len(statements))
        )
    return statements[0]


class Sessions:
    """All sessions by handle; what clients may ask of them."""

    def __init__(
        self,
        most: int,
        idle_timeout_ms: int,
        defaults: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._idle_s = idle_timeout_ms / 1000
        self._defaults = defaults
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._last_used = clock()

    def close_idle(self) -> float | None:
        """Close sessions that were not used for long; for how long there has been none, if there is none."""
        now = self._clock()
        idle = [key for key, each in list(self._sessions.items()) if 0 < self._idle_s < now - each.used]
        for handle in idle:
            self.close(handle)
        return None if self._sessions else now - self._last_used

    def close_all(self) -> None:
        """Close all of them."""
        for handle in list(self._sessions):
            self.close(handle)

    def open(self, properties: Mapping[str, str]) -> str:
        """Open a session; returns its handle."""
        with self._lock:
            if len(self._sessions) >= self._most:
                raise StateError(
                    f"Failed to create session, the count of active sessions exceeds the max count: {self._most}"
                )
            handle = str(uuid.uuid4())
            self._sessions[handle] = _Session({**self._defaults, **properties}, self._clock)
            return handle

    def close(self, handle: str) -> None:
        """Close a session: its queries end."""
        self._last_used = self._clock()
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is None:
            raise _unknown(handle)
        session.close()

    def _session(self, handle: str) -> _Session:
        session = self._sessions.get(handle)
        if session is None:
            raise _unknown(handle)
        session.touch()
        return session

    def touch(self, handle: str) -> None:
        """Say that a session is in use."""
        self._session(handle)

    def settings(self, handle: str) -> dict[str, str]:
        """The settings of a session, without secrets."""
        return masked(self._session(handle).statements.t_env.get_config().to_map())

    def configure(self, handle: str, text: str) -> None:
        """Run a statement that prepares a session, and wait for it."""
        session = self._session(handle)
        if not isinstance(_single(text), _PREPARING):
            raise ValidationException(
                f"Unsupported statement for configuring session: {text}\nThe configureSession API only supports to "
                "execute statement of type CREATE TABLE, DROP TABLE, ALTER TABLE, CREATE DATABASE, DROP DATABASE, "
                "ALTER DATABASE, CREATE FUNCTION, DROP FUNCTION, ALTER FUNCTION, CREATE CATALOG, DROP CATALOG, "
                "USE CATALOG, USE [CATALOG.]DATABASE, CREATE VIEW, DROP VIEW, LOAD MODULE, UNLOAD MODULE, USE MODULE, "
                "SET, RESET."
            )
        session.start(text, {}).await_planned(CONFIGURE_S)

    def execute(self, handle: str, text: str, settings: Mapping[str, str], timeout_ms: int) -> str:
        """Start a statement with settings of its own; returns the handle of the operation."""
        if timeout_ms > 0:
            raise UnsupportedFeatureError("a timeout of a statement", "Flink's gateway has none either: cancel it")
        return self._session(handle).start(text, settings).handle

    def status(self, handle: str, operation: str) -> str:
        """The status of an operation."""
        return self._session(handle).operation(operation).status.value

    def cancel(self, handle: str, operation: str) -> str:
        """Cancel an operation; returns its status."""
        running = self._session(handle).operation(operation)
        running.end(OperationStatus.CANCELED)
        return running.status.value

    def close_operation(self, handle: str, operation: str) -> str:
        """Close an operation; returns its status."""
        self._session(handle).close_operation(operation)
        return OperationStatus.CLOSED.value

    def fetch(self, handle: str, operation: str, token: int, is_plain: bool) -> dict[str, Any]:
        """A page of a result."""
        kind, content, following = self._session(handle).operation(operation).fetch(token, is_plain)
        return {"kind": kind, "content": content, "next": following}

    def complete(self, handle: str, text: str, position: int) -> list[str]:
        """What may stand at a place of a statement."""
        return completions(self._session(handle).statements.t_env, text, position)


def _unknown(handle: str) -> StateError:
    return StateError(f"Session '{handle[:100]}' does not exist.")
