"""What every thread of a process does at the moment, as Python shows stacks."""

from __future__ import annotations

import sys
import threading
import traceback
from dataclasses import dataclass

__all__ = ["DumpCommand", "ThreadStack", "thread_stacks"]


@dataclass(frozen=True)
class DumpCommand:
    """Asks a slot for the stacks of its threads."""


@dataclass(frozen=True)
class ThreadStack:
    """One thread."""

    name: str
    stack: str


def thread_stacks() -> tuple[ThreadStack, ...]:
    """The threads of this process."""
    frames = sys._current_frames()
    return tuple(
        ThreadStack(thread.name, "".join(traceback.format_stack(frames[thread.ident])))
        for thread in threading.enumerate()
        if thread.ident in frames
    )
