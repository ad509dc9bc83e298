"""Why the events of one key match or do not: which event moved which partial match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from funke.engine.operators.patterns.runs import BEFORE, EVENT, STAGE, STATE, TIME, KeyRuns, Matcher, Run, path_of

__all__ = ["explain"]


def explain(matcher: Matcher, events: Iterable[tuple[int, Any, int]], known_bits: int = 0) -> Iterator[str]:
    """Lines for each event of a key, in the order of time: what it was taken for, and which partial matches wait.

    Events have their time, their value, and the conditions over columns that hold of it, as bits.
    """
    runs = KeyRuns([], [])
    for time, event, bits in events:
        yield f"{time}: {event!r}"
        matches, over = matcher.expire(runs, time)
        yield from (f"  match, as nothing came that must not: {_text(matcher, each)}" for each in matches)
        yield from (f"  over at {end}: {_text(matcher, each)}" for each, end in over)
        before = list(runs.runs)
        matches = matcher.advance(runs, event, time, bits, known_bits)
        yield from _changes(matcher, before, runs.runs, matches)
        yield from (f"  match: {_text(matcher, each)}" for each in matches)


def _changes(matcher: Matcher, before: Sequence[Run], after: Sequence[Run], matches: Sequence[Run]) -> Iterator[str]:
    old = {id(run) for run in before}
    went_on = {id(run[BEFORE]) for run in (*after, *matches) if run[BEFORE] is not None}
    for run in after:
        if id(run) in old:
            yield f"  stays: {_text(matcher, run)}, {_waits(matcher, run)}"
        elif id(run[BEFORE]) in old:
            yield f"  goes on: {_text(matcher, run)}, {_waits(matcher, run)}"
        elif any(each[EVENT] is run[EVENT] and each[BEFORE] is run[BEFORE] for each in before):
            # Another state with the same events.
            yield f"  stays: {_text(matcher, run)}, {_waits(matcher, run)}"
            went_on |= {id(each) for each in before if each[EVENT] is run[EVENT] and each[BEFORE] is run[BEFORE]}
        else:
            yield f"  begins: {_text(matcher, run)}, {_waits(matcher, run)}"
    kept = {id(run) for run in after} | went_on
    yield from (f"  ends: {_text(matcher, run)}" for run in before if id(run) not in kept)


def _text(matcher: Matcher, run: Run) -> str:
    names = matcher.automaton.names
    return " ".join(f"{names[link[STAGE]]}@{link[TIME]}" for link in path_of(run))


def _waits(matcher: Matcher, run: Run) -> str:
    return f"waits for {matcher.automaton.state_names[run[STATE]]}"
