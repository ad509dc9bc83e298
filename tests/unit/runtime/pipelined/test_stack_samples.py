"""Samples of a stack: the user's own line is found, whoever it calls."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable

from funke.engine.runtime.monitoring.user_frames import user_line
from funke.engine.runtime.pipelined.stack_samples import StackSamples


def test_the_innermost_line_of_the_users_own() -> None:
    seen: list[str] = []

    def slow(text: str) -> str:
        seen.append(user_line(sys._getframe()))
        return text

    # Called by a library, and calling one.
    json.loads("[1]", parse_int=slow)
    assert seen == [f"test_stack_samples.py:{slow.__code__.co_firstlineno + 1} in slow"]
    assert user_line(None) == ""


def test_where_the_time_goes() -> None:
    working: list[str] = ["a task"]
    samples = StackSamples(lambda: working[0] if working else None)

    def look(times: int) -> None:
        for _ in range(times):
            samples.look()

    def slow(act: Callable[[], None]) -> None:
        act()

    slow(lambda: _in_thread(look, 9))
    # Too few to tell.
    assert samples.busiest_line("a task") == {}
    slow(lambda: _in_thread(look, 11))
    result = samples.busiest_line("a task")
    assert result["busiestLine"].startswith("test_stack_samples.py:") and result["busiestLineShare"] > 0.5
    assert samples.busiest_line("another task") == {}
    working.clear()
    look(5)
    assert len(samples._samples) == 20


def _in_thread(act: Callable[[int], None], times: int) -> None:
    thread = threading.Thread(target=act, args=(times,))
    thread.start()
    thread.join()
