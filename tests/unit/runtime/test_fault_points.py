"""Planned faults happen once, where and when the plan says."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.runtime.fault_points import arm, reach


@pytest.fixture(autouse=True)
def no_plans_left() -> Iterator[None]:
    yield
    arm(None)


def test_without_a_plan_nothing_happens() -> None:
    reach("before-metadata")


def test_a_fault_happens_at_the_nth_time_and_only_once(tmp_path: Path) -> None:
    arm(f"before-metadata:2:raise@{tmp_path}")
    reach("after-metadata")
    reach("before-metadata")
    with pytest.raises(OSError, match="a fault was planned at 'before-metadata'"):
        reach("before-metadata")
    reach("before-metadata")
    arm(None)
    arm(f"before-metadata:1:raise@{tmp_path},before-metadata:2:raise@{tmp_path}")
    with pytest.raises(OSError):
        reach("before-metadata")
    reach("before-metadata")  # the mark of the second one is there from before


def test_kill_ends_the_process_and_the_next_one_is_spared(tmp_path: Path) -> None:
    program = (
        "from funke.engine.runtime.fault_points import arm, reach\n"
        f"arm('slot-start:1:kill@{tmp_path}')\nreach('slot-start')\nprint('alive')"
    )
    ends = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=False) for _ in range(2)]
    assert [(end.returncode, end.stdout) for end in ends] == [(-9, b""), (0, b"alive\n")]


def test_hold_waits_for_somebody_else(tmp_path: Path) -> None:
    arm(f"after-commits:1:hold@{tmp_path},before-reading:1:sleep=0.1@{tmp_path}")
    waiting = threading.Thread(target=reach, args=("after-commits",))
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    (tmp_path / "go").touch()
    waiting.join(5)
    assert not waiting.is_alive()
    started = time.monotonic()
    reach("before-reading")
    assert time.monotonic() - started >= 0.1


@pytest.mark.parametrize(
    "text", ["nowhere:1:kill@/tmp", "restore:x:kill@/tmp", "restore:1:dance@/tmp", "restore:1:kill"]
)
def test_a_plan_that_cannot_be_read_is_rejected(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a plan of a fault"):
        arm(text)
