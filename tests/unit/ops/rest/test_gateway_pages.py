"""The gateway's paths over HTTP, version by version; the sessions are real ones, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from funke.ops.gateway.process import commands_of
from funke.ops.gateway.sessions import Sessions
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.guard import Access
from funke.ops.rest.job_directory import JobDirectory


class DirectGateway:
    """Passes commands on without a process between."""

    def __init__(self) -> None:
        self._commands: Any = commands_of(Sessions(10, 60_000, {}))

    def ask(self, command: str, **arguments: Any) -> Any:
        return self._commands[command](**arguments)


def client_of(tmp_path: Path, gateway: DirectGateway | None) -> TestClient:
    cluster = Cluster(JobDirectory(str(tmp_path)), gateway=gateway)
    return TestClient(make_app(cluster, Access()), base_url="http://localhost")


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return client_of(tmp_path, DirectGateway())


def result_of(client: TestClient, session: str, text: str, query: str = "") -> dict[str, Any]:
    operation = client.post(f"{session}/statements", json={"statement": text}).json()["operationHandle"]
    while True:
        answer = client.get(f"{session}/operations/{operation}/result/0{query}")
        if answer.status_code != 200 or answer.json()["resultType"] != "NOT_READY":
            return {**answer.json(), "operation": f"{session}/operations/{operation}"}
        time.sleep(0.005)


def test_what_the_gateway_is(client: TestClient) -> None:
    assert client.get("/v1/info").json()["productName"] == "Apache Flink"
    assert client.get("/v3/api_versions").json() == {"versions": ["V1", "V2", "V3", "V4"]}
    assert client.get("/v5/api_versions").status_code == 404


@pytest.mark.parametrize("version", ["/v1", "/v2", "/v3", "/v4"])
def test_a_session_from_its_beginning_to_its_end(client: TestClient, version: str) -> None:
    opened = client.post(f"{version}/sessions", json={"sessionName": "s", "properties": {"pipeline.name": "p"}})
    session = f"{version}/sessions/{opened.json()['sessionHandle']}"
    assert client.get(session).json()["properties"]["pipeline.name"] == "p"
    assert client.post(f"{session}/heartbeat").json() == {}
    query = "" if version == "/v1" else "?rowFormat=PLAIN_TEXT"
    result = result_of(client, session, "SHOW CURRENT CATALOG", query)
    assert result["results"]["data"] == [{"kind": "INSERT", "fields": ["default_catalog"]}]
    assert result["results"]["rowFormat"] == ("JSON" if version == "/v1" else "PLAIN_TEXT")
    assert result["nextResultUri"].startswith(f"{result['operation']}/result/1")
    assert ("rowFormat" in result["nextResultUri"]) is (version != "/v1")
    last = client.get(result["nextResultUri"]).json()
    assert last["resultType"] == "EOS" and "nextResultUri" not in last
    assert client.get(f"{result['operation']}/status").json() == {"status": "FINISHED"}
    assert client.post(f"{result['operation']}/cancel").json() == {"status": "CANCELED"}
    assert client.delete(f"{result['operation']}/close").json() == {"status": "CLOSED"}
    assert client.delete(session).json() == {"status": "CLOSED"}
    assert "does not exist" in client.post(f"{session}/heartbeat").json()["errors"][1]


def test_what_version_1_does_not_have_yet(client: TestClient) -> None:
    for version, expected in (("/v1", 404), ("/v2", 200)):
        session = f"{version}/sessions/{client.post('/v2/sessions', json={}).json()['sessionHandle']}"
        configured = client.post(f"{session}/configure-session", json={"statement": "SET 'a' = 'b'"})
        assert configured.status_code == expected
        body = {"statement": "SELECT * FROM def", "position": 17}
        completed = client.request("GET", f"{session}/complete-statement", json=body)
        assert completed.status_code == expected
    assert completed.json() == {"candidates": ["default_database", "default_catalog"]}


@pytest.mark.parametrize(
    ("ask", "status", "text"),
    [
        (
            lambda client: client.post("/v2/sessions", json={"properties": {"a": 1}}),
            400,
            "must be an object of strings",
        ),
        (lambda client: client.post("/v2/sessions/x/statements", json={}), 400, "'statement' is missing"),
        (
            lambda client: client.post("/v2/sessions/x/statements", json={"statement": "SET", "executionConfig": [1]}),
            400,
            "'executionConfig' must be an object of strings",
        ),
        (
            lambda client: client.post("/v2/sessions/x/statements", json={"statement": "SET", "executionTimeout": 5}),
            500,
            "Internal server error.",
        ),
        (lambda client: client.get("/v2/sessions/x/operations/y/result/0?rowFormat=XML"), 400, "JSON or PLAIN_TEXT"),
        (lambda client: client.get("/v2/sessions/x/operations/y/result/-1"), 400, "'token' must be a whole number"),
        (lambda client: client.delete("/v2/sessions/x"), 500, "Internal server error."),
        (lambda client: client.post("/v4/sessions/x/scripts", json={}), 501, "not supported"),
    ],
)
def test_requests_that_are_rejected(
    client: TestClient, ask: Callable[[TestClient], Any], status: int, text: str
) -> None:
    answer = ask(client)
    assert (answer.status_code, text in answer.json()["errors"][0]) == (status, True), answer.text


def test_a_mistake_in_a_statement_is_reported_as_flinks_gateway_does(client: TestClient) -> None:
    session = f"/v4/sessions/{client.post('/v4/sessions', json={}).json()['sessionHandle']}"
    first, output = result_of(client, session, "SELEC 1")["errors"]
    assert first == "Internal server error."
    assert output.startswith("<Exception on server side:\nSQL parse failed.")


def test_a_program_with_pages_of_its_own_has_no_gateway(tmp_path: Path) -> None:
    answer = client_of(tmp_path, None).post("/v4/sessions", json={})
    assert answer.status_code == 503 and "funke start-cluster" in answer.json()["errors"][0]
