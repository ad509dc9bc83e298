"""Flame graphs of vertices: which functions take the time, from samples that slots take on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from funke.engine.config import rest_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import FunkeError
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack

if TYPE_CHECKING:
    from funke.engine.planner.plan import Plan

__all__ = ["KINDS", "TERMINATED", "WAITING", "FlameGraph", "FlameGraphs", "FlameKind"]

FlameKind = Literal["FULL", "ON_CPU", "OFF_CPU"]
KINDS: tuple[FlameKind, ...] = ("FULL", "ON_CPU", "OFF_CPU")
_OTHERS = "waits: its slot works for others"
# By slot.
Samples = Mapping[int, tuple[SampledStack, ...]]


@dataclass(frozen=True)
class FlameGraph:
    """A tree of functions (name, value, children), and when its last sample was taken; negative if there is none."""

    end_timestamp: int
    data: dict[str, Any] | None = None


# Flink's numbers for graphs that are not there.
TERMINATED, _DISABLED, WAITING = FlameGraph(-1), FlameGraph(-2), FlameGraph(-3)


class FlameGraphs:
    """The samples of a job's slots: taken on request if the last ones are old, in separate threads."""

    def __init__(
        self,
        settings: Settings,
        plan: Plan,
        sample: Callable[[SampleCommand], Samples],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sample` waits for the samples of all slots."""
        self._plan = plan
        self._sample = sample
        self._clock = clock
        self._is_enabled = settings.get(options.FLAMEGRAPH_ENABLED)
        self._refresh_s = settings.get(options.FLAMEGRAPH_REFRESH).to_millis() / 1000
        self._cleanup_s = settings.get(options.FLAMEGRAPH_CLEANUP).to_millis() / 1000
        delay_ms = settings.get(options.FLAMEGRAPH_DELAY).to_millis()
        self._command = SampleCommand(
            settings.get(options.FLAMEGRAPH_SAMPLES), delay_ms, settings.get(options.FLAMEGRAPH_DEPTH)
        )
        self._lock = threading.Lock()
        self._is_sampling = False
        self._taken_at = 0.0
        self._taken_ms = 0
        self._samples: Samples = {}

    def look(self, vertex_id: int, kind: FlameKind, subtask: int | None = None) -> FlameGraph:
        """The latest of a vertex, or of one of its subtasks; a newer one is begun if that is due."""
        if not self._is_enabled:
            return _DISABLED
        vertex = self._plan.by_id[vertex_id]
        with self._lock:
            age_s = self._clock() - self._taken_at
            is_due = not self._samples or age_s >= self._refresh_s
            if is_due and not self._is_sampling:
                self._is_sampling = True
                threading.Thread(target=self._take, name="funke-flames", daemon=True).start()
            if not self._samples or age_s >= max(self._cleanup_s, self._refresh_s):
                return WAITING
            samples, taken_ms = self._samples, self._taken_ms
        own = range(vertex.parallelism) if subtask is None else (subtask,)
        first_slot = self._plan.placements[vertex_id].first_slot
        stacks = [each for index in own for each in samples.get(first_slot + index, ())]
        return FlameGraph(taken_ms, _tree(vertex.name, _of_vertex(stacks, vertex_id, kind)))

    def _take(self) -> None:
        try:
            samples = self._sample(self._command)
        except (OSError, FunkeError):
            samples = {}  # slots have ended meanwhile; the next request tries again
        with self._lock:
            self._is_sampling = False
            if samples:
                self._samples, self._taken_at, self._taken_ms = samples, self._clock(), int(time.time() * 1000)


def _of_vertex(
    stacks: Iterable[SampledStack], vertex_id: int, kind: FlameKind
) -> Iterable[tuple[tuple[str, ...], int]]:
    """The stacks of a vertex; while its slot works for another one, it waits."""
    for each in stacks:
        is_others = each.vertex_id not in (None, vertex_id)
        is_on_cpu = each.is_on_cpu and not is_others
        if kind == "FULL" or is_on_cpu is (kind == "ON_CPU"):
            yield ((_OTHERS,) if is_others else each.frames), each.times


def _tree(name: str, stacks: Iterable[tuple[tuple[str, ...], int]]) -> dict[str, Any]:
    root: dict[str, Any] = {"name": name, "value": 0, "children": {}}
    for frames, times in stacks:
        root["value"] += times
        node = root
        for frame in frames:
            node = node["children"].setdefault(frame, {"name": frame, "value": 0, "children": {}})
            node["value"] += times
    return _with_lists(root)


def _with_lists(node: dict[str, Any]) -> dict[str, Any]:
    """The widest first."""
    children = sorted(node["children"].values(), key=lambda child: -child["value"])
    return {**node, "children": [_with_lists(child) for child in children]}
