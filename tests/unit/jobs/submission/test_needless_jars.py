"""Jars of connectors and formats that are built in are not given to Spark; a line says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.jobs.submission.needless_jars import without_needless


def test_jars_of_kafka_are_not_needed(capsys: pytest.CaptureFixture[str]) -> None:
    jars = [
        "file:///opt/flink-sql-connector-kafka-3.0.0-1.17.jar",
        "file:///opt/flink-connector-kafka_2.12-1.13.2.jar",
        "/opt/kafka-clients-3.4.0.jar",
        "file:///opt/my-kafka-functions.jar",
    ]
    assert without_needless(jars) == ("file:///opt/my-kafka-functions.jar",)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == (
        "note: flink-sql-connector-kafka-3.0.0-1.17.jar is not needed: Kafka is read and written without Java"
    )


@pytest.mark.parametrize(
    "name",
    [
        "flink-sql-avro-1.15.0.jar",
        "flink-sql-avro-confluent-registry-2.0.0.jar",
        "flink-json-1.17.2.jar",
        "flink-connector-jdbc-3.1.2-1.18.jar",
        "flink-sql-connector-mysql-cdc-3.2.0.jar",
        "postgresql-42.7.3.jar",
        "mysql-connector-j-8.4.0.jar",
    ],
)
def test_jars_of_formats_and_databases_may_be_missing(name: str) -> None:
    assert without_needless([f"file:///path/to/{name}"]) == ()


def test_a_driver_that_is_there_is_kept_for_spark(tmp_path: Path) -> None:
    driver = tmp_path / "postgresql-42.7.3.jar"
    driver.touch()
    assert without_needless([driver.as_uri(), "hdfs://host/mysql-connector-j-8.4.0.jar"]) == (
        driver.as_uri(),
        "hdfs://host/mysql-connector-j-8.4.0.jar",
    )


def test_a_format_that_is_not_built_in_needs_its_jar() -> None:
    assert without_needless(["file:///path/to/flink-protobuf-1.17.2.jar"]) == (
        "file:///path/to/flink-protobuf-1.17.2.jar",
    )


@pytest.mark.parametrize("folder", ["C:\\flink\\lib\\", "file:///C:\\flink\\", "file:///C:/flink/", "D:/flink/lib/"])
@pytest.mark.parametrize("name", ["flink-sql-connector-kafka-3.0.0-1.17.jar", "postgresql-42.7.3.jar"])
def test_paths_of_windows_do_not_matter_where_jars_are_not_needed(
    folder: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert without_needless([folder + name]) == ()
    assert capsys.readouterr().err.startswith(f"note: {name} is not needed")
