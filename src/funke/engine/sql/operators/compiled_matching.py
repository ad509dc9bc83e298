"""Matches the rows of many keys by the compiled loop: partial matches become numbers, and what is left becomes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.kernels import match_rows as tables
from funke.engine.kernels.kernel import address
from funke.engine.kernels.match_rows import look_up_rows, match_rows
from funke.engine.operators.patterns.automaton import Automaton
from funke.engine.operators.patterns.pattern import SkipKind
from funke.engine.operators.patterns.pattern_matching import Completed
from funke.engine.operators.patterns.runs import BEFORE, EVENT, NUMBER, FirstRun, KeyRuns, Matcher, Run, StoredRuns
from funke.engine.sql.operators.match_programs import MatchPrograms

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["CompiledMatching", "KeyedRows", "MatchedRows"]

# Of the decisions of an automaton a table is made if it has so many entries at most.
_MOST_DECISIONS = 1 << 14
_MOST_STAGES = 62
# The rows of partial matches of a key are read if they are so many at most, and so many for each row that comes: longer
# ones are moved where they are.
_READ_ROWS, _READ_FOR_ROW = 64, 16
# Links beyond this are too many to be kept until all keys are matched.
_MOST_LINKS = 1 << 22
# A row that is matched one by one costs as much as so many in the loop (cep1: 4.7 instead of 0.7 µs a row).
_PLAIN_WEIGHT = 10
_NEVER = -(1 << 62)
_SKIPS = list(SkipKind)
_STATE, _STAGE, _ROW, _TIME, _NUMBER, _BEFORE, _FIRST = range(tables.LINK_WIDTH)


@dataclass(frozen=True)
class KeyedRows:
    """Rows sorted by key and time: their indexes in a batch, and beside each its time and its conditions."""

    keys: list[Any]
    # What the state has for each key.
    stored: list[StoredRuns | None]
    # Where the rows of each key begin, and how many these are.
    first_rows: Array
    lengths: Array
    rows: Array
    times: Array
    bits: Array

    def chosen(self, is_chosen: Array) -> KeyedRows:
        """Some of the keys with their rows."""
        has_rows: Array = np.repeat(is_chosen, self.lengths)
        lengths = self.lengths[is_chosen]
        return KeyedRows(
            [key for key, is_here in zip(self.keys, is_chosen) if is_here],
            [each for each, is_here in zip(self.stored, is_chosen) if is_here],
            np.cumsum(lengths) - lengths,
            lengths,
            self.rows[has_rows],
            self.times[has_rows],
            self.bits[has_rows],
        )

    def are_short(self) -> Array:
        """Which keys have partial matches of few rows, or of none."""
        is_short: Array = np.ones(len(self.keys), bool)
        for index, each in enumerate(self.stored):
            if type(each) is KeyRuns:
                is_short[index] = _is_short(each, _READ_ROWS + _READ_FOR_ROW * int(self.lengths[index]))
        return is_short


def _is_short(runs: KeyRuns, limit: int) -> bool:
    for run in (*runs.runs, *runs.matches):
        each: Run | None = run
        while each is not None:
            limit -= 1
            if limit < 0:
                return False
            each = each[BEFORE]
    return True


class CompiledMatching:
    """An automaton, and what its conditions look up, as tables of numbers."""

    def __init__(self, matcher: Matcher, programs: MatchPrograms) -> None:
        automaton = matcher.automaton
        self._matcher = matcher
        self._programs = programs
        pattern, skip = automaton.pattern, automaton.pattern.skip
        self._rules = np.array(
            [
                automaton.start,
                len(automaton.conditions),
                matcher.start_shift,
                automaton.iterative,
                pattern.within_ms or 0,
                _SKIPS.index(skip.kind),
                automaton.names.index(skip.stage) if skip.stage else -1,
                skip.fails_on_miss,
                programs.aggregate_count,
                _NEVER,
            ],
            np.int64,
        )
        self._tables = [np.array(automaton.looks_at, np.int64), *_decisions_of(automaton)]
        self._tables += [programs.code, programs.stages, programs.lookups, programs.aggregates]
        self._stack: Array = np.zeros(programs.depth, np.int64)
        self._nulls: Array = np.zeros(programs.depth, np.uint8)

    @classmethod
    def of(cls, matcher: Matcher, programs: MatchPrograms | None) -> CompiledMatching | None:
        """For conditions with programs; None if the loop does not know what the automaton does."""
        automaton = matcher.automaton
        is_known = (
            len(automaton.is_pending) << len(automaton.conditions) <= _MOST_DECISIONS
            and len(automaton.names) <= _MOST_STAGES
            and automaton.pattern.skip.kind is not SkipKind.NO_SKIP
            and not any(automaton.is_pending)
            and all(each is None for each in automaton.within_previous_ms)
        )
        return cls(matcher, programs) if programs is not None and is_known else None

    @staticmethod
    def is_ready(rows: int) -> bool:
        """Whether there is machine code; `rows` says for how many rows it is wanted now."""
        # Both are asked for, so that both are compiled.
        loops = [each.compiled(rows * _PLAIN_WEIGHT) for each in (match_rows, look_up_rows)]
        return None not in loops

    def match(
        self,
        keyed: KeyedRows,
        now: int | None,
        words_of: Callable[[int, list[Any]], tuple[Array, Array | None]],
        events_of: Callable[[Array], Sequence[Any]],
    ) -> MatchedRows | None:
        """Moves the partial matches of keys; None if the rows have to be matched one by one.

        `words_of` gives the values of a column, those of the events of partial matches in front of those of the batch,
        and which of them are not NULL (None: all); `events_of` makes events of rows of the batch.
        """
        held = _HeldRuns(keyed.stored)
        words = [words_of(column, held.events) for column in self._programs.columns]
        columns: Array = np.zeros(2 * len(words) + 1, np.int64)
        for index, (values, validity) in enumerate(words):
            columns[2 * index] = address(values, np.int64)
            columns[2 * index + 1] = 0 if validity is None else address(validity, np.uint8)
        rules = self._rules.copy()
        rules[-1] = _NEVER if now is None else now
        conditions = len(self._matcher.looked_at)
        room = len(held.links) + 2 * len(keyed.rows) + 16
        while True:
            arrays = _Arrays(room, len(keyed.keys), held, self._programs.aggregate_count, conditions)
            result = match_rows.run(
                len(keyed.rows),
                rules,
                *self._tables,
                columns,
                len(keyed.keys),
                np.append(keyed.first_rows, len(keyed.rows)),
                keyed.rows + len(held.events),
                keyed.times,
                keyed.bits,
                held.begins,
                held.tops,
                arrays.links,
                room,
                arrays.words,
                arrays.words.view(np.float64),
                arrays.runs,
                arrays.waits,
                arrays.kept_at,
                arrays.kept,
                arrays.matches,
                self._stack,
                self._stack.view(np.float64),
                self._nulls,
                arrays.counters,
            )
            if result != tables.NO_ROOM:
                break
            room *= 4
            if room > _MOST_LINKS:
                return None
        if result == tables.FAILS:
            # A match lacks the stage that is skipped to: matched one by one it says so.
            return None
        matched = MatchedRows(keyed, held, arrays, self._programs, events_of)
        self._count(held, matched, arrays.counters[tables.CHECKS :].tolist())
        return matched

    def _count(self, held: _HeldRuns, matched: MatchedRows, checks: list[int]) -> None:
        """Counts conditions that were looked at, and partial matches by their states."""
        matcher = self._matcher
        conditions = len(matcher.looked_at)
        for index in range(conditions):
            matcher.looked_at[index] += checks[index]
            matcher.failed[index] += checks[conditions + index]
        states = len(matcher.waiting)
        after, before = (np.bincount(each, minlength=states) for each in (matched.run_states, held.run_states))
        for state, change in enumerate((after - before).tolist()):
            matcher.waiting[state] += change


def _positions(begins: Array, counts: Array) -> Array:
    """The positions of runs of elements that begin somewhere, one behind the other."""
    positions: Array = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    return positions


def _decisions_of(automaton: Automaton) -> tuple[Array, Array]:
    """What becomes of a partial match in a state, for each set of the conditions that it looks at."""
    count = len(automaton.conditions)
    decisions: Array = np.zeros(len(automaton.looks_at) << count, np.int64)
    # Of states without partial matches: no step.
    steps = [0]
    for state, looked in enumerate(automaton.looks_at):
        if state != automaton.start and not automaton.state_names[state]:
            continue
        for bits in range(1 << count):
            if bits & ~looked:
                continue
            decisions[state << count | bits] = len(steps)
            decision = automaton.steps(state, bits)
            is_idle = state != automaton.start and decision is automaton.stays[state]
            steps.append(-1 if is_idle else len(decision))
            for each in decision:
                steps += [each.stage, each.state, each.is_match]
    return decisions, np.array(steps, np.int64)


class _HeldRuns:
    """The partial matches that keys have, as links."""

    def __init__(self, stored: Sequence[StoredRuns | None]) -> None:
        rows: list[tuple[Any, ...]] = []
        indexes: dict[int, int] = {}
        tops: list[int] = []
        counts: list[int] = []
        run_tops: list[int] = []
        for each in stored:
            if each is None:
                counts += (0, 0)
            elif type(each) is tuple:
                tops.append(len(rows))
                run_tops.append(len(rows))
                rows.append((*each[:NUMBER], 0, -1, -1))
                counts += (1, 0)
            else:
                assert isinstance(each, KeyRuns)
                own = each.flat_runs(rows, indexes)
                tops += own
                run_tops += own[: len(each.runs)]
                counts += (len(each.runs), len(each.matches))
        parts = list(zip(*rows)) if rows else [()] * tables.LINK_WIDTH
        self.events: list[Any] = list(parts[EVENT])
        self.links: Array = np.empty((len(rows), tables.LINK_WIDTH), np.int64)
        for index, part in enumerate(parts):
            self.links[:, index] = np.arange(len(rows)) if index == _ROW else part
        self.tops = np.array(tops, np.int64)
        self.begins: Array = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.run_states = self.links[np.array(run_tops, np.int64), _STATE]


class _Arrays:
    """What the loop fills: room for so many links."""

    def __init__(self, room: int, keys: int, held: _HeldRuns, aggregates: int, conditions: int) -> None:
        self.links: Array = np.empty(room * tables.LINK_WIDTH, np.int64)
        self.links[: held.links.size] = held.links.reshape(-1)
        # One link more for what is computed on the way.
        self.words: Array = np.empty(2 * aggregates * (room + 1) + 1, np.int64)
        self.runs: Array = np.empty(2 * room, np.int64)
        self.waits: Array = np.empty(room, np.int64)
        self.kept_at: Array = np.empty(2 * keys + 1, np.int64)
        self.kept: Array = np.empty(room, np.int64)
        self.matches: Array = np.empty(2 * room, np.int64)
        self.counters: Array = np.zeros(tables.CHECKS + 2 * conditions, np.int64)
        self.counters[tables.LINKS] = len(held.links)


class MatchedRows:
    """The matches of some keys, in the order of the keys, and their partial matches as they are now."""

    def __init__(
        self,
        keyed: KeyedRows,
        held: _HeldRuns,
        arrays: _Arrays,
        programs: MatchPrograms,
        events_of: Callable[[Array], Sequence[Any]],
    ) -> None:
        # Events of partial matches that were there before; the rows of links count from them on.
        self.held_events = held.events
        self._keyed = keyed
        self._held = held
        self._arrays = arrays
        self._programs = programs
        self._events_of = events_of
        counters = arrays.counters
        self._links = arrays.links[: counters[tables.LINKS] * tables.LINK_WIDTH].reshape(-1, tables.LINK_WIDTH)
        matches = arrays.matches[: 2 * counters[tables.MATCHES]].reshape(-1, 2)
        self._matches: Array = matches[:, 0].copy()
        # When each match is sent.
        self.times: Array = matches[:, 1].copy()
        self._kept = arrays.kept[: counters[tables.KEPT]]
        counts = np.diff(arrays.kept_at)
        self._run_counts, self._wait_counts = counts[0::2], counts[1::2]
        is_run: Array = np.repeat(np.arange(len(counts)) % 2 == 0, counts)
        self.run_states = self._links[self._kept[is_run], _STATE]

    def __len__(self) -> int:
        return len(self._matches)

    @property
    def last_rows(self) -> Array:
        """The last row of each match."""
        rows: Array = self._links[self._matches, _ROW]
        return rows

    def completed(self) -> list[Completed]:
        """The matches as they are without the loop."""
        runs = self._runs_of(self._matches)
        return [Completed(time, run, True) for time, run in zip(self.times.tolist(), runs)]

    def look_up(self, lookups: Sequence[int]) -> tuple[Array, Array, Array]:
        """What matches look up, for each lookup and match: the row (-1: none), or a result and whether it is NULL."""
        table = self._programs.lookups.reshape(-1, tables.LOOKUP_WIDTH)[list(lookups)].reshape(-1)
        shape = len(lookups), len(self)
        rows: Array = np.empty(shape, np.int64)
        results: Array = np.empty(shape, np.int64)
        nulls: Array = np.empty(shape, np.uint8)
        words = self._arrays.words
        look_up_rows.run(
            len(self),
            table,
            len(lookups),
            self._matches,
            len(self),
            self._programs.aggregates,
            self._programs.aggregate_count,
            self._arrays.links,
            words,
            words.view(np.float64),
            rows.reshape(-1),
            results.reshape(-1),
            results.reshape(-1).view(np.float64),
            nulls.reshape(-1),
        )
        return rows, results, nulls

    def store(
        self,
        store_first: Callable[[list[Any], list[FirstRun], list[bool]], None],
        store: Callable[[Any, StoredRuns | None, KeyRuns], None],
    ) -> None:
        """Keeps what is left: `store_first` where it is one run with one event, `store` what is more, or nothing."""
        keys, stored, kept, links = self._keyed.keys, self._keyed.stored, self._kept, self._links
        begins, counts = self._arrays.kept_at[0:-1:2], self._run_counts + self._wait_counts
        had_any, is_changed = self._held_counts() > 0, ~self._are_as_before()
        is_one = is_changed & (self._run_counts == 1) & (self._wait_counts == 0)
        is_one[is_one] = links[kept[begins[is_one]], _BEFORE] < 0
        ones = np.flatnonzero(is_one)
        if len(ones):
            first_runs = self._first_runs(links[kept[begins[ones]]])
            store_first([keys[each] for each in ones.tolist()], first_runs, (~had_any[ones]).tolist())
        others = np.flatnonzero(is_changed & ~is_one)
        left = iter(self._runs_of(kept[_positions(begins[others], counts[others])]))
        for each, run_count, count in zip(others.tolist(), self._run_counts[others].tolist(), counts[others].tolist()):
            own = [next(left) for _ in range(count)]
            store(keys[each], stored[each], KeyRuns(own[:run_count], own[run_count:]))

    def _held_counts(self) -> Array:
        begins = self._held.begins
        counts: Array = begins[2::2] - begins[0:-1:2]
        return counts

    def _are_as_before(self) -> Array:
        """Which keys have the partial matches that they had."""
        held = np.diff(self._held.begins)
        is_same: Array = (self._run_counts == held[0::2]) & (self._wait_counts == held[1::2])
        candidates = np.flatnonzero(is_same)
        counts = self._held_counts()[candidates]
        now = self._kept[_positions(self._arrays.kept_at[0:-1:2][candidates], counts)]
        before = self._held.tops[_positions(self._held.begins[0:-1:2][candidates], counts)]
        is_same[np.repeat(candidates, counts)[now != before]] = False
        return is_same

    def _first_runs(self, links: Array) -> list[FirstRun]:
        states, stages, times = (links[:, part].tolist() for part in (_STATE, _STAGE, _TIME))
        return list(zip(states, stages, self._events_at(links[:, _ROW]), times))

    def _runs_of(self, tops: Array) -> list[Run]:
        """Links as runs, which share what links have in common."""
        links = self._links
        needed: Array = np.zeros(len(links), bool)
        frontier = tops
        while len(frontier):
            needed[frontier] = True
            frontier = links[frontier, _BEFORE]
            frontier = frontier[frontier >= 0]
            frontier = frontier[~needed[frontier]]
        indexes = np.flatnonzero(needed)
        events = self._events_at(links[indexes, _ROW])
        runs: dict[int, Run] = {}
        for index, link, event in zip(indexes.tolist(), links[indexes].tolist(), events):
            state, stage, _, time, number, before, start = link
            runs[index] = (
                state,
                stage,
                event,
                time,
                number,
                None if before < 0 else runs[before],
                None if start < 0 else runs[start],
            )
        return [runs[each] for each in tops.tolist()]

    def _events_at(self, rows: Array) -> list[Any]:
        """The events of rows: one object for each row."""
        distinct, positions = np.unique(rows, return_inverse=True)
        held_count = len(self.held_events)
        first = int(np.searchsorted(distinct, held_count))
        events = [self.held_events[row] for row in distinct[:first].tolist()]
        events += self._events_of(distinct[first:] - held_count)
        return [events[position] for position in positions.tolist()]
