"""A wait that is watched: checkpoints expire meanwhile, and too many of them end it. And who is waited for."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from funke.engine.errors import JobExecutionError
from funke.engine.jobs.attempts.epoch_watch import EpochWatch
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.runtime.epochs.epoch_blockers import epoch_blockers, subtasks_at
from tests.unit.graph.sample_graphs import GraphBuilder


def test_what_expires_ends_the_wait() -> None:
    stopped = threading.Event()

    def expire() -> None:
        raise JobExecutionError("checkpoint 3 failed")

    watch = EpochWatch(expire, stopped.set, timeout_ms=100)
    with pytest.raises(JobExecutionError, match="checkpoint 3 failed"), watch.watching():
        assert stopped.wait(10)
        raise RuntimeError("the slots are gone")


def test_the_cause_is_reported_also_when_the_wait_ends_as_if_nothing_had_happened() -> None:
    stopped = threading.Event()

    def expire() -> None:
        raise JobExecutionError("checkpoint 3 failed")

    def stop() -> None:
        stopped.set()
        raise OSError("has ended already")

    with pytest.raises(JobExecutionError, match="checkpoint 3 failed"), EpochWatch(expire, stop, 100).watching():
        assert stopped.wait(10)


def test_nobody_watches_when_the_wait_is_over() -> None:
    calls: list[str] = []
    called = threading.Event()

    def expire() -> None:
        calls.append(threading.current_thread().name)
        called.set()

    watch = EpochWatch(expire, lambda: None, timeout_ms=100)
    before = set(threading.enumerate())
    with watch.watching():
        assert called.wait(10)
    number = len(calls)
    assert not {thread.name for thread in set(threading.enumerate()) - before} & {"funke-epoch-watch"}
    with pytest.raises(ValueError, match="as it is"), watch.watching():
        raise ValueError("as it is")
    assert len(calls) <= number + 1


def test_subtasks_are_named() -> None:
    builder = GraphBuilder(2)
    builder.reduce(builder.map(builder.source()))
    plan = to_plan(to_job_graph(builder.graph))
    reading, reducing = (vertex.name for vertex in plan.graph.vertices if vertex.parallelism == 2)
    assert subtasks_at(plan, 0, 1) == [f"'{reading}' (subtask 1, slot 1)"]
    assert subtasks_at(plan, 1, 1) == [f"'{reducing}' (subtask 1, slot 1)"]
    assert subtasks_at(plan, 1, 7) == [] and subtasks_at(plan, 0, 7) == []

    class NoSpark:
        @property
        def sparkContext(self) -> Any:
            raise ConnectionError("Spark is gone")

    assert epoch_blockers(NoSpark(), plan, "job-0") == ""  # type: ignore[arg-type]
