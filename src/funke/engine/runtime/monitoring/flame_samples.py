"""Samples of whole stacks for a flame graph, of a slot's worker thread, taken on request."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from funke.engine.runtime.monitoring.user_frames import is_own_frame, is_users_frame

__all__ = ["SLOT_LOOP", "WAITING", "SampleCommand", "SampledStack", "SampledThread", "take_samples"]

# The thread is watched so long to see whether it computes or waits.
_CPU_WINDOW_S = 0.004
_IS_ON_CPU = 0.5
# What a slot does in no vertex.
WAITING, SLOT_LOOP = "waits", "the loop of its slot"


@dataclass(frozen=True)
class SampleCommand:
    """How many samples a slot is to take."""

    samples: int
    delay_ms: int
    depth: int


@dataclass(frozen=True)
class SampledStack:
    """A stack, the outermost function first, of a vertex (None if it belongs to none) and how often it was seen."""

    vertex_id: int | None
    frames: tuple[str, ...]
    is_on_cpu: bool
    times: int


@dataclass(frozen=True)
class SampledThread:
    """The thread that works; `vertex_id` tells for which vertex at the moment."""

    ident: int
    native_id: int
    vertex_id: Callable[[], int | None]


def take_samples(
    command: SampleCommand, thread: SampledThread, sleep: Callable[[float], None] = time.sleep
) -> tuple[SampledStack, ...]:
    """Looks at a thread now and then, and sums up what it did."""
    seen: Counter[tuple[int | None, tuple[str, ...], bool]] = Counter()
    clock = _runnable_s(thread)
    for _ in range(command.samples):
        sleep(max(0.0, command.delay_ms / 1000 - _CPU_WINDOW_S))
        before, since = next(clock), time.perf_counter()
        sleep(_CPU_WINDOW_S)
        spent_s = time.perf_counter() - since
        is_on_cpu = next(clock) - before >= _IS_ON_CPU * spent_s
        vertex_id = thread.vertex_id()
        frame = sys._current_frames().get(thread.ident)
        if vertex_id is None:
            frames: tuple[str, ...] = (SLOT_LOOP,) if is_on_cpu else (WAITING,)
        else:
            frames = tuple(_names(frame, command.depth))
        seen[vertex_id, frames, is_on_cpu] += 1
    return tuple(SampledStack(*what, times) for what, times in seen.items())


def _runnable_s(thread: SampledThread) -> Iterator[float]:
    """How long the thread has computed, or could have if there were a processor for it."""
    # Where a thread's time cannot be asked for (macOS), all of it counts as computing.
    if not hasattr(time, "pthread_getcpuclockid"):
        while True:
            yield time.perf_counter()
    clock = time.pthread_getcpuclockid(thread.ident)
    while True:
        yield time.clock_gettime(clock) + _queued_s(thread)


def _queued_s(thread: SampledThread) -> float:
    """How long it has waited for a processor, where Linux tells."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _names(frame: FrameType | None, depth: int) -> list[str]:
    """The functions of a stack, the outermost first, without those of the loop that leads to them all."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    frames.reverse()
    start = next((number for number, each in enumerate(frames) if not _is_loop(each)), 0)
    return [_name(each) for each in frames[start : start + depth]]


def _is_loop(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    return path.startswith("<") or "threading.py" in path or (is_own_frame(frame) and "runtime" in path.split(os.sep))


def _name(frame: FrameType) -> str:
    file = os.path.basename(frame.f_code.co_filename)
    # Lines of others say nothing to a user, and would split their functions into many.
    line = f":{frame.f_lineno}" if is_users_frame(frame) else ""
    return f"{frame.f_code.co_name} {file}{line}"
