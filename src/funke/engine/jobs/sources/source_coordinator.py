"""A running job's view of one source: its enumerator, and which subtask has which splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heapify, heapreplace
from itertools import count
from typing import Any, ParamSpec, TypeVar

from funke.engine.connectors.source import Source, Split, SplitEnumerator
from funke.engine.graph.job_graph import JobVertex
from funke.engine.jobs.attempts.job_failure import named
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.source import ReadCommand, ReadReport
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
    # What follows is used only with the same parallelism.
    owner: dict[str, int]
    watermarks: dict[int, int]
    idle: frozenset[int]
    records: int


@dataclass
class SourceCoordinator:
    """Hands out the splits of one source to its subtasks, epoch by epoch."""

    vertex: JobVertex
    first_slot: int
    source: Source
    enumerator: SplitEnumerator
    alignment: WatermarkSpec | None = None
    watermarks: dict[int, int] = field(default_factory=dict)
    records: int = 0
    _owner: dict[str, int] = field(default_factory=dict)
    _idle: set[int] = field(default_factory=set)
    # By subtask: the splits that it has been given and has not read to their end, in their order.
    _unread: dict[int, list[Split]] = field(default_factory=dict)
    # By subtask: how many records it has read of each of them.
    _read: dict[int, tuple[int, ...]] = field(default_factory=dict)
    # By subtask: what is left of each of them, where that is known better than by a number.
    _rests: dict[int, tuple[Split | None, ...]] = field(default_factory=dict)
    # Whether the subtasks of this attempt have been given what an earlier one had left.
    _has_begun: bool = False
    _has_declared_end: bool = False
    # While a barrier is on its way through the subtasks: those that have sent it, and what they have said since.
    _cut: set[int] | None = None
    _deferred: list[tuple[int, ReadReport]] = field(default_factory=list)
    _restored_watermark: int | None = None
    # How far event time may go, as the subtasks have heard last.
    reported_limit: int | None = None

    def poll(self, max_records: int) -> list[Split]:
        """The next splits."""
        return self._named(self.enumerator.poll)(max_records)

    def _named(self, call: Callable[P, R]) -> Callable[P, R]:
        return named(self.vertex.operators[0], call)

    @property
    def operator_id(self) -> str:
        """The name of the source's state in checkpoints."""
        return self.vertex.operators[0].operator_id

    @property
    def has_unfinished(self) -> bool:
        """Whether the last epoch ended before all its splits were read."""
        return any(self._unread.values())

    @property
    def is_over(self) -> bool:
        """Whether everything has been handed out and read."""
        return self.enumerator.is_finished and not self.has_unfinished

    @property
    def has_declared_end(self) -> bool:
        """Whether the subtasks know that nothing will follow."""
        return self._has_declared_end

    @property
    def has_end_to_tell(self) -> bool:
        """Whether everything has been read, and the subtasks do not know yet."""
        return self.is_over and not self._has_declared_end

    def commands(self, splits: list[Split], deadline_ms: int | None = None) -> list[ReadCommand]:
        """One order per source subtask; also for those that have nothing to read, so that time passes for them."""
        left = (
            {}
            if self._has_begun
            else {subtask: list(splits_of_subtask) for subtask, splits_of_subtask in self._unread.items()}
        )
        assigned = self._assign(splits)
        is_over = self.enumerator.is_finished
        commands = []
        for subtask in range(self.vertex.parallelism):
            first = left.get(subtask, [])
            self._unread.setdefault(subtask, []).extend(assigned[subtask])
            commands.append(
                ReadCommand(
                    self.vertex.id,
                    subtask,
                    (*first, *assigned[subtask]),
                    (*self._read.get(subtask, ()), *([0] * len(assigned[subtask]))) if first else (),
                    deadline_ms,
                    is_over,
                    restored_watermark=self._restored_watermark,
                )
            )
        self._has_begun, self._has_declared_end = True, is_over
        self._restored_watermark = None
        return commands

    def _assign(self, splits: list[Split]) -> list[list[Split]]:
        parallelism = self.vertex.parallelism
        assigned: list[list[Split]] = [[] for _ in range(parallelism)]
        # What they have not read yet counts: splits that come one at a time do not all go to the first.
        load = [sum(max(1, split.weight) for split in self._unread.get(index, ())) for index in range(parallelism)]
        for split in splits:
            if split.id in self._owner:
                load[self._owner[split.id]] += max(1, split.weight)
        assigned_before = set(self._owner)
        going_on = Counter(self._owner.values())
        # Both only grow: an entry that is too low is corrected when it comes to the top.
        entries = [(load[index], going_on[index], index) for index in range(parallelism)]
        heapify(entries)
        # The heaviest first, so that all get about the same; what one subtask gets it reads in the order of the source.
        for split in sorted(splits, key=lambda split: -split.weight):
            if split.id not in self._owner:
                least = entries[0][2]
                while entries[0] != (load[least], going_on[least], least):
                    heapreplace(entries, (load[least], going_on[least], least))
                    least = entries[0][2]
                self._owner[split.id] = least
                going_on[least] += 1
            if split.id not in assigned_before:
                load[self._owner[split.id]] += max(1, split.weight)
        for split in splits:
            assigned[self._owner[split.id]].append(split)
        for split in splits:
            if split.is_last:
                self._owner.pop(split.id, None)
        return assigned

    def accept(self, subtask: int, report: ReadReport) -> None:
        """Takes what a subtask has read."""
        if self._cut is not None and subtask in self._cut:
            self._deferred.append((subtask, report))
            return
        if not report.has_begun:
            # Its first command is on its way, which a barrier of another slot may have overtaken.
            return
        self.watermarks[subtask] = report.watermark
        (self._idle.add if report.is_idle else self._idle.discard)(subtask)
        self.records += report.records
        unread = self._unread.setdefault(subtask, [])
        for outcome in report.outcomes:
            # The first one, unless its reader reads several side by side.
            position = next(index for index, split in enumerate(unread) if split.id == outcome.split.id)
            self._named(self.enumerator.report)(replace(outcome, split=unread.pop(position)))
        self._read[subtask], self._rests[subtask] = report.unfinished, report.rests

    # Without epochs, subtasks read on while a checkpoint is taken: what they read behind their barrier does not count.

    def begin_cut(self) -> None:
        """A checkpoint begins."""
        self._cut = set()

    def cut(self, subtask: int, report: ReadReport) -> None:
        """A subtask has sent its barrier, and says what it had read before."""
        self.accept(subtask, report)
        assert self._cut is not None
        self._cut.add(subtask)

    @property
    def is_cut(self) -> bool:
        """Whether all subtasks have sent their barriers."""
        return self._cut is not None and len(self._cut) == self.vertex.parallelism

    def end_cut(self) -> None:
        """The source was written down as it was."""
        self._cut = None
        deferred, self._deferred = self._deferred, []
        for subtask, report in deferred:
            self.accept(subtask, report)

    @property
    def is_hungry(self) -> bool:
        """Whether some subtask has at most one split left, not counting those that it will never have read."""
        return any(len(self._ending(subtask)) <= 1 for subtask in range(self.vertex.parallelism))

    @property
    def has_leftovers(self) -> bool:
        """Whether splits are left that were to be read to their end."""
        return any(map(self._ending, self._unread))

    def _ending(self, subtask: int) -> list[Split]:
        return [split for split in self._unread.get(subtask, ()) if not split.is_endless]

    @property
    def watermark(self) -> int:
        """The lowest watermark of the subtasks that are not idle."""
        active = [mark for subtask, mark in self.watermarks.items() if subtask not in self._idle]
        return min(active, default=MIN_WATERMARK)

    def snapshot(self) -> SourceState:
        """The source's position: what was handed out, what of that is not read yet, and the progress of event time."""
        return SourceState(
            self.enumerator.snapshot(),
            {subtask: left for subtask in self._unread if (left := self._left(subtask))},
            self.vertex.parallelism,
            self.watermark,
            dict(self._owner),
            dict(self.watermarks),
            frozenset(self._idle),
            self.records,
        )

    def _left(self, subtask: int) -> tuple[tuple[Split, int], ...]:
        # What was given behind the last report has not been touched.
        unread, read = self._unread[subtask], self._read.get(subtask, ())
        records = (*read, *[0] * (len(unread) - len(read)))
        rests = (*self._rests.get(subtask, ()), *[None] * len(unread))
        return tuple(
            (split, count) if rest is None else (rest, 0)
            for split, count, rest in zip(unread, records, rests)
            if not split.is_live
        )

    def restore(self, state: SourceState) -> None:
        """Goes on where an earlier attempt or another job stood; the enumerator was made with its position."""
        self._restored_watermark = state.watermark
        self.records = state.records
        is_same = state.parallelism == self.vertex.parallelism
        if is_same:
            self._owner, self.watermarks, self._idle = dict(state.owner), dict(state.watermarks), set(state.idle)
        number = count()
        for old, left in sorted(state.unfinished.items()):
            for split, read in left:
                self._take_over(old if is_same else next(number) % self.vertex.parallelism, split, read)

    def _take_over(self, subtask: int, split: Split, read: int) -> None:
        # All pieces of one split go to one subtask.
        subtask = self._owner.get(split.id, subtask)
        self._unread.setdefault(subtask, []).append(split)
        self._read[subtask] = (*self._read.get(subtask, ()), read)
        if not split.is_last:
            self._owner[split.id] = subtask
