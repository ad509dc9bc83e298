"""Jars of Kafka's connector are not given to Spark; a line says so."""

from __future__ import annotations

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
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3
    assert told[0] == (
        "note: flink-sql-connector-kafka-3.0.0-1.17.jar is not needed: Kafka is read and written without Java"
    )
