"""The model of a pattern: tries every way to choose events, without an automaton."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from funke.engine.operators.patterns.pattern import (
    Alternatives,
    Contiguity,
    Element,
    Group,
    Pattern,
    SkipKind,
    Stage,
    conditions_in,
)

__all__ = ["Found", "all_matches", "is_selection"]

_RELAXED, _STRICT = Contiguity.RELAXED, Contiguity.STRICT


@dataclass(frozen=True)
class Found:
    """A match: its events as (stage, index), and the index of the event, or the time, that completed it."""

    events: tuple[tuple[str, int], ...]
    completed: int

    @property
    def first(self) -> int:
        """The index of the first event."""
        return self.events[0][1]


@dataclass(frozen=True)
class _Partial:
    """The events so far, and the condition that the next one must not pass by."""

    events: tuple[tuple[str, int], ...] = ()
    # What no event up to the next one, itself included, may be.
    unwanted: tuple[Stage, ...] = ()
    not_next: Stage | None = None

    @property
    def last(self) -> int | None:
        return self.events[-1][1] if self.events else None


class _Model:
    def __init__(self, pattern: Pattern, events: Sequence[str], times: Sequence[int]) -> None:
        self._pattern, self._events, self._times = pattern, events, times
        self._first_fits = pattern.skip.kind is not SkipKind.NO_SKIP and not any(
            each.is_iterative for each in conditions_in(pattern.elements)
        )

    def matches(self) -> list[Found]:
        whole = [*self._sequence(self._pattern.elements, _Partial())]
        return [each for partial in whole for each in self._completed(partial)]

    def _completed(self, partial: _Partial) -> Iterator[Found]:
        last = partial.last
        if last is None:
            return
        if partial.not_next is not None:
            following = last + 1
            is_there = following < len(self._events) and self._is_in_time(partial, following)
            if is_there and not self._holds(partial.not_next, following):
                yield Found(partial.events, following)
            return
        if partial.unwanted and self._pattern.elements[-1].contiguity is Contiguity.NOT_FOLLOWED_BY:
            rest = [index for index in range(last + 1, len(self._events)) if self._is_in_time(partial, index)]
            if not any(self._holds(stage, index) for stage in partial.unwanted for index in rest):
                yield Found(partial.events, len(self._events))
            return
        yield Found(partial.events, last)

    def _is_in_time(self, partial: _Partial, index: int) -> bool:
        within = self._pattern.within_ms
        if within is None or not partial.events:
            return True
        return self._times[index] - self._times[partial.events[0][1]] < within

    def _fits(self, stages: tuple[Stage, ...], index: int) -> bool:
        return any(self._holds(stage, index) for stage in stages)

    def _holds(self, stage: Stage, index: int) -> bool:
        return stage.condition is None or stage.condition.holds(self._events[index], None)  # type: ignore[arg-type]

    def _sequence(self, elements: tuple[Element, ...], partial: _Partial) -> Iterator[_Partial]:
        if not elements:
            yield partial
            return
        first, rest = elements[0], elements[1:]
        for each in self._repeated(first, partial):
            each = _behind_greedy(first, each) if rest else each
            yield from self._sequence(rest, each)

    def _repeated(self, element: Element, partial: _Partial) -> Iterator[_Partial]:
        if isinstance(element, Stage) and element.contiguity is Contiguity.NOT_FOLLOWED_BY:
            yield _Partial(partial.events, (*partial.unwanted, element))
            return
        if isinstance(element, Stage) and element.contiguity is Contiguity.NOT_NEXT:
            yield _Partial(partial.events, partial.unwanted, element)
            return
        quantifier = element.quantifier
        if quantifier.is_optional:
            yield partial
        most = len(self._events) if quantifier.at_most is None else quantifier.at_most
        rounds = [*self._once(element, element.contiguity, partial)]
        count = 1
        while rounds and count <= most:
            if count >= quantifier.at_least:
                yield from rounds
            rounds = [after for before in rounds for after in self._once(element, quantifier.inner, before)]
            count += 1

    def _once(self, element: Element, contiguity: Contiguity, partial: _Partial) -> Iterator[_Partial]:
        if isinstance(element, Group):
            head, *rest = element.elements
            assert isinstance(head, Stage)
            for each in self._once(head, contiguity, partial):
                yield from self._sequence(tuple(rest), each)
            return
        if isinstance(element, Alternatives):
            yield from self._alternative(element, contiguity, partial)
            return
        for index in self._candidates((element,), contiguity, partial):
            yield _Partial((*partial.events, (element.name, index)))

    def _alternative(self, element: Alternatives, contiguity: Contiguity, partial: _Partial) -> Iterator[_Partial]:
        if element.stages is None:
            for branch in element.branches:
                for each in self._sequence(branch, partial):
                    yield _behind_greedy(branch[-1], each)
            return
        for index in self._candidates(element.stages, contiguity, partial):
            fitting = [stage for stage in element.stages if self._holds(stage, index)]
            for stage in fitting[:1] if self._first_fits else fitting:
                yield _Partial((*partial.events, (stage.name, index)))

    def _candidates(self, stages: tuple[Stage, ...], contiguity: Contiguity, partial: _Partial) -> Iterator[int]:
        last = partial.last
        if last is None:
            for index in range(len(self._events)):
                if self._fits(stages, index) and not any(self._holds(each, index) for each in partial.unwanted):
                    yield index
            return
        for index in range(last + 1, len(self._events)):
            if not self._is_in_time(partial, index) or any(self._holds(each, index) for each in partial.unwanted):
                return
            if partial.not_next is not None and index == last + 1 and self._holds(partial.not_next, index):
                return
            holds = self._fits(stages, index)
            if holds:
                yield index
            if contiguity is _STRICT or (contiguity is _RELAXED and holds):
                return


def _is_greedy(element: Element) -> bool:
    quantifier = element.quantifier
    return quantifier.is_greedy and quantifier.at_least != quantifier.at_most


def _behind_greedy(element: Element, partial: _Partial) -> _Partial:
    """What a greedy loop takes does not follow it."""
    if not _is_greedy(element):
        return partial
    stages = element.stages if isinstance(element, Alternatives) else (element,)
    return _Partial(partial.events, (*partial.unwanted, *stages))  # type: ignore[arg-type, misc]


def all_matches(pattern: Pattern, events: Sequence[str], times: Sequence[int]) -> list[Found]:
    """All matches in events, which are in the order of time, as if none was skipped."""
    return _Model(pattern, events, times).matches()


def is_selection(pattern: Pattern, every: Sequence[Found], emitted: Sequence[tuple[tuple[str, int], ...]]) -> bool:
    """Whether these are what a skip strategy leaves of all matches.

    The first match is that which began first; then what it skips is left out. Of several that began with the same event
    any may come first: Flink's queue of waiting matches, a heap, knows no other order.
    """
    left = list(every)
    for events in emitted:
        if not left:
            return False
        first = min(each.first for each in left)
        chosen = [each for each in left if each.first == first and each.events == events]
        if not chosen:
            return False
        left.remove(chosen[0])
        until = _skipped_until(pattern, events)
        left = [each for each in left if each.first >= until]
    return not left


def _skipped_until(pattern: Pattern, events: tuple[tuple[str, int], ...]) -> int:
    kind, stage = pattern.skip.kind, pattern.skip.stage
    if kind is SkipKind.TO_NEXT:
        return events[0][1] + 1
    if kind is SkipKind.PAST_LAST:
        return events[-1][1] + 1
    indexes = [index for name, index in events if name == stage]
    if not indexes:
        return -1
    return indexes[0] if kind is SkipKind.TO_FIRST else indexes[-1]
