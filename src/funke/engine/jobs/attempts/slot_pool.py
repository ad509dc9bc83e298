"""The slots that the jobs of one service share: a job takes as many as it needs, or waits for them in a row.

    <folder>/total                                how many there are
    <folder>/<held|wanted>-<ticket>-<slots>-<job>   who has slots, or waits for some

Each job's driver keeps its file locked as long as it lives: the slots of a dead driver are free at
once, and no process has to assign them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from funke.engine.config import rest_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, SlotTimeoutError
from funke.engine.trust.private_files import open_private_folder, require_private_folder

__all__ = ["SlotPool", "SlotUse", "request_timeout_s"]

_NAME = re.compile(r"(held|wanted)-(\d+)-(\d+)-([0-9a-f]+)")
_LOOK_S = 0.2


def request_timeout_s(settings: Settings) -> float:
    """How long a job waits for slots."""
    timeout_ms: int = settings.get(options.SLOT_REQUEST_TIMEOUT).to_millis()
    return timeout_ms / 1000


@dataclass(frozen=True)
class SlotUse:
    """A job that has slots, or waits for them."""

    name: str
    is_held: bool
    ticket: int
    slots: int
    job_id: str


class SlotPool:
    """The pool in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @staticmethod
    def of(settings: Settings) -> SlotPool | None:
        """The pool that a job shares with others; None if its slots are its own."""
        folder = settings.get(options.SLOT_POOL)
        return SlotPool(folder) if folder else None

    def open(self, total: int) -> None:
        """Makes the folder, or changes how many slots there are."""
        open_private_folder(self._folder)
        part = os.path.join(self._folder, "total.part")
        with open(part, "w", encoding="ascii") as file:
            file.write(str(total))
        os.rename(part, os.path.join(self._folder, "total"))

    @property
    def total(self) -> int:
        """How many slots there are."""
        with open(os.path.join(self._folder, "total"), encoding="ascii") as file:
            return int(file.read())

    def uses(self) -> list[SlotUse]:
        """Who has slots or waits for them, in the order in which they came; what dead drivers have left goes."""
        uses_of_slots = []
        for name in os.listdir(self._folder):
            fitting = _NAME.fullmatch(name)
            if fitting is None:
                continue
            if self._is_abandoned(name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self._folder, name))
                continue
            uses_of_slots.append(SlotUse(name, fitting[1] == "held", int(fitting[2]), int(fitting[3]), fitting[4]))
        return sorted(uses_of_slots, key=lambda use: use.ticket)

    @property
    def free(self) -> int:
        """How many slots are free."""
        return max(0, self.total - sum(use.slots for use in self.uses() if use.is_held))

    def _is_abandoned(self, name: str) -> bool:
        try:
            with open(os.path.join(self._folder, name), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False  # renamed meanwhile
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def slots(
        self,
        job_id: str,
        slot_count: int,
        timeout_s: float,
        on_wait: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> Iterator[None]:
        """Has slots while the block runs; `on_wait` hears what is waited for, `is_over` ends the wait."""
        require_private_folder(self._folder)
        if slot_count > self.total:
            raise ConfigurationError(
                f"the job needs {slot_count} slots, and the service has {self.total}; lower its parallelism, or start "
                "the service with more (taskmanager.numberOfTaskSlots)"
            )
        ticket = time.time_ns()
        path = os.path.join(self._folder, f"wanted-{ticket:020d}-{slot_count}-{job_id}")
        draft = os.path.join(self._folder, f".draft-{ticket}-{job_id}")
        with open(draft, "wb") as file:
            # Locked before it has its name: at no moment it looks abandoned.
            fcntl.flock(file, fcntl.LOCK_EX)
            os.rename(draft, path)
            try:
                path = self._wait(path, ticket, slot_count, timeout_s, on_wait, is_over)
                on_wait("")
                yield
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def _wait(
        self,
        path: str,
        ticket: int,
        slot_count: int,
        timeout_s: float,
        on_wait: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> str:
        end = time.monotonic() + timeout_s
        while not is_over():
            with self._alone():
                uses = self.uses()
                free = self.total - sum(use.slots for use in uses if use.is_held)
                before = [use for use in uses if not use.is_held and use.ticket < ticket]
                if free >= slot_count and not before:
                    held = path.replace("/wanted-", "/held-")
                    os.rename(path, held)
                    return held
            row = f", behind {len(before)} other job{'s' * (len(before) > 1)}" if before else ""
            on_wait(f"{slot_count} slots: {max(0, free)} of {self.total} are free{row}")
            if time.monotonic() > end:
                raise SlotTimeoutError(
                    f"the job has waited {timeout_s:g} s for {slot_count} slots of which {max(0, free)} are free; "
                    "cancel other jobs, or set slot.request.timeout to wait longer"
                )
            time.sleep(_LOOK_S)
        return path

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with open(os.path.join(self._folder, "lock"), "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
