"""A running job's view of one source: its enumerator, which subtask reads which split, and what each must remember."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from funke.engine.connectors.source import Source, Split, SplitEnumerator
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.planner.segments import Segment
from funke.engine.runtime.ingest import IngestOrder
from funke.engine.runtime.results import IngestReport
from funke.engine.types.watermark_spec import WatermarkSpec


@dataclass
class SourceFeed:
    """Hands out the splits of one source to its subtasks, epoch by epoch."""

    segment: Segment
    source: Source
    enumerator: SplitEnumerator
    alignment: WatermarkSpec | None = None
    watermarks: dict[int, int] = field(default_factory=dict)
    wakeup_ms: int | None = None
    records: int = 0
    is_done: bool = False
    _owner: dict[str, int] = field(default_factory=dict)
    _carry: dict[int, bytes | None] = field(default_factory=dict)
    _splits: dict[str, list[Split]] = field(default_factory=dict)
    _idle: set[int] = field(default_factory=set)

    def poll(self, max_records: int) -> list[Split]:
        """The next splits."""
        return self.enumerator.poll(max_records)

    def orders(self, splits: list[Split], is_final: bool) -> list[IngestOrder]:
        """One order per source subtask; also for those that have nothing to read, so that time passes for them."""
        assigned = self._assign(splits)
        return [
            IngestOrder(self.segment.id, subtask, tuple(assigned[subtask]), self._carry.get(subtask), is_final)
            for subtask in range(self.segment.parallelism)
        ]

    def _assign(self, splits: list[Split]) -> list[list[Split]]:
        parallelism = self.segment.parallelism
        assigned: list[list[Split]] = [[] for _ in range(parallelism)]
        load = [0] * parallelism
        for split in splits:
            subtask = self._owner.get(split.id)
            if subtask is None:
                subtask = min(range(parallelism), key=lambda index: (load[index], index))
                self._owner[split.id] = subtask
            if split.is_last:
                self._owner.pop(split.id, None)
            load[subtask] += max(1, split.weight)
            assigned[subtask].append(split)
            self._splits.setdefault(split.id, []).append(split)
        return assigned

    def accept(self, report: IngestReport) -> None:
        """Takes what a subtask reported after the epoch."""
        self._carry[report.subtask] = report.carry
        self.watermarks[report.subtask] = report.watermark
        (self._idle.add if report.is_idle else self._idle.discard)(report.subtask)
        self.records += report.records
        for outcome in report.outcomes:
            waiting = self._splits[outcome.split.id]
            split = waiting.pop(0)
            if not waiting:
                del self._splits[outcome.split.id]
            self.enumerator.report(type(outcome)(split, outcome.records, outcome.result))

    @property
    def watermark(self) -> int:
        """The lowest watermark of the subtasks that are not idle."""
        active = [mark for subtask, mark in self.watermarks.items() if subtask not in self._idle]
        return min(active, default=MIN_WATERMARK)

    def snapshot(self) -> Any:
        """The source's position."""
        return self.enumerator.snapshot()
