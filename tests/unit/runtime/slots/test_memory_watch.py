"""Whether a process has too much memory, and whose fault that is."""

from __future__ import annotations

import os

import pytest

from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.runtime.slots.memory_watch import MemoryWatch, own_bytes_of
from funke.engine.types.operator_location import NOWHERE, OperatorLocation

MB = 1 << 20
SMALL, LARGE = OperatorLocation("small"), OperatorLocation("large", "job.py:7")


class Process:
    """What is seen of a process."""

    size: int | None = 100 * MB
    turn = NOWHERE

    def __init__(self) -> None:
        self.watch = MemoryWatch(MemoryLimit(1000 * MB, "my.key"), lambda: self.size, lambda: self.turn)

    def grows(self, size: int | None, turn: OperatorLocation = NOWHERE) -> int | None:
        self.size, self.turn = size, turn
        return self.watch.look()


def test_little_memory_is_nobodys_concern() -> None:
    process = Process()
    assert process.grows(100 * MB) is None and process.grows(800 * MB, LARGE) is None
    assert not process.watch.is_close and not process.watch.warning()


def test_a_warning_comes_once_and_names_who_took_it() -> None:
    process = Process()
    process.grows(100 * MB)
    process.grows(300 * MB, SMALL)
    process.grows(801 * MB, LARGE)
    # Whose turn it is at this moment is not what counts.
    process.grows(801 * MB, SMALL)
    assert process.watch.is_close
    assert process.watch.warning() == (
        "this slot has 801 mb of memory and fails at 1000 mb (my.key): most of it was taken while operator 'large' "
        "(job.py:7) was running"
    )
    assert not process.watch.warning()


def test_too_much_names_limit_key_and_operator() -> None:
    process = Process()
    process.grows(100 * MB)
    size = process.grows(1001 * MB, LARGE)
    assert size == 1001 * MB and process.watch.largest == LARGE
    text = process.watch.excess(size)
    assert "it had 1001 mb of memory, and a slot may have 1000 mb (my.key); most of it was taken" in text
    assert "operator 'large' (job.py:7)" in text and "funke.slot-memory-limit: 0" in text


def test_too_much_at_once_is_the_fault_of_whose_turn_it_is() -> None:
    process = Process()
    assert process.grows(2000 * MB, LARGE) and process.watch.largest == LARGE
    other = Process()
    size = other.grows(2000 * MB)
    assert size is not None and other.watch.largest == NOWHERE and "operator" not in other.watch.excess(size)


def test_where_the_system_shows_nothing_nothing_happens() -> None:
    process = Process()
    assert process.grows(None) is None and not process.watch.warning()


def test_what_this_process_has() -> None:
    before = own_bytes_of(os.getpid())
    if before is None:
        pytest.skip("the system does not tell")
    held = bytearray(b"x" * (64 * MB))
    after = own_bytes_of(os.getpid())
    assert after is not None and after - before > 48 * MB and held
    assert own_bytes_of(0) is None


def test_a_thread_that_leaks_is_not_blamed_on_the_operator_that_runs() -> None:
    process = Process()
    for step in range(40):
        process.grows((100 + 18 * step) * MB, LARGE if step % 4 else NOWHERE)
    process.grows(801 * MB, LARGE)
    assert process.watch.largest == NOWHERE
    assert process.watch.warning() == (
        "this slot has 801 mb of memory and fails at 1000 mb (my.key): it grew as fast while no operator was running: "
        "look for a thread, of the program's or of a library's, that keeps what it makes"
    )
    assert "look for a thread" in process.watch.excess(1001 * MB)


def test_an_operator_that_leaks_is_named_although_it_seldom_runs() -> None:
    process, size = Process(), 100
    for step in range(40):
        size += 60 if step % 4 == 0 else 0
        process.grows(size * MB, LARGE if step % 4 == 0 else NOWHERE)
    assert process.watch.largest == LARGE
