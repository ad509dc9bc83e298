"""Several threads want Spark at the same time: one starts it, the others wait for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from funke.engine.runtime.spark import spark_session as module


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


def test_half_a_context_is_seen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    is_registered, started = threading.Event(), []

    def create(conf: Any) -> Context:
        started.append(Context(is_registered))
        return started[0]

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", object())
    monkeypatch.setattr(SparkContext, "getOrCreate", create)
    seen: list[Any] = []
    monkeypatch.setattr(module, "install_access", seen.append)
    monkeypatch.setattr(module, "access_of", lambda _site, of_session, _configuration: of_session)
    threads = [threading.Thread(target=lambda: seen.append(module.spark_context({})))]
    threads[0].start()
    assert is_registered.wait(10)
    # What a second job does when it is submitted, and when it runs.
    threads += [threading.Thread(target=lambda: seen.append(module.spark_context({})))]
    threads[1].start()
    module.use_storage_settings({})
    for thread in threads:
        thread.join(10)
    assert len(started) == 1 and seen.count(started[0]) == 2 and {"fs.s3a.access.key": "me"} in seen
