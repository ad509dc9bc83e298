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


@dataclass(frozen=True)
class SourceState:
    """A source in a checkpoint."""

    position: Any
    # By subtask: splits with the number of records that were read of them.
    unfinished: dict[int, tuple[tuple[Split, int], ...]]
    parallelism: int
    watermark: int
    # What follows is used only by the same operators with the same parallelism.
    layout: tuple[tuple[int, str], ...]
    carry: dict[int, bytes | None]
    owner: dict[str, int]
    watermarks: dict[int, int]
    idle: frozenset[int]
    records: int


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
    # By subtask: splits that the last epoch did not finish, each with the number of records read of it.
    _unfinished: dict[int, list[tuple[Split, int]]] = field(default_factory=dict)
    _has_told_end: bool = False
    _restored_watermark: int | None = None

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
            left = unfinished.get(subtask, [])
            orders.append(
                IngestOrder(
                    self.segment.id,
                    subtask,
                    (*(split for split, _ in left), *assigned[subtask]),
                    self._carry.get(subtask),
                    is_final,
                    (*(read for _, read in left), *([0] * len(assigned[subtask]))),
                    deadline_ms,
                    is_over,
                    self._restored_watermark,
                )
            )
        self._has_told_end = is_over
        self._restored_watermark = None
        return orders

    def _assign(self, splits: list[Split]) -> list[list[Split]]:
        parallelism = self.segment.parallelism
        assigned: list[list[Split]] = [[] for _ in range(parallelism)]
        load = [0] * parallelism
        for split in splits:
            if split.id in self._owner:
                load[self._owner[split.id]] += max(1, split.weight)
        known = set(self._owner)
        going_on = Counter(self._owner.values())
        # The heaviest first, so that all get about the same; what one subtask gets it reads in the order of the source.
        for split in sorted(splits, key=lambda split: -split.weight):
            if split.id not in self._owner:
                least = min(range(parallelism), key=lambda index: (load[index], going_on[index], index))
                self._owner[split.id] = least
                going_on[least] += 1
            if split.id not in known:
                load[self._owner[split.id]] += max(1, split.weight)
        for split in splits:
            assigned[self._owner[split.id]].append(split)
            self._splits.setdefault(split.id, []).append(split)
        for split in splits:
            if split.is_last:
                self._owner.pop(split.id, None)
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
        self._unfinished.setdefault(subtask, []).append((split, records))

    @property
    def watermark(self) -> int:
        """The lowest watermark of the subtasks that are not idle."""
        active = [mark for subtask, mark in self.watermarks.items() if subtask not in self._idle]
        return min(active, default=MIN_WATERMARK)

    def snapshot(self) -> SourceState:
        """The source's position: what was handed out, what of that is not read yet, and the progress of event time."""
        return SourceState(
            self.enumerator.snapshot(),
            {subtask: tuple(left) for subtask, left in self._unfinished.items()},
            self.segment.parallelism,
            self.watermark,
            self._layout(),
            dict(self._carry),
            dict(self._owner),
            dict(self.watermarks),
            frozenset(self._idle),
            self.records,
        )

    def restore(self, state: SourceState) -> None:
        """Goes on where an earlier attempt or another job stood; the enumerator was made with its position."""
        self._restored_watermark = state.watermark
        self.records = state.records
        if state.layout == self._layout() and state.parallelism == self.segment.parallelism:
            self._carry, self._owner = dict(state.carry), dict(state.owner)
            self.watermarks, self._idle = dict(state.watermarks), set(state.idle)
        for position, (old, left) in enumerate(sorted(state.unfinished.items())):
            is_same = state.parallelism == self.segment.parallelism
            for split, read in left:
                self._take_over(old if is_same else position % self.segment.parallelism, split, read)

    def _take_over(self, subtask: int, split: Split, read: int) -> None:
        # All pieces of one split go to one subtask.
        subtask = self._owner.get(split.id, subtask)
        self._keep(subtask, split, read)
        self._splits.setdefault(split.id, []).append(split)
        if not split.is_last:
            self._owner[split.id] = subtask

    def _layout(self) -> tuple[tuple[int, str], ...]:
        """Which operators run with the source: what they carry from epoch to epoch fits only them."""
        return tuple((operator.node_id, operator.operator_id) for operator in self.segment.operators)
