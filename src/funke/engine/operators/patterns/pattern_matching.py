"""What operators around a pattern share: the runs of keys as state, and timers for those that are over."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from funke.engine.graph.operations import KeySelector
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import MAX_WATERMARK, OperatorContext
from funke.engine.operators.patterns.automaton import Automaton
from funke.engine.operators.patterns.pattern import Pattern
from funke.engine.operators.patterns.runs import EVENT, FirstRun, KeyRuns, Matcher, Run, StoredRuns
from funke.engine.operators.time.watermark_patience import WATERMARK_MISSING, WatermarkPatience
from funke.engine.operators.windowing.window_operator import LATE_RECORDS_DROPPED
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.information.type_information import PickledBytesTypeInfo

__all__ = ["Completed", "PatternMatching"]

_RUNS = "partial-matches"
# A timer of a key is first set too early, for a time that many keys share, which keeps timers small; when it fires it
# is set for its own time.
_SHARED_TIMES = 64


class Completed(NamedTuple):
    """A match, or a partial match that has timed out."""

    time: int
    run: Run
    is_match: bool


class PatternMatching(KeyedOperator):
    """Subclasses bring the events, and say what becomes of matches."""

    handles_timeouts = False
    watermark_advice = ""

    def __init__(self, function: Any, pattern: Pattern, is_event_time: bool, *key_selectors: KeySelector) -> None:
        super().__init__(function, *key_selectors)
        self.automaton = Automaton(pattern)
        self.is_event_time = is_event_time
        self._knows_counts = True
        # Keys whose timers have fired.
        self._due_keys: list[Any] = []

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.matcher = Matcher(self.automaton, context.task.clock.now_ms)
        within_ms = self.automaton.within_ms
        self._timer_step = 1 if within_ms is None else max(1, within_ms // _SHARED_TIMES)
        # Runs that only have to be forgotten may stay a little longer.
        self._may_be_late = not self.handles_timeouts and not self.matcher.matches_by_time
        timers = self.timer_service
        self._timers = timers.event_timers if self.is_event_time else timers.processing_timers
        is_waiting = self.is_event_time and not context.task.is_batch
        self._patience = WatermarkPatience(is_waiting, self.watermark_advice)
        self.late_dropped = self.runtime_context.get_metrics_group().counter(LATE_RECORDS_DROPPED)

    def open(self) -> None:
        super().open()
        self.runs: ValueState[StoredRuns] = self.backend.get_state(ValueStateDescriptor(_RUNS, PickledBytesTypeInfo()))

    def stored_runs(self, keys: list[Any]) -> list[StoredRuns | None]:
        """What the state holds for stored keys."""
        backend, state = self.backend, self.runs
        if backend.is_in_memory:
            return list(map(state.table.get, keys))  # type: ignore[attr-defined]
        stored = []
        for key in keys:
            backend.current_key = key
            stored.append(state.value())
        return stored

    def handle(self, completed: list[Completed]) -> None:
        """Sends results for matches, which are in the order of time."""
        raise NotImplementedError

    def send(self, completed: list[Completed]) -> None:
        """Handles matches of several keys in the order of time."""
        if completed:
            completed.sort(key=itemgetter(0))
            self.handle(completed)

    def expire(self, runs: KeyRuns, now: int, completed: list[Completed]) -> None:
        """Ends what is over at some time."""
        if not runs.runs or not self.matcher.is_due(runs.runs, now):
            return
        matches, over = self.matcher.expire(runs, now)
        completed += [Completed(now, match, True) for match in matches]
        if self.handles_timeouts:
            completed += [Completed(end, run, False) for run, end in over]

    def store(self, key: Any, before: StoredRuns | None, runs: KeyRuns) -> None:
        """Keeps the runs of a stored key; while there are any, it has a timer."""
        self.backend.current_key = key
        stored = runs.to_stored()
        if stored is None:
            if before is not None:
                self.runs.clear()
            return
        if isinstance(stored, KeyRuns) or not _is_same(stored, before):
            self.runs.update(stored)
        if before is None:
            self._set_timer(key, self.matcher.expiry(runs.runs))

    def store_each(self, keys: list[Any], runs: list[FirstRun], is_new: list[bool]) -> None:
        """Keeps one run for each stored key, which has taken one event; a key is new that had none."""
        backend, state = self.backend, self.runs
        if backend.is_in_memory:
            state.table.update(zip(keys, runs))  # type: ignore[attr-defined]
        else:
            for key, run in zip(keys, runs):
                backend.current_key = key
                state.update(run)
        if self.automaton.expires:
            for key, run, needs_timer in zip(keys, runs, is_new):
                if needs_timer:
                    self._set_timer(key, self.matcher.expiry(KeyRuns.of(run).runs))

    def _set_timer(self, key: Any, expiry: int | None) -> None:
        if expiry is None:
            return
        step = self._timer_step
        if self._may_be_late:
            self._timers.register(min(-(-expiry // step) * step, MAX_WATERMARK), key)
            return
        early = expiry // step * step
        is_passed = self.is_event_time and early <= self.timer_service.watermark
        self._timers.register(expiry if is_passed else early, key)

    def on_event_timer(self, time: int, entry: Any) -> None:
        """Some runs of a key may be over."""
        self._due_keys.append(entry)

    def on_processing_timer(self, time: int, entry: Any) -> None:
        """Some runs of a key may be over."""
        self._due_keys.append(entry)

    def advance_event_time(self, watermark: int) -> None:
        super().advance_event_time(watermark)
        self._end_runs(watermark)

    def on_processing_time(self, now_ms: int) -> None:
        super().on_processing_time(now_ms)
        self._end_runs(self.context.task.clock.now_ms())

    def _end_runs(self, now: int) -> None:
        """Ends what is over of the keys whose timers have fired, and sends all results at once."""
        if not self._due_keys:
            return
        keys, self._due_keys = list(dict.fromkeys(self._due_keys)), []
        self.backend.prefetch(keys)
        completed: list[Completed] = []
        for key, before in zip(keys, self.stored_runs(keys)):
            if before is not None:
                runs = KeyRuns.of(before)
                self.expire(runs, now, completed)
                self.store(key, before, runs)
                if runs.runs:
                    self._set_timer(key, self.matcher.expiry(runs.runs))
        self.send(completed)

    def end_epoch(self) -> None:
        super().end_epoch()
        self._is_watermark_missing()

    def _is_watermark_missing(self) -> bool:
        now = self.context.task.clock.now_ms()
        return self._patience.is_over(self.timer_service.watermark, self.records_in, now, self.context.operator_name)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(map(self._counted, parts))

    def _counted(self, chunk: tuple[int, GroupPart]) -> tuple[int, GroupPart]:
        for table, entries in chunk[1].tables.items():
            if table.name == _RUNS:
                for stored in entries.values():
                    self.matcher.count(stored)
        return chunk

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        """Files of the backend are taken as they are: how many partial matches they have stays unknown."""
        super().restore_native(folders, groups)
        self._knows_counts = False

    def metrics(self) -> dict[str, Any]:
        counts = self.matcher.metrics()
        if not self._knows_counts:
            counts = {name: count for name, count in counts.items() if not name.startswith("partialMatches.")}
        missing = {WATERMARK_MISSING: 1} if self._is_watermark_missing() else {}
        return {**super().metrics(), **counts, **missing}


def _is_same(stored: StoredRuns, before: StoredRuns | None) -> bool:
    """Whether a run with one event is as it was; events are not compared by what a program says is equal."""
    return (
        isinstance(stored, tuple) and isinstance(before, tuple) and stored[EVENT] is before[EVENT] and stored == before
    )
