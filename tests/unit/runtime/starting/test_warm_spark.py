"""Spark that waits for a program: out of PySpark's sight, taken by one that wants the same, ended by any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark import SparkContext

from funke.engine.runtime.starting import warm_spark
from funke.engine.runtime.starting.warm_spark import end_aside, fits, folder_of_program, put_aside, take_aside

OPTIONS = {"spark.master": "local[2]", "spark.app.name": "funke"}


class FakeProcess:
    """Spark's process."""

    def __init__(self) -> None:
        self.has_ended = False

    def poll(self) -> int | None:
        return 1 if self.has_ended else None

    def kill(self) -> None:
        self.has_ended = True

    def wait(self) -> None:
        assert self.has_ended


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProcess]:
    """Spark has been started."""
    process = FakeProcess()
    for name, value in (
        ("_gateway", SimpleNamespace(proc=process)),
        ("_jvm", MagicMock()),
        ("_active_spark_context", MagicMock()),
    ):
        monkeypatch.setattr(SparkContext, name, value)
    monkeypatch.setattr(warm_spark, "_aside", [])
    monkeypatch.setattr(warm_spark, "_moved", [])
    yield process


def pyspark_sees() -> tuple[Any, Any, Any]:
    return SparkContext._gateway, SparkContext._jvm, SparkContext._active_spark_context


def test_it_is_taken_by_a_program_that_wants_the_same(process: FakeProcess) -> None:
    before = pyspark_sees()
    put_aside(before[2], OPTIONS)
    assert pyspark_sees() == (None, None, None) and folder_of_program() is None
    expected = {**OPTIONS, "spark.app.name": "orders"}
    assert fits(expected) and take_aside(expected) is before[2]
    assert pyspark_sees() == before and folder_of_program() == os.getcwd() and not process.has_ended
    before[1].java.lang.System.setProperty.assert_called_once_with("user.dir", os.getcwd())
    # Nobody else gets it.
    assert take_aside(expected) is None


def test_it_ends_when_a_program_wants_another(process: FakeProcess) -> None:
    put_aside(SparkContext._active_spark_context, OPTIONS)
    assert not fits({**OPTIONS, "spark.executor.memory": "2g"})
    assert take_aside({**OPTIONS, "spark.executor.memory": "2g"}) is None
    assert process.has_ended and pyspark_sees() == (None, None, None)


def test_one_that_has_died_is_not_taken(process: FakeProcess) -> None:
    put_aside(SparkContext._active_spark_context, OPTIONS)
    process.has_ended = True
    assert not fits(OPTIONS) and take_aside(OPTIONS) is None
    end_aside()
