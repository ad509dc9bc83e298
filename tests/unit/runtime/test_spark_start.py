"""Several threads want Spark's session at the same time: one starts it, the others wait for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from funke.engine.runtime import spark_session as module


class Context:
    """A context of Spark's, which has its connection to Java only after a while."""

    def __init__(self, is_registered: threading.Event) -> None:
        from pyspark import SparkContext

        SparkContext._active_spark_context = self  # type: ignore[assignment]
        is_registered.set()
        threading.Event().wait(0.3)
        self._jsc = object()
        self._funke_settings: dict[str, str] = {"fs.s3a.access.key": "me"}
        self.master = "local[1]"


class Session:
    def __init__(self, context: Context) -> None:
        self.sparkContext = context


def test_half_a_session_is_seen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    is_registered, started = threading.Event(), []

    class Builder:
        def appName(self, name: str) -> Builder:
            return self

        def config(self, key: str, value: str) -> Builder:
            return self

        def getOrCreate(self) -> Session:
            started.append(Session(Context(is_registered)))
            monkeypatch.setattr(SparkSession, "_instantiatedSession", started[0])
            return started[0]

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "Builder", Builder)
    seen: list[Any] = []
    monkeypatch.setattr(module, "install_access", seen.append)
    monkeypatch.setattr(module, "access_of", lambda of_session, configuration: of_session)
    threads = [threading.Thread(target=lambda: seen.append(module.spark_session({})))]
    threads[0].start()
    assert is_registered.wait(10)
    # What a second job does when it is submitted, and when it runs.
    threads += [threading.Thread(target=lambda: seen.append(module.spark_session({})))]
    threads[1].start()
    module.use_storage_settings({})
    for thread in threads:
        thread.join(10)
    assert len(started) == 1 and seen.count(started[0]) == 2 and {"fs.s3a.access.key": "me"} in seen
