"""The nursery: there for an executor's later slots, gone with the executor."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from funke.engine.runtime import nursery


@pytest.fixture
def executor() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands in for an executor."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_without_a_nursery_nothing_is_forked(executor: subprocess.Popen[bytes]) -> None:
    assert nursery.fork_slot(executor.pid, "nowhere", ()) is None


def test_a_nursery_serves_its_executor_and_ends_with_it(executor: subprocess.Popen[bytes]) -> None:
    nursery.start_nursery(executor.pid)
    folder = nursery._folder_of(executor.pid)
    assert wait_until(lambda: os.path.exists(os.path.join(folder, "s")))
    forked = nursery.fork_slot(executor.pid, "no such birth file", ())
    assert forked is not None, "it answers with the process it made, which fails for want of a birth message"
    executor.kill()
    executor.wait()
    assert wait_until(lambda: not os.path.exists(folder))
