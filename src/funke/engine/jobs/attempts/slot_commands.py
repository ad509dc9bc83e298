"""Commands to all slots of a runner: samples of what they do, dumps of their threads, log levels."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

from funke.engine.config.log_levels import LogLevels
from funke.engine.jobs.attempts.runners import Runner
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.runtime.slots.slot_calls import change_log_levels, dump_threads, sample

__all__ = ["dump_slots", "log_from", "sample_slots"]


def sample_slots(runner: Runner, command: SampleCommand) -> dict[int, tuple[SampledStack, ...]]:
    """What every slot does, seen so many times; waits for it."""
    slots = list(runner.addresses)
    if not slots:
        return {}
    with ThreadPoolExecutor(len(slots), "funke-samples") as callers:
        return dict(zip(slots, callers.map(lambda slot: sample(*runner.access(slot), command), slots)))


def dump_slots(runner: Runner) -> dict[int, tuple[ThreadStack, ...]]:
    """What the threads of every slot do; a slot that has ended is left out."""
    stacks: dict[int, tuple[ThreadStack, ...]] = {}
    for slot in list(runner.addresses):
        with contextlib.suppress(OSError):
            stacks[slot] = dump_threads(*runner.access(slot))
    return stacks


def log_from(runner: Runner, levels: LogLevels) -> None:
    """From which level on functions log in all slots; waits for it."""
    for slot in list(runner.addresses):
        with contextlib.suppress(OSError):  # a slot that has ended; the next one starts with them
            change_log_levels(*runner.access(slot), levels)
