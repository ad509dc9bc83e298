"""Slots that jobs share: taken, waited for in a row, and free again when their job ends or its driver dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError, SlotTimeoutError
from funke.engine.jobs.attempts.slot_pool import SlotPool


@pytest.fixture
def pool(tmp_path: Path) -> SlotPool:
    pool = SlotPool(str(tmp_path / "slots"))
    pool.open(4)
    return pool


def ignore(text: str) -> None:
    """Hears nothing."""


def test_slots_are_taken_and_given_back(pool: SlotPool) -> None:
    with pool.slots("a1", 3, 10, ignore, lambda: False):
        assert pool.free == 1
        with pool.slots("b2", 1, 10, ignore, lambda: False):
            assert pool.free == 0
            assert [(use.job_id, use.slots) for use in pool.uses()] == [("a1", 3), ("b2", 1)]
    assert (pool.free, pool.uses()) == (4, [])


def test_more_than_there_are_is_rejected(pool: SlotPool) -> None:
    with pytest.raises(ConfigurationError, match="needs 5 slots, and the service has 4"):
        pool.slots("a1", 5, 10, ignore, lambda: False).__enter__()


def test_a_job_waits_and_says_so(pool: SlotPool) -> None:
    heard: list[str] = []
    is_waiting, has_slots = threading.Event(), threading.Event()

    def hear(text: str) -> None:
        heard.append(text)
        is_waiting.set()

    def other() -> None:
        with pool.slots("b2", 2, 60, hear, lambda: False):
            has_slots.set()

    with pool.slots("a1", 3, 10, ignore, lambda: False):
        thread = threading.Thread(target=other)
        thread.start()
        assert is_waiting.wait(30) and heard[0] == "2 slots: 1 of 4 are free" and not has_slots.is_set()
        # One who comes later does not overtake it, though there would be room.
        with pytest.raises(SlotTimeoutError, match="has waited 0 s for 1 slots"):
            pool.slots("c3", 1, 0, hear, lambda: False).__enter__()
        assert "1 slots: 1 of 4 are free, behind 1 other job" in heard
    assert has_slots.wait(30)
    thread.join(30)
    assert heard[-1] == "" and pool.free == 4


def test_a_wait_can_be_given_up(pool: SlotPool) -> None:
    with pool.slots("a1", 4, 10, ignore, lambda: False), pool.slots("b2", 1, 10, ignore, lambda: True):
        pass
    assert pool.uses() == []


def test_the_slots_of_a_dead_driver_are_free(pool: SlotPool, tmp_path: Path) -> None:
    program = (
        "import os, signal; from funke.engine.jobs.attempts.slot_pool import SlotPool\n"
        f"with SlotPool({str(tmp_path / 'slots')!r}).slots('dd', 4, 10, print, lambda: False):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert len(list((tmp_path / "slots").glob("held-*"))) == 1
    assert (pool.free, pool.uses()) == (4, [])
