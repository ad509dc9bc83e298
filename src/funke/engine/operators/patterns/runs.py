"""The partial matches of a key: what they have taken, how an event moves them, and which matches they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from funke.engine.errors import StateError
from funke.engine.operators.patterns.automaton import IGNORED, Automaton
from funke.engine.operators.patterns.conditions import OfColumns, OfEvent
from funke.engine.operators.patterns.match_queue import offer, poll, restore_order
from funke.engine.operators.patterns.pattern import SkipKind

__all__ = [
    "BEFORE",
    "EVENT",
    "FIRST",
    "NUMBER",
    "RESULTS",
    "STAGE",
    "STATE",
    "TIME",
    "FirstRun",
    "KeyRuns",
    "Matcher",
    "Run",
    "events_of",
    "path_of",
]

# A partial match, and at once the last event that it has taken: state, stage, event, time, number of the event, the run
# before that event was taken, and the run that took the first event (None: this one). A run is never changed, so that
# runs that branch share what they have in common: an event waits once, whatever the number of runs that took it. A run
# that waits for its second event takes 112 bytes, 88 in state, which is why it is a plain tuple.
# Behind the first event a run may have an eighth entry: a list for what conditions compute of all events up to it, so
# that each event is taken in once. It is no part of a snapshot.
Run: TypeAlias = (
    "tuple[int, int, Any, int, int, Run | None, Run | None]"
    " | tuple[int, int, Any, int, int, Run | None, Run | None, list[Any]]"
)
STATE: Final = 0
STAGE: Final = 1
EVENT: Final = 2
TIME: Final = 3
NUMBER: Final = 4
BEFORE: Final = 5
FIRST: Final = 6
RESULTS: Final = 7

# A run that has taken one event and is the only one of its key, as far as it differs from others: state, stage, event,
# time. Savepoints of earlier versions have all of it.
FirstRun: TypeAlias = "tuple[int, int, Any, int]"
_REST: Final = (0, None, None)
# What a state holds for a key.
StoredRuns: TypeAlias = "FirstRun | Run | KeyRuns"


class KeyRuns:
    """The runs of a key in the order of their first events, and the matches that wait for earlier runs to end."""

    __slots__ = ("matches", "runs")

    def __init__(self, runs: list[Run], matches: list[Run]) -> None:
        self.runs = runs
        self.matches = matches

    @staticmethod
    def of(stored: StoredRuns | None) -> KeyRuns:
        """What a state holds."""
        if stored is None:
            return KeyRuns([], [])
        if isinstance(stored, KeyRuns):
            return stored
        return KeyRuns([stored + _REST if len(stored) == NUMBER else stored], [])

    def to_stored(self) -> StoredRuns | None:
        """As a state holds it; None if there is nothing."""
        if not self.matches and len(self.runs) < 2:
            if not self.runs:
                return None
            if self.runs[0][BEFORE] is None:
                return self.runs[0][:NUMBER]
        return self

    def next_number(self) -> int:
        """A number behind those of all events that were taken."""
        last = -1
        for runs in (self.runs, self.matches):
            for run in runs:
                last = max(last, run[NUMBER])
        return last + 1

    def __reduce__(self) -> tuple[Any, ...]:
        # A run as long as a loop of the pattern would be too deep for pickle.
        rows: list[tuple[Any, ...]] = []
        return _restored, (rows, self.flat_runs(rows, {}), len(self.runs))

    def flat_runs(self, rows: list[tuple[Any, ...]], indexes: dict[int, int]) -> list[int]:
        """Adds what runs and matches consist of, with indexes in place of runs; the indexes of runs and matches."""
        return [self._flat(run, rows, indexes) for run in (*self.runs, *self.matches)]

    @staticmethod
    def _flat(run: Run, rows: list[tuple[Any, ...]], indexes: dict[int, int]) -> int:
        chain: list[Run] = []
        each: Run | None = run
        while each is not None and id(each) not in indexes:
            chain.append(each)
            each = each[BEFORE]
        for link in reversed(chain):
            before = -1 if link[BEFORE] is None else indexes[id(link[BEFORE])]
            first = -1 if link[FIRST] is None else indexes[id(link[FIRST])]
            indexes[id(link)] = len(rows)
            rows.append((*link[:BEFORE], before, first))
        return indexes[id(run)]


def _restored(rows: list[tuple[Any, ...]], tops: list[int], count: int) -> KeyRuns:
    links: list[Run] = []
    for state, stage, event, time, number, before, first in rows:
        links.append(
            (
                state,
                stage,
                event,
                time,
                number,
                None if before < 0 else links[before],
                None if first < 0 else links[first],
            )
        )
    runs = [links[top] for top in tops]
    return KeyRuns(runs[:count], runs[count:])


def path_of(run: Run) -> list[Run]:
    """The events of a match in order, each with its stage."""
    path = []
    each: Run | None = run
    while each is not None:
        path.append(each)
        each = each[BEFORE]
    path.reverse()
    return path


def events_of(run: Run, names: Sequence[str]) -> dict[str, list[Any]]:
    """The events of a match by the names of their stages."""
    match: dict[str, list[Any]] = {}
    for link in path_of(run):
        match.setdefault(names[link[STAGE]], []).append(link[EVENT])
    return match


def _start(run: Run) -> Run:
    return run[FIRST] or run


def _moved(run: Run | None, stage: int, state: int, event: Any, time: int, number: int, results: int) -> Run:
    """What a run is after an event; there are so many results to keep."""
    if run is None:
        return (state, stage, event, time, number, None, None)
    if stage == IGNORED:
        return (state, *run[STAGE:])
    if results:
        return (state, stage, event, time, number, run, run[FIRST] or run, [None] * results)
    return (state, stage, event, time, number, run, run[FIRST] or run)


class MatchContext:
    """What iterative conditions ask; one object serves all runs."""

    def __init__(self, names: Sequence[str], now_ms: Callable[[], int]) -> None:
        self._stages = {name: stage for stage, name in enumerate(names)}
        self._now_ms = now_ms
        self.run: Run | None = None
        self.time = 0
        # What was computed of the event before it was matched, and the bit of each of these conditions.
        self.masks: dict[OfColumns, int] = {}
        self.bits = 0

    def is_true(self, condition: OfColumns) -> bool:
        """Whether an expression over columns is true for the event."""
        return bool(self.bits & self.masks[condition])

    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The events of the match so far for a stage, in order."""
        stage = self._stages.get(name)
        events = []
        each = self.run
        while each is not None:
            if each[STAGE] == stage:
                events.append(each[EVENT])
            each = each[BEFORE]
        events.reverse()
        return events

    def timestamp(self) -> int:
        """The time of the event."""
        return self.time

    def current_processing_time(self) -> int:
        """What the clock says."""
        return self._now_ms()


