"""Named steps of an epoch at which a test can make the process fail; without a plan, reaching one does nothing.

A plan is a text, `<point>:<time>:<action>@<folder>`, in the job's configuration under `funke.fault`: what happens when
a process of the job reaches the point for the n-th time. Several plans are separated by commas. Actions:

    kill        SIGKILL to the process itself
    raise       an OSError
    sleep=2.5   seconds of doing nothing
    hold        waits until the file `go` appears in the folder, so that a test can kill another process meanwhile

The folder keeps what has happened, `<point>-<time>-<action>.<process id>`: a plan comes true only once, in whichever
process is first.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from funke.engine.errors import ConfigurationError

__all__ = ["POINTS", "arm", "reach"]

POINTS = (
    "slot-start",
    "restore",
    "before-reading",
    "between-blocks",
    "after-reading",
    "after-barrier",
    "after-barriers",
    "before-snapshot",
    "in-snapshot",
    "after-snapshot",
    "after-acknowledgement",
    "before-metadata",
    "after-metadata",
    "after-final-metadata",
    "between-commits",
    "after-commits",
    # Only in epochs.
    "after-epoch",
)
_ACTIONS = ("kill", "raise", "sleep", "hold")
_LONGEST_HOLD_S = 60.0


@dataclass(frozen=True)
class Fault:
    """One planned fault."""

    point: str
    time: int
    action: str
    folder: str

    @staticmethod
    def from_text(text: str) -> Fault:
        """Reads a plan."""
        plan, _, folder = text.strip().partition("@")
        point, _, rest = plan.partition(":")
        number, _, action = rest.partition(":")
        is_valid = point in POINTS and number.isdecimal() and action.partition("=")[0] in _ACTIONS and folder
        if not is_valid:
            raise ConfigurationError(f"'{text}' is not a plan of a fault; use <point>:<time>:<action>@<folder>")
        return Fault(point, int(number), action, folder)

    def is_first(self) -> bool:
        """Whether it has not happened in another process; leaves a mark that it has now."""
        try:
            os.close(os.open(os.path.join(self.folder, self.name), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        with open(os.path.join(self.folder, f"{self.name}.{os.getpid()}"), "w", encoding="ascii"):
            return True

    @property
    def name(self) -> str:
        """How the marks are called."""
        return f"{self.point}-{self.time}-{self.action}"

    def happen(self) -> None:
        """Does what was planned."""
        kind, _, value = self.action.partition("=")
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "raise":
            raise OSError(f"a fault was planned at '{self.point}'")
        elif kind == "sleep":
            time.sleep(float(value))
        else:
            self._hold()

    def _hold(self) -> None:
        end = time.monotonic() + _LONGEST_HOLD_S
        while not os.path.exists(os.path.join(self.folder, "go")) and time.monotonic() < end:
            time.sleep(0.005)


class _Plans:
    """What this process has to expect."""

    text: str | None = None
    faults: dict[str, list[Fault]] | None = None
    reached: ClassVar[Counter[str]] = Counter()


def arm(text: str | None) -> None:
    """Makes this process follow plans, in place of those it followed before; None means none."""
    if text == _Plans.text:
        return
    planned: dict[str, list[Fault]] = {}
    for part in text.split(",") if text else ():
        fault = Fault.from_text(part)
        os.makedirs(fault.folder, exist_ok=True)
        planned.setdefault(fault.point, []).append(fault)
    _Plans.text, _Plans.faults = text, planned or None
    _Plans.reached.clear()


def reach(point: str) -> None:
    """The process has come to a named step."""
    if _Plans.faults is None:
        return
    _Plans.reached[point] += 1
    for fault in _Plans.faults.get(point, ()):
        if fault.time == _Plans.reached[point] and fault.is_first():
            fault.happen()
