"""Samples of whole stacks: whose function a thread is in, and whether it computes or waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from funke.engine.runtime.monitoring.flame_samples import (
    SLOT_LOOP,
    WAITING,
    SampleCommand,
    SampledStack,
    SampledThread,
    take_samples,
)

ORDER = SampleCommand(samples=12, delay_ms=8, depth=100)


@contextmanager
def working(act: Callable[[threading.Event], None], vertex: int | None = 3) -> Iterator[SampledThread]:
    """A thread that does something until the end of the block."""
    is_over, is_ready = threading.Event(), threading.Event()
    results: list[SampledThread] = []

    def run() -> None:
        results.append(SampledThread(threading.get_ident(), threading.get_native_id(), lambda: vertex))
        is_ready.set()
        act(is_over)

    thread = threading.Thread(target=run)
    thread.start()
    is_ready.wait()
    yield results[0]
    is_over.set()
    thread.join()


def computing(is_over: threading.Event) -> None:
    while not is_over.is_set():
        sum(range(2000))


def sleeping(is_over: threading.Event) -> None:
    is_over.wait()


def most(stacks: tuple[SampledStack, ...]) -> SampledStack:
    assert sum(each.times for each in stacks) == ORDER.samples
    return max(stacks, key=lambda each: each.times)


def test_a_function_that_computes() -> None:
    with working(computing) as thread:
        sample = most(take_samples(ORDER, thread))
    assert sample.vertex_id == 3 and sample.is_on_cpu
    lines = {f"computing test_flame_samples.py:{computing.__code__.co_firstlineno + number}" for number in (1, 2)}
    assert lines & set(sample.frames)


def test_a_function_that_waits() -> None:
    with working(sleeping) as thread:
        sample = most(take_samples(ORDER, thread))
    assert not sample.is_on_cpu
    index = sample.frames.index(f"sleeping test_flame_samples.py:{sleeping.__code__.co_firstlineno + 1}")
    # What it calls is a library's: without lines, which would split it.
    assert sample.frames[index + 1].split() == ["wait", "threading.py"]


def test_a_slot_that_works_for_no_vertex() -> None:
    with working(sleeping, None) as thread:
        assert most(take_samples(ORDER, thread)).frames == (WAITING,)
    with working(computing, None) as thread:
        assert most(take_samples(ORDER, thread)).frames == (SLOT_LOOP,)


def test_stacks_are_cut() -> None:
    with working(sleeping) as thread:
        assert {len(each.frames) for each in take_samples(SampleCommand(2, 1, 1), thread)} == {1}
