"""Slots that do not answer: a function that takes long keeps its slot from everything else. Which, and its line."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from funke.engine.errors import FunkeError
from funke.engine.jobs.views.job_view import HeldView
from funke.engine.planner.plan import Plan
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack

__all__ = ["HeldSlots"]

# Slots report every second, between two blocks. One block should not take long either: see debloating.
_HELD_S = 10.0
_LOOK_S = 0.2
_COMMAND = SampleCommand(samples=10, delay_ms=20, depth=100)


class HeldSlots:
    """Notes when slots were heard of last, and looks at those that have been silent for long."""

    def __init__(
        self,
        plan: Plan,
        sample: Callable[[int, SampleCommand], tuple[SampledStack, ...]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._sample = sample
        self._clock = clock
        self._heard_at = dict.fromkeys(range(plan.slots), clock())
        self._lock = threading.Lock()
        self._next_look = 0.0
        self._views: tuple[HeldView, ...] = ()
        # What was seen in those that are silent; None during an inspection.
        self._seen: dict[int, HeldView | None] = {}

    def hear(self, slot: int) -> None:
        """A slot has said something."""
        if slot in self._heard_at:
            self._heard_at[slot] = self._clock()
        if self._seen:
            with self._lock:
                self._seen.pop(slot, None)

    def silent(self, limit_s: float) -> list[int]:
        """Slots that have said nothing for longer than that."""
        now = self._clock()
        return [slot for slot, heard in self._heard_at.items() if now - heard > limit_s]

    def begin(self, slots: Iterable[int]) -> None:
        """Slots run again that had ended."""
        self._heard_at.update(dict.fromkeys(slots, self._clock()))

    def end(self, slot: int) -> None:
        """A slot has nothing more to say."""
        self._heard_at.pop(slot, None)

    def look(self) -> tuple[HeldView, ...]:
        """Who is held as far as it is known; others are looked at beside. Asked after every message: mostly cheap."""
        if self._clock() < self._next_look:
            return self._views
        self._next_look = self._clock() + _LOOK_S
        for slot in self.silent(_HELD_S):
            with self._lock:
                if slot not in self._seen:
                    self._seen[slot] = None
                    threading.Thread(target=self._look_at, args=(slot,), name="funke-held", daemon=True).start()
        with self._lock:
            self._views = tuple(each for each in self._seen.values() if each is not None)
        return self._views

    def _look_at(self, slot: int) -> None:
        since_ms = int((time.time() - (self._clock() - self._heard_at.get(slot, self._clock()))) * 1000)
        try:
            view = _held_view(self._plan, slot, since_ms, self._sample(slot, _COMMAND))
        except (OSError, FunkeError):
            view = None  # it has ended, or is stopped as a whole
        with self._lock:
            if slot in self._seen:
                self._seen[slot] = view


def _held_view(plan: Plan, slot: int, since_ms: int, stacks: Iterable[SampledStack]) -> HeldView | None:
    working: Counter[int] = Counter()
    lines: Counter[str] = Counter()
    for each in stacks:
        if each.vertex_id is not None:
            working[each.vertex_id] += each.times
            # The innermost that is the user's: functions of others have no line.
            own = next((frame for frame in reversed(each.frames) if ":" in frame), "")
            lines[own] += each.times
    if not working:
        return None
    vertex_id = working.most_common(1)[0][0]
    function, _, location = lines.most_common(1)[0][0].rpartition(" ")
    line = f"{location} in {function}" if function else ""
    return HeldView(vertex_id, slot - plan.placements[vertex_id].first_slot, since_ms, line)
