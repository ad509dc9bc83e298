"""The service's SQL gateway, asked by Flink's own JDBC driver and by `funke sql --gateway`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from funke.ops.rest.login import read_token
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceFolder
from tests.harness.flink_jdbc import DriverUnavailableError, flink_jdbc
from tests.spark.job_running import wait_until

pytestmark = pytest.mark.spark

VALUES = """SELECT 1 AS n, 'it''s' AS s, CAST(1.50 AS DECIMAL(10, 2)) AS d, TIMESTAMP '2024-01-02 03:04:05.678' AS ts,
    DATE '2024-01-02' AS dt, TRUE AS b, CAST(0.5 AS DOUBLE) AS x, X'0102' AS bs, CAST(NULL AS STRING) AS nothing,
    CAST(12345678901 AS BIGINT) AS l, MAP['k', 1] AS m"""
MANY = "CREATE TABLE many (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '12000')"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceFolder]:
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    funke("start-cluster", "-Drest.port=0", "-Dfunke.service.warm-driver=false")
    folder = ServiceFolder(str(tmp_path / "home"))
    yield folder
    funke("stop-cluster")
    assert not (Path(folder.path) / "gateway").exists()


def funke(*arguments: str) -> str:
    command = [sys.executable, "-m", "funke", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def first_column(result: Any) -> list[Any]:
    results = []
    while result.next():
        results.append(result.getObject(1))
    result.close()
    return results


def cause_of(error: Any) -> str:
    """What the innermost exception says."""
    while error.getCause() is not None:
        error = error.getCause()
    return str(error.getMessage())


def test_clients_of_the_gateway(service: ServiceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = ServiceClient(service).require()
    host_and_port = urlsplit(address.url).netloc
    monkeypatch.setenv("FLINK_REST_CLIENT_HEADERS", f"Authorization:Bearer {read_token(service.home)}")
    try:
        with flink_jdbc() as jvm:
            ask_by_jdbc(jvm, host_and_port, tmp_path)
    except DriverUnavailableError as error:
        pytest.skip(str(error))
    # The shell shows its own service the token by itself.
    monkeypatch.delenv("FLINK_REST_CLIENT_HEADERS")
    output = funke(
        "sql", "--gateway", host_and_port, "-e", "SET 'funke.sql.format' = 'csv'; SELECT 1 AS a, 'x' AS b; SHOW TABLES"
    )
    assert output.splitlines() == ["OK", "op,a,b", "+I,1,x", "table name"]


def test_create_table_as_with_settings_of_its_own(service: ServiceFolder, tmp_path: Path) -> None:
    """As dbt's adapter for Flink sends it: SET is not waited for, the token is a password, the name is a setting."""
    url = ServiceClient(service).require().url
    with httpx.Client(base_url=url, auth=("dbt", read_token(service.home)), timeout=150) as client:
        session = f"/v1/sessions/{client.post('/v1/sessions', json={'sessionName': 'dbt'}).json()['sessionHandle']}"

        def run(text: str, settings: dict[str, str] | None = None) -> str:
            sent = client.post(f"{session}/statements", json={"statement": text, "executionConfig": settings})
            return f"{session}/operations/{sent.json()['operationHandle']}"

        def rows(operation: str) -> list[list[Any]]:
            assert wait_until(lambda: client.get(f"{operation}/status").json()["status"] == "FINISHED", 100)
            return [each["fields"] for each in client.get(f"{operation}/result/0").json()["results"]["data"]]

        run("SET 'execution.runtime-mode' = 'streaming'")
        run(MANY)
        run("CREATE VIEW few AS (SELECT n FROM many WHERE n > 0)")
        folder = tmp_path / "written"
        created = run(
            f"""CREATE TABLE written WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{folder}') AS (
                SELECT n AS number, 'x' AS `a letter` FROM few
            );""",
            {"pipeline.name": "nightly", "parallelism.default": "1"},
        )
        ((job_id,),) = rows(created)
        assert [job_id, "nightly"] in [row[:2] for row in rows(run("SHOW JOBS"))]
        assert rows(run("DESCRIBE written"))[1][:2] == ["a letter", "CHAR(1)"]
        written = lambda: [row for each in folder.glob("part-*") for row in each.read_text().splitlines()]  # noqa: E731
        ended = lambda: any(row[0] == job_id and row[2] == "FINISHED" for row in rows(run("SHOW JOBS")))  # noqa: E731
        assert wait_until(ended, 100)
        assert all(row.endswith(",x") for row in written()) and len(written()) > 0
        # What cannot run leaves no table behind.
        failed = run(
            "CREATE TABLE other WITH ('connector' = 'blackhole') AS SELECT n FROM few",
            {"parallelism.default": "none"},
        )
        assert wait_until(lambda: client.get(f"{failed}/status").json()["status"] == "ERROR", 100)
        assert rows(run("SHOW TABLES")) == [["few"], ["many"], ["written"]]


def ask_by_jdbc(jvm: Any, host_and_port: str, tmp_path: Path) -> None:
    from py4j.protocol import Py4JJavaError

    connection = jvm.java.sql.DriverManager.getConnection(f"jdbc:flink://{host_and_port}")
    statement = connection.createStatement()
    assert (connection.getCatalog(), connection.getSchema()) == ("default_catalog", "default_database")

    result = statement.executeQuery(VALUES)
    assert result.next()
    names = [result.getMetaData().getColumnName(index) for index in range(1, 12)]
    assert names == ["n", "s", "d", "ts", "dt", "b", "x", "bs", "nothing", "l", "m"]
    assert [result.getInt(1), result.getString(2), str(result.getBigDecimal(3))] == [1, "it's", "1.50"]
    assert [result.getTimestamp(4).toString(), result.getDate(5).toString()] == [
        "2024-01-02 03:04:05.678",
        "2024-01-02",
    ]
    assert [result.getBoolean(6), result.getDouble(7), bytes(result.getBytes(8))] == [True, 0.5, b"\1\2"]
    assert [result.getString(9), result.getLong(10)] == [None, 12345678901]
    assert dict(result.getObject(11)) == {"k": 1}
    assert not result.next()
    result.close()

    # More than a page.
    statement.execute(MANY)
    assert len(first_column(statement.executeQuery("SELECT n FROM many"))) == 12000
    assert statement.execute("SHOW TABLES")
    assert first_column(statement.getResultSet()) == ["many"]
    assert first_column(connection.getMetaData().getCatalogs()) == ["default_catalog"]
    with pytest.raises(Py4JJavaError) as rejected:
        statement.executeQuery("SELECT nope FROM many")
    assert "Column 'nope' not found in any table" in cause_of(rejected.value.java_exception)

    # The service runs what writes: it goes on when the connection, and its session, are closed.
    folder = tmp_path / "written"
    statement.execute(
        f"CREATE TABLE written (n INT) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
    )
    assert statement.execute("INSERT INTO written SELECT n FROM many")
    (job_id,) = first_column(statement.getResultSet())
    connection.close()
    assert f"{job_id} : INSERT INTO written: SELECT n FROM many" in funke("list", "-a")
    written = lambda: sum(len(each.read_text().splitlines()) for each in folder.glob("part-*"))  # noqa: E731
    assert wait_until(lambda: written() == 12000, 100)