class Matcher:
    """Moves the runs of keys; it keeps nothing of a key itself."""

    def __init__(self, automaton: Automaton, now_ms: Callable[[], int] = lambda: 0) -> None:
        self.automaton = automaton
        self.context = MatchContext(automaton.names, now_ms)
        pattern = automaton.pattern
        self._skip = pattern.skip
        self._within = pattern.within_ms or 0
        self._has_previous_within = any(each is not None for each in automaton.within_previous_ms)
        self._skip_stage = automaton.names.index(pattern.skip.stage) if pattern.skip.stage else -1
        self._start_looks_at = automaton.looks_at[automaton.start]
        # By how much the bits of conditions are shifted that say what holds for a first event; 0: not known.
        self.start_shift = 0
        # How many results runs keep for conditions.
        self.results = 0
        # The condition that `may_start` looks at by itself, uncounted.
        self._plain_start = -1
        # Whether an event may begin a run, whatever came before.
        self.may_start = self._start_test()
        # For people: how many runs are in each state, and for each condition how often it was looked at and was false.
        self.waiting = [0] * len(automaton.is_pending)
        self.looked_at = [0] * len(automaton.conditions)
        self.failed = [0] * len(automaton.conditions)
        # Whether time alone can make a match: of what must not come, or of one that waits for an earlier run.
        self.matches_by_time = any(automaton.is_pending) or pattern.skip.kind is not SkipKind.NO_SKIP

    def count_skipped(self, events: int) -> None:
        """Counts events for which `may_start` was false by the function of the program alone."""
        if self._plain_start >= 0:
            self.looked_at[self._plain_start] += events
            self.failed[self._plain_start] += events

    def _start_test(self) -> Callable[[Any], bool]:
        automaton = self.automaton
        start = automaton.start
        looked = automaton.looks_at[start]
        if looked & automaton.iterative:
            return lambda event: True
        conditions = [each for index, each in enumerate(automaton.conditions) if looked >> index & 1]
        is_plain = len(conditions) == 1 and not automaton.steps(start, 0)
        if is_plain and isinstance(conditions[0], OfEvent):
            self._plain_start = looked.bit_length() - 1
            return conditions[0].function

        def may_start(event: Any) -> bool:
            return bool(automaton.steps(start, self._look(event, 0, 0, looked)[0]))

        return may_start

    def begun(self, event: Any, time: int, bits: int) -> Run | None:
        """The run that an event with known conditions begins for a key without any; None if that is not all it does."""
        steps = self.automaton.steps(self.automaton.start, self._start_bits(bits))
        if len(steps) != 1 or steps[0][2] or steps[0][0] == IGNORED:
            return None
        stage, state, _ = steps[0]
        return (state, stage, event, time, 0, None, None)

    def _start_bits(self, bits: int) -> int:
        iterative = self.automaton.iterative
        return (bits & ~iterative | bits >> self.start_shift & iterative) & self._start_looks_at

    def advance(self, key: KeyRuns, event: Any, time: int, bits: int, known_bits: int) -> list[Run]:
        """An event has come: moves the runs and returns the matches, in order.

        `bits` has the conditions that are known to hold, `known` those that have been looked at.
        """
        automaton, context = self.automaton, self.context
        looks_at, iterative, stays, waiting = automaton.looks_at, automaton.iterative, automaton.stays, self.waiting
        context.time, context.bits, results = time, bits, self.results
        kept: list[Run] = []
        matches: list[Run] = []
        number = -1
        # None is the start, which every event may begin a run from.
        for run in (*key.runs, None):
            state = automaton.start if run is None else run[STATE]
            looked = looks_at[state]
            if looked & ~iterative & ~known_bits:
                # What is found of the event alone counts for the other runs too.
                bits, known_bits = self._look(event, bits, known_bits, looked & ~iterative)
            own_bits = bits & looked
            if run is None and self.start_shift:
                own_bits = self._start_bits(bits)
            elif looked & iterative:
                context.run = run
                own_bits |= self._iterative(event, looked & iterative)
            steps = automaton.steps(state, own_bits)
            if run is not None and steps is stays[state]:
                kept.append(run)
                continue
            if run is not None:
                waiting[state] -= 1
            for stage, target, is_match in steps:
                if stage != IGNORED and number < 0:
                    number = key.next_number()
                moved = _moved(run, stage, target, event, time, number, results)
                if is_match:
                    matches.append(moved)
                if target >= 0:
                    waiting[target] += 1
                    kept.append(moved)
        key.runs = kept
        return self._after_match(key, matches) if matches or key.matches else matches

    def _look(self, event: Any, bits: int, known_bits: int, needed: int) -> tuple[int, int]:
        """Evaluates conditions of the event alone."""
        missing = needed & ~known_bits
        conditions, context = self.automaton.conditions, self.context
        while missing:
            bit = missing & -missing
            index = bit.bit_length() - 1
            self.looked_at[index] += 1
            if conditions[index].holds(event, context):
                bits |= bit
            else:
                self.failed[index] += 1
            missing ^= bit
        return bits, known_bits | needed

    def _iterative(self, event: Any, needed: int) -> int:
        bits, conditions, context = 0, self.automaton.conditions, self.context
        while needed:
            bit = needed & -needed
            index = bit.bit_length() - 1
            self.looked_at[index] += 1
            if conditions[index].holds(event, context):
                bits |= bit
            else:
                self.failed[index] += 1
            needed ^= bit
        return bits

    def count(self, stored: StoredRuns) -> None:
        """Counts runs that a snapshot has brought."""
        for run in KeyRuns.of(stored).runs:
            self.waiting[run[STATE]] += 1

    def metrics(self) -> dict[str, int]:
        """How many partial matches wait for an event of each stage, and how often its condition was false."""
        automaton, counts = self.automaton, dict[str, int]()
        for name, count in zip(automaton.state_names, self.waiting):
            if name:
                counts[f"partialMatches.{name}"] = counts.get(f"partialMatches.{name}", 0) + count
        for name, looked_at, failed in zip(automaton.condition_names, self.looked_at, self.failed):
            counts[f"conditionChecks.{name}"] = looked_at
            counts[f"conditionFailures.{name}"] = failed
        return counts

    # Time

    def expiry(self, runs: Sequence[Run]) -> int | None:
        """When the first of the runs is over; None if that is never."""
        first = _start(runs[0])[TIME] + self._within if self._within and runs else None
        if not self._has_previous_within:
            return first
        previous = self.automaton.within_previous_ms
        times = [run[TIME] + limit for run in runs if (limit := previous[run[STATE]]) is not None]
        return min(times if first is None else [first, *times], default=None)

    def expire(self, key: KeyRuns, time: int) -> tuple[list[Run], list[tuple[Run, int]]]:
        """Nothing earlier than `time` comes any more: the matches that this makes, and the runs that are over."""
        runs, within = key.runs, self._within
        if not runs:
            return [], []
        previous = self.automaton.within_previous_ms
        kept: list[Run] = []
        matches: list[Run] = []
        over: list[tuple[Run, int]] = []
        for run in runs:
            limit = previous[run[STATE]]
            if limit is not None and time - run[TIME] >= limit:
                end = run[TIME] + limit
            elif within and time - _start(run)[TIME] >= within:
                end = _start(run)[TIME] + within
            else:
                kept.append(run)
                continue
            self.waiting[run[STATE]] -= 1
            if self.automaton.is_pending[run[STATE]]:
                matches.append(run)
            else:
                over.append((run, end))
        key.runs = kept
        return self._after_match(key, matches), over

    def is_due(self, runs: list[Run], time: int) -> bool:
        """Whether some of these runs may be over at a time."""
        # Runs stand in the order of their first events.
        first = runs[0]
        return self._has_previous_within or 0 < self._within <= time - (first[FIRST] or first)[TIME]

    # What a match skips

    def _after_match(self, key: KeyRuns, matches: list[Run]) -> list[Run]:
        """Those that are matches now, and not skipped.

        A match waits while there is a run that began before it: if that becomes a match, it comes first.
        """
        if self._skip.kind is SkipKind.NO_SKIP:
            return matches
        waiting = key.matches
        for match in matches:
            offer(waiting, match, _first_number)
        emitted: list[Run] = []
        while waiting and (not key.runs or _first_number(waiting[0]) <= _first_number(key.runs[0])):
            match = poll(waiting, _first_number)
            emitted.append(match)
            until = self._skipped_until(match)
            if until is not None:
                for run in key.runs:
                    self.waiting[run[STATE]] -= _first_number(run) < until
                key.runs = [run for run in key.runs if _first_number(run) >= until]
                waiting[:] = [run for run in waiting if _first_number(run) >= until]
                restore_order(waiting, _first_number)
        return emitted

    def _skipped_until(self, match: Run) -> int | None:
        """Runs whose first event is before this one are skipped."""
        kind = self._skip.kind
        if kind is SkipKind.TO_NEXT:
            return _first_number(match) + 1
        path = path_of(match)
        if kind is SkipKind.PAST_LAST:
            return path[-1][NUMBER] + 1
        numbers = [link[NUMBER] for link in path if link[STAGE] == self._skip_stage]
        if not numbers:
            if self._skip.fails_on_miss:
                raise StateError(
                    f"Could not skip to {self._skip.stage}. No such element in the found match "
                    f"{events_of(match, self.automaton.names)}"
                )
            return None
        until = numbers[0] if kind is SkipKind.TO_FIRST else numbers[-1]
        if self._skip.fails_on_miss and until == path[0][NUMBER]:
            raise StateError("Could not skip to first element of a match.")
        return until


def _first_number(run: Run) -> int:
    return (run[FIRST] or run)[NUMBER]
