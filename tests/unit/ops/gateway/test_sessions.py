"""Sessions of the gateway: how many there are, how long, and what one is told of its statements."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from funke.engine.errors import FunkeError, StateError
from funke.engine.sql.statements.outcome import listing
from funke.engine.types.logical.data_types import DataTypes
from funke.ops.gateway.operation import Operation, OperationStatus
from funke.ops.gateway.sessions import Sessions
from funke.ops.sql.statement_session import SessionResult
from funke.table import TableResult
from funke.table.results.result_content import ReadyRows


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def sessions(clock: Clock, most: int = 2) -> Sessions:
    return Sessions(most, 1_000, {"execution.target": "remote"}, clock)


def page_of(actual: Sessions, handle: str, text: str) -> dict[str, Any]:
    """The first page of what a statement gives."""
    operation = actual.execute(handle, text, {}, 0)
    while True:
        page = actual.fetch(handle, operation, 0, False)
        if page["kind"] != "NOT_READY":
            assert actual.status(handle, operation) == "FINISHED"
            return dict(json.loads(f"{{{page['content']}}}"))
        time.sleep(0.005)


def test_there_are_not_more_than_allowed() -> None:
    gateway_sessions = sessions(Clock())
    first, _ = gateway_sessions.open({}), gateway_sessions.open({})
    with pytest.raises(StateError, match="the count of active sessions exceeds the max count: 2"):
        gateway_sessions.open({})
    gateway_sessions.close(first)
    gateway_sessions.open({})
    with pytest.raises(StateError, match=f"Session '{first}' does not exist"):
        gateway_sessions.touch(first)


def test_those_that_are_not_used_are_closed() -> None:
    clock = Clock()
    gateway_sessions = sessions(clock)
    idle, used = gateway_sessions.open({}), gateway_sessions.open({})
    clock.now = 0.9
    gateway_sessions.touch(used)
    clock.now = 1.5
    assert gateway_sessions.close_idle() is None
    gateway_sessions.touch(used)
    with pytest.raises(StateError, match="does not exist"):
        gateway_sessions.touch(idle)
    clock.now = 2.6
    assert gateway_sessions.close_idle() == 0
    clock.now = 10
    assert gateway_sessions.close_idle() == pytest.approx(7.4)


def test_a_session_has_its_own_tables_and_settings() -> None:
    gateway_sessions = sessions(Clock())
    one, other = gateway_sessions.open({"a.password": "x", "pipeline.name": "mine"}), gateway_sessions.open({})
    settings = gateway_sessions.settings(one)
    assert (settings["a.password"], settings["pipeline.name"]) == ("******", "mine")
    gateway_sessions.configure(one, "CREATE TABLE t (n INT) WITH ('connector' = 'blackhole')")
    assert page_of(gateway_sessions, one, "SHOW TABLES")["results"]["data"] == [{"kind": "INSERT", "fields": ["t"]}]
    assert page_of(gateway_sessions, other, "SHOW TABLES")["results"]["data"] == []
    assert gateway_sessions.complete(one, "SELECT * FROM ", 14)[0] == "t"
    done = page_of(gateway_sessions, one, "USE CATALOG default_catalog")
    assert (done["resultKind"], done["isQueryResult"]) == ("SUCCESS", False)
    with pytest.raises(FunkeError, match="Unsupported statement for configuring session"):
        gateway_sessions.configure(one, "SHOW TABLES")


@pytest.mark.parametrize("text", ["SELEC 1", "SHOW TABLES; SHOW TABLES", "SELECT * FROM nope"])
def test_what_is_wrong_is_reported_with_the_result(text: str) -> None:
    gateway_sessions = sessions(Clock())
    handle = gateway_sessions.open({})
    with pytest.raises(FunkeError, match=r"SQL parse failed|Unsupported SQL statement|Object 'nope' not found"):
        page_of(gateway_sessions, handle, text)
    gateway_sessions.close(handle)


def many_rows(count: int) -> SessionResult:
    return SessionResult(
        TableResult(ReadyRows(listing([(number,) for number in range(count)], ("n", DataTypes.INT()))))
    )


def ready(operation: Operation) -> Operation:
    operation.execute()
    assert operation.status is OperationStatus.FINISHED
    return operation


def test_rows_come_in_pages_and_a_page_may_be_asked_for_again() -> None:
    operation = ready(Operation(lambda: many_rows(12_000)))
    rows: list[int] = []
    token: int | None = 0
    while token is not None:
        kind, content, following = operation.fetch(token, False)
        assert operation.fetch(token, False) == (kind, content, following)
        data = json.loads(f"{{{content}}}")["results"]["data"]
        assert len(data) <= 5_000 and (kind == "EOS") == (following is None)
        rows += [each["fields"][0] for each in data]
        with pytest.raises(StateError, match="Expecting token to be"):
            operation.fetch(token + 5, False)
        token = following
    assert rows == list(range(12_000))


def test_a_closed_operation_gives_no_rows() -> None:
    operation = ready(Operation(lambda: many_rows(12_000)))
    operation.end(OperationStatus.CLOSED)
    with pytest.raises(StateError, match="in CLOSED status"):
        operation.fetch(0, False)


def test_statements_run_in_the_order_in_which_they_came() -> None:
    gateway = sessions(Clock())
    handle = gateway.open({})
    for number in range(200):
        gateway.execute(handle, f"SET 'pipeline.name' = 'job {number}'", {}, 0)
    gateway.configure(handle, "SET 'last' = 'yes'")
    settings = gateway.settings(handle)
    assert (settings["pipeline.name"], settings["last"]) == ("job 199", "yes")


def test_settings_of_a_statement_count_for_it_alone() -> None:
    gateway = sessions(Clock())
    handle = gateway.open({"pipeline.name": "mine"})
    operation = gateway.execute(handle, "SET", {"pipeline.name": "other", "parallelism.default": "3"}, 0)
    while gateway.status(handle, operation) != "FINISHED":
        time.sleep(0.005)
    rows = gateway.fetch(handle, operation, 0, False)["content"]
    assert '["pipeline.name","other"]' in rows and '["parallelism.default","3"]' in rows
    settings = gateway.settings(handle)
    assert settings["pipeline.name"] == "mine" and settings.get("parallelism.default") != "3"


def test_a_statement_without_a_session_to_run_it_is_not_waited_for() -> None:
    operation = Operation(lambda: many_rows(1))
    with pytest.raises(StateError, match="has not run within 0 s"):
        operation.await_planned(0)
    operation.end(OperationStatus.CANCELED)
    operation.execute()
    operation.await_planned(0)
    assert operation.status is OperationStatus.CANCELED
