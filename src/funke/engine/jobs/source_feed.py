"""A running job's view of one source: its enumerator, which subtask reads which split, and what each must remember."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

from funke.engine.connectors.source import Source, Split, SplitEnumerator
from funke.engine.jobs.job_failure import named
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.planner.segments import Segment
from funke.engine.runtime.ingest import IngestOrder
from funke.engine.runtime.results import IngestReport
from funke.engine.types.watermark_spec import WatermarkSpec

P = ParamSpec("P")
R = TypeVar("R")


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
    _unfinished: dict[int, tuple[list[Split], int]] = field(default_factory=dict)
    _has_told_end: bool = False

    def poll(self, max_records: int) -> list[Split]:
        """The next splits."""
        return self._named(self.enumerator.poll)(max_records)

    def _named(self, call: Callable[P, R]) -> Callable[P, R]:
        return named(self.segment.operators[0], call)

    @property
    def operator_id(self) -> str:
        """The name of the source's state in checkpoints."""
        return self.segment.operators[0].operator_id

    @property
    def has_unfinished(self) -> bool:
        """Whether the last epoch ended before all its splits were read."""
        return bool(self._unfinished)

    @property
    def is_over(self) -> bool:
        """Whether everything has been handed out and read."""
        return self.enumerator.is_finished and not self._unfinished

    @property
    def has_end_to_tell(self) -> bool:
        """Whether everything has been read, and the subtasks do not know yet."""
        return self.is_over and not self._has_told_end

    def orders(self, splits: list[Split], is_final: bool, deadline_ms: int | None = None) -> list[IngestOrder]:
        """One order per source subtask; also for those that have nothing to read, so that time passes for them."""
        assigned = self._assign(splits)
        unfinished, self._unfinished = self._unfinished, {}
        is_over = self.enumerator.is_finished
        orders = []
        for subtask in range(self.segment.parallelism):
            left, skip = unfinished.get(subtask, ([], 0))
            to_read = (*left, *assigned[subtask])
            carry = self._carry.get(subtask)
            orders.append(IngestOrder(self.segment.id, subtask, to_read, carry, is_final, skip, deadline_ms, is_over))
        self._has_told_end = is_over
        return orders

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
        left: Counter[str] = Counter()
        for outcome in report.outcomes:
            split_id = outcome.split.id
            waiting = self._splits[split_id]
            if not outcome.is_complete:
                self._keep(report.subtask, waiting[left[split_id]], outcome.records)
                left[split_id] += 1
                continue
            split = waiting.pop(0)
            if not waiting:
                del self._splits[split_id]
            self._named(self.enumerator.report)(replace(outcome, split=split))

    def _keep(self, subtask: int, split: Split, records: int) -> None:
        """The next epoch goes on with this split, after the records that were read of it."""
        splits, skip = self._unfinished.get(subtask, ([], records))
        self._unfinished[subtask] = ([*splits, split], skip)

    @property
    def watermark(self) -> int:
        """The lowest watermark of the subtasks that are not idle."""
        active = [mark for subtask, mark in self.watermarks.items() if subtask not in self._idle]
        return min(active, default=MIN_WATERMARK)

    def snapshot(self) -> Any:
        """The source's position: what was handed out, and what of that is not read yet."""
        return self.enumerator.snapshot(), self._unfinished

    def restore_unfinished(self, unfinished: dict[int, tuple[list[Split], int]]) -> None:
        """Goes on with splits that an earlier attempt had not finished."""
        self._unfinished = dict(unfinished)
        for subtask, (splits, _) in unfinished.items():
            for split in splits:
                self._splits.setdefault(split.id, []).append(split)
                if not split.is_last:
                    self._owner[split.id] = subtask
