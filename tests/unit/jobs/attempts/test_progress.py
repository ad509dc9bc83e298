"""The progress line: shown on a terminal once a job takes long, rewritten in place, and never when piped."""

from __future__ import annotations

import io

import pytest

from funke.engine.jobs.attempts.progress import ProgressLine, watermark_text
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time is its last element."""
    times = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: times[-1])
    return times


def test_a_line_appears_when_the_job_takes_long_and_is_overwritten(clock: list[float]) -> None:
    terminal = Terminal()
    line = ProgressLine(terminal)
    for seconds, records in [(1.0, 500), (2.0, 4_000), (2.1, 4_100), (4.0, 5_000)]:
        clock.append(100 + seconds)
        line.show(records, 7, 1_600_000_000_000)
    first = "4,000 records  2,000/s  7 epochs  watermark 2020-09-13 12:26:40"
    second = "5,000 records  1,250/s  7 epochs  watermark 2020-09-13 12:26:40"
    assert terminal.getvalue() == f"\r{first}\r{second}"
    line.clear()
    line.clear()
    assert terminal.getvalue() == f"\r{first}\r{second}\r{' ' * len(second)}\r"


def test_nothing_is_written_into_a_pipe(clock: list[float]) -> None:
    pipe = io.StringIO()
    line = ProgressLine(pipe)
    clock.append(200.0)
    line.show(1, 1, 0)
    line.clear()
    assert pipe.getvalue() == ""


@pytest.mark.parametrize(
    ("watermark", "text"),
    [(MIN_WATERMARK, "-"), (MAX_WATERMARK, "end"), (2**62, str(2**62)), (0, "1970-01-01 00:00:00")],
)
def test_watermarks_as_people_read_them(watermark: int, text: str) -> None:
    assert watermark_text(watermark) == text
