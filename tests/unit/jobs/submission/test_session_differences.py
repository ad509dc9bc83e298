"""A job on a session that was there before hears which settings are not its own."""

from __future__ import annotations

import os

import pytest

from funke.engine.config.settings import Settings
from funke.engine.jobs.submission.session_differences import warn_of_other_session

START = "warning: Spark's session was there before the job and keeps its settings: "


def said(
    expected: dict[str, str],
    of_session: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    of_starter: dict[str, str] | None = None,
) -> str:
    warn_of_other_session(Settings(expected), of_session, of_starter)
    return capsys.readouterr().err


def test_settings_of_spark_that_come_too_late_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    of_session = {"spark.master": "local[2]", "spark.app.name": "other", "spark.ui.enabled": "false"}
    expected = {
        "spark.master": "local[2]",
        "spark.hadoop.fs.s3a.endpoint": "x",
        "spark.executor.memory": "1g",
        "a": "b",
    }
    assert said({**expected, "spark.app.name": "mine"}, of_session, capsys) == (
        f"{START}spark.app.name is 'other', the job asks for 'mine'; "
        "spark.executor.memory is not set, the job asks for '1g'\n"
    )


@pytest.mark.parametrize(
    ("key", "actual", "expected"),
    [
        ("spark.executor.cores", "12", "1"),
        ("spark.executor.cores", "1", "12"),
        ("spark.master", "local[*]", "local"),
        ("spark.executor.memory", "10g", "0g"),
        ("spark.dynamicAllocation.enabled", "true", "false"),
        ("spark.jars", "file:/x/a.jar", "/y/a.jar"),
        ("spark.driver.extraJavaOptions", "-Dmine=12", "-Dmine=1"),
    ],
)
def test_what_only_looks_alike_differs(
    key: str, actual: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        said({key: expected}, {key: actual}, capsys) == f"{START}{key} is '{actual}', the job asks for '{expected}'\n"
    )


@pytest.mark.parametrize(
    ("key", "actual", "expected"),
    [
        ("spark.jars", "file:///a.jar,file:/b.jar", "/a.jar,/b.jar"),
        ("spark.files", f"file://{os.getcwd()}/table.csv", "table.csv"),
        ("spark.jars", "hdfs://x/a.jar", "hdfs://x/a.jar"),
        ("spark.driver.extraJavaOptions", "-Dspark -Dmine", "-Dmine"),
        ("spark.ui.enabled", "true", "True"),
    ],
)
def test_what_spark_writes_in_its_own_way_is_the_same(
    key: str, actual: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not said({key: expected}, {key: actual}, capsys)


def test_what_another_job_has_asked_for_is_named_too(capsys: pytest.CaptureFixture[str]) -> None:
    of_starter = {"spark.app.name": "first", "spark.executor.memory": "8g", "spark.hadoop.fs.x": "1"}
    assert said({}, of_starter, capsys, of_starter) == f"{START}spark.executor.memory is '8g' for another job\n"
    assert not said({"spark.executor.memory": "8g"}, of_starter, capsys, of_starter)


def test_secrets_are_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    key = "spark.ssl.keyPassword"
    text = said({key: "mine"}, {key: "theirs"}, capsys)
    assert text == f"{START}{key} is '******', the job asks for '******'\n"
