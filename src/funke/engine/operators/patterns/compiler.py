"""From a pattern to the states of its automaton.

States are made from the last stage to the first, each with edges to states that exist already. An edge takes the
event, ignores it, or proceeds: the event is looked at again in the target state. The condition of an edge is a set of
bits that must be set and one of bits that must not; a bit stands for a condition of the pattern, or for several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from funke.engine.errors import MalformedPatternError, UnsupportedFeatureError
from funke.engine.operators.patterns.conditions import Condition
from funke.engine.operators.patterns.pattern import (
    Alternatives,
    Contiguity,
    Element,
    Group,
    Pattern,
    Quantifier,
    SkipKind,
    Stage,
    conditions_in,
    stages_in,
)

__all__ = [
    "FALSE",
    "TRUE",
    "Action",
    "Edge",
    "Kind",
    "State",
    "StateGraph",
    "Term",
    "compile_pattern",
    "ends_greedy",
]


class Term(NamedTuple):
    """True if all bits of `needed` are set, and none of `excluded`."""

    needed: int
    excluded: int

    def holds(self, bits: int) -> bool:
        """Whether it is true for an event."""
        return bits & self.needed == self.needed and not bits & self.excluded


TRUE = Term(0, 0)
FALSE = Term(1 << 62, 1 << 62)


class Action(Enum):
    """What an edge does with the event."""

    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"


class Kind(Enum):
    """What a state stands for."""

    NORMAL = "normal"
    FINAL = "final"
    # The partial match is over: something came that must not.
    STOP = "stop"
    # A match, if nothing that must not come does so in time.
    PENDING = "pending"


@dataclass
class Edge:
    """What happens if the term is true."""

    action: Action
    target: State
    term: Term


@dataclass(eq=False)
class State:
    """A state; `stage` is the index of its name, -1 if it takes no event itself."""

    number: int
    stage: int
    kind: Kind = Kind.NORMAL
    edges: list[Edge] = field(default_factory=list)
    within_previous_ms: int | None = None
    # What a state without a stage is called, if it has a name.
    label: str = ""

    def add(self, action: Action, target: State, term: Term) -> None:
        """Adds an edge, unless it can never be used."""
        if term != FALSE:
            self.edges.append(Edge(action, target, term))


@dataclass(frozen=True)
class StateGraph:
    """The automaton: its start, all states, and what the bits stand for."""

    start: State
    states: tuple[State, ...]
    names: tuple[str, ...]
    conditions: tuple[Condition, ...]
    # Bits behind those of the conditions: each is set if its term is true.
    derived: tuple[Term, ...]

    def waits_for(self, state: State) -> str:
        """What partial matches in a state wait for."""
        if state.kind is Kind.PENDING:
            return "end of time"
        return self.names[state.stage] if state.stage >= 0 else state.label or "group"

    def can_match_nothing(self) -> bool:
        """Whether the final state can be reached without an event."""
        stack, seen = [self.start], {self.start}
        while stack:
            state = stack.pop()
            if state.kind is Kind.FINAL:
                return True
            for edge in state.edges:
                if edge.action is Action.PROCEED and edge.target not in seen:
                    seen.add(edge.target)
                    stack.append(edge.target)
        return False


def compile_pattern(pattern: Pattern) -> StateGraph:
    """The automaton of a pattern; MalformedPatternError if there is none."""
    return _Compiler(pattern).graph()


@dataclass(frozen=True)
class _Here:
    """An element among its siblings, in a group or not."""

    elements: tuple[Element, ...]
    index: int
    group: Group | None
    # Whether the states are those of the first round of the group.
    is_first_round: bool
    # Whether the group may be left in front of its first element.
    may_leave: bool
    following: Element | None

    @property
    def element(self) -> Element:
        return self.elements[self.index]

    @property
    def is_head_of_group(self) -> bool:
        return self.group is not None and self.index == 0


class _Compiler:
    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._names = pattern.names
        for each in pattern.elements:
            _check_head(each)
        _check_alternatives(pattern.elements)
        self._states: list[State] = []
        self._stops: dict[str, State] = {}
        self._conditions: list[Condition] = []
        self._derived: list[Term] = []
        # The copies of sinks that are reached when a greedy loop ends by UNTIL.
        self._sinks_after_until: dict[State, State] = {}
        # Permutations have the same rest behind many of their beginnings.
        self._heads: dict[tuple[Alternatives, State], State] = {}
        # Whether of several alternatives that fit only the first one has to be followed: the same comes behind all of
        # them, and only one match of those that begin together counts.
        self._first_fits = pattern.skip.kind is not SkipKind.NO_SKIP and not any(
            each.is_iterative for each in conditions_in(pattern.elements)
        )
        if len(set(self._names)) < len(self._names):
            repeated = next(name for name in self._names if self._names.count(name) > 1)
            raise MalformedPatternError(f"Duplicate pattern name: {repeated}. Pattern names must be unique.")

    def graph(self) -> StateGraph:
        pattern = self._pattern
        last = pattern.elements[-1]
        if last.contiguity is Contiguity.NOT_FOLLOWED_BY and not pattern.within_ms:
            raise MalformedPatternError(
                "NotFollowedBy is not supported without windowTime as a last part of a Pattern!"
            )
        final = self._state(-1, Kind.FINAL)
        start = self._chain(pattern.elements, None, True, False, None, final)
        # Derived bits follow those of the conditions, whose number is known now.
        first = len(self._conditions)
        moved = {_DERIVED + index: first + index for index in range(len(self._derived))}
        for state in self._states:
            for edge in state.edges:
                edge.term = _moved(edge.term, moved)
        derived = tuple(_moved(each, moved) for each in self._derived)
        return StateGraph(start, tuple(self._states), self._names, tuple(self._conditions), derived)

    # Terms

    def _bit(self, condition: Condition) -> int:
        for index, each in enumerate(self._conditions):
            if each is condition:
                return index
        self._conditions.append(condition)
        return len(self._conditions) - 1

    def _term(self, condition: Condition | None) -> Term:
        return TRUE if condition is None else Term(1 << self._bit(condition), 0)

    def _not(self, term: Term) -> Term:
        if term in (TRUE, FALSE):
            return FALSE if term == TRUE else TRUE
        bits = term.needed | term.excluded
        if bits & (bits - 1) == 0:
            return Term(term.excluded, term.needed)
        if term not in self._derived:
            self._derived.append(term)
        return Term(0, 1 << _DERIVED + self._derived.index(term))

    def _without_until(self, term: Term, until: Condition | None) -> Term:
        return term if until is None else _and(self._not(self._term(until)), term)

    def _true(self, here: _Here) -> Term:
        return self._without_until(TRUE, None if here.group is None else here.group.until)

    def _take(self, here: _Here, element: Element | None = None) -> Term:
        fits = self._fits(here.element if element is None else element)
        return self._without_until(fits, None if here.group is None else here.group.until)

    def _fits(self, element: Element) -> Term:
        """Which events may be the first ones of an element."""
        if isinstance(element, Stage):
            return self._term(element.condition)
        stages = element.stages if isinstance(element, Alternatives) else None
        if not stages or any(each.condition is None for each in stages):
            return TRUE
        # Not none of them.
        return self._not(Term(0, self._bits_of(stages)))

    def _bits_of(self, stages: tuple[Stage, ...]) -> int:
        bits = 0
        for each in stages:
            bits |= self._term(each.condition).needed
        return bits

    def _ignore(self, here: _Here, is_inner: bool) -> Term | None:
        """When an event may lie in front of one of this element, or between two of them; None: never."""
        element = here.element
        quantifier, contiguity = element.quantifier, element.contiguity
        if here.is_head_of_group:
            assert here.group is not None
            is_inner = is_inner or not here.is_first_round
            quantifier, contiguity = here.group.quantifier, here.group.contiguity
        followed = quantifier.inner if is_inner else contiguity
        if followed is Contiguity.STRICT:
            return None
        term = TRUE if followed is Contiguity.RELAXED_ANY else self._not(self._fits(element))
        return self._without_until(term, None if here.group is None else here.group.until)

    # States

    def _state(self, stage: int, kind: Kind = Kind.NORMAL, within_previous_ms: int | None = None) -> State:
        state = State(len(self._states), stage, kind, within_previous_ms=within_previous_ms)
        self._states.append(state)
        return state

    def _stage_state(self, element: Element) -> State:
        if isinstance(element, Group):
            return self._state(-1)
        if isinstance(element, Alternatives):
            state = self._state(-1)
            state.label = " | ".join(each.name for each in stages_in((element,)))
            return state
        return self._state(self._names.index(element.name), within_previous_ms=element.within_previous_ms)

    def _stop(self, term: Term, name: str) -> State:
        if name not in self._stops:
            stop = self._stops[name] = self._state(-1, Kind.STOP)
            stop.add(Action.TAKE, stop, term)
        return self._stops[name]

    def _copy(self, state: State) -> State:
        copy = self._state(state.stage, state.kind, state.within_previous_ms)
        copy.label = state.label
        for edge in state.edges:
            copy.add(edge.action, copy if edge.target is state else edge.target, edge.term)
        return copy

    def _chain(
        self,
        elements: tuple[Element, ...],
        group: Group | None,
        is_first_round: bool,
        may_leave: bool,
        following: Element | None,
        sink: State,
    ) -> State:
        """The states of elements, one behind the other; the first of them."""
        for index in range(len(elements) - 1, -1, -1):
            here = _Here(elements, index, group, is_first_round, may_leave, following)
            following = here.element
            if index and following.contiguity is Contiguity.NOT_FOLLOWED_BY:
                sink = self._not_followed_by(here, sink)
            elif index and following.contiguity is Contiguity.NOT_NEXT:
                sink = self._not_next(here, sink)
            else:
                sink = self._element(here, sink)
        return sink

    def _not_followed_by(self, here: _Here, sink: State) -> State:
        # In the middle of a pattern it is a condition of the states behind it.
        if sink.kind is not Kind.FINAL:
            return sink
        assert isinstance(here.element, Stage)
        term = self._take(here)
        waiting = self._state(-1, Kind.PENDING)
        waiting.add(Action.PROCEED, self._stop(term, here.element.name), term)
        waiting.add(Action.IGNORE, waiting, self._not(term))
        return waiting

    def _not_next(self, here: _Here, sink: State) -> State:
        assert isinstance(here.element, Stage)
        term = self._take(here)
        state = self._stage_state(here.element)
        # Not by a proceed edge: the match would be complete before the event has come.
        action = Action.IGNORE if sink.kind is Kind.FINAL else Action.PROCEED
        state.add(action, sink, self._not(term))
        state.add(Action.PROCEED, self._stop(term, here.element.name), term)
        return state

    def _element(self, here: _Here, sink: State) -> State:
        if isinstance(here.element, Alternatives) and here.element.stages is None:
            return self._branches(here.element, sink)
        quantifier = here.element.quantifier
        if quantifier.is_greedy and sink in self._heads.values():
            # A greedy loop changes what follows it, here for itself alone.
            sink = self._copy(sink)
        if quantifier.at_most is None:
            looping = self._looping(here, self._without_nots(here, sink))
            state = self._times(here, looping, sink, replace(quantifier, at_most=quantifier.at_least))
        elif quantifier.is_single:
            state = self._once(
                here, sink, sink, self._take(here), self._ignore(here, False), self._has_way_on(here), True
            )
        else:
            state = self._times(here, sink, sink, quantifier)
        self._add_stops(here, state)
        return state

    def _branches(self, element: Alternatives, sink: State) -> State:
        """The state in front of sequences of which one is to come."""
        if (element, sink) not in self._heads:
            # As above: what follows a greedy loop follows other sequences too.
            sinks = [self._copy(sink) if ends_greedy(branch[-1]) else sink for branch in element.branches]
            heads = [self._chain(branch, None, True, False, None, own) for branch, own in zip(element.branches, sinks)]
            self._heads[element, sink] = state = self._stage_state(element)
            for head in reversed(heads):
                state.add(Action.PROCEED, head, TRUE)
        return self._heads[element, sink]

    def _add_takes(self, element: Element, state: State, target: State, take: Term) -> None:
        """The edges of a state that take an event."""
        if not isinstance(element, Alternatives):
            state.add(Action.TAKE, target, take)
            return
        leaves: list[State] = []
        earlier: list[Term] = []
        for stage in element.stages or ():
            term = self._term(stage.condition)
            if self._first_fits:
                for each in earlier:
                    term = _and(term, self._not(each))
                earlier.append(self._term(stage.condition))
            leaves.append(self._stage_state(stage))
            leaves[-1].add(Action.TAKE, target, term)
        for leaf in reversed(leaves):
            # Edges are used from the last one to the first.
            state.add(Action.PROCEED, leaf, TRUE)

    @staticmethod
    def _has_way_on(here: _Here) -> bool:
        """Whether the element may be left out, or the group that it is the first of."""
        # In Flink a group that has begun its last round may still be left, once for each event that is ignored.
        return here.may_leave if here.is_head_of_group else here.element.quantifier.is_optional

    def _nots_before(self, here: _Here) -> list[tuple[Term, str]]:
        """What must not come before this element: the nots in front of it, beyond elements that may be left out."""
        nots = []
        for element in reversed(here.elements[: here.index]):
            is_not = element.contiguity is Contiguity.NOT_FOLLOWED_BY
            if not is_not and not element.quantifier.is_optional:
                break
            if is_not:
                assert isinstance(element, Stage)
                nots.append((self._take(here, element), element.name))
        return nots

    def _add_stops(self, here: _Here, state: State) -> None:
        for term, name in self._nots_before(here):
            state.add(Action.PROCEED, self._stop(term, name), term)

    def _add_stop_of_following(self, here: _Here, state: State) -> None:
        """Events of a loop may be followed by what must not come."""
        following = here.following
        if isinstance(following, Stage) and following.contiguity is Contiguity.NOT_FOLLOWED_BY:
            term = self._take(here, following)
            state.add(Action.PROCEED, self._stop(term, following.name), term)

    def _without_nots(self, here: _Here, sink: State) -> State:
        """The sink as it is once an event of this optional element was taken: nots before it do not count any more."""
        names = [name for _, name in self._nots_before(here)]
        if not names or not here.element.quantifier.is_optional:
            return sink
        stops = [self._stops[name] for name in names if name in self._stops]
        return self._copy_without(sink, stops)

    def _copy_without(self, state: State, stops: Sequence[State]) -> State:
        copy = self._state(state.stage, state.kind, state.within_previous_ms)
        copy.label = state.label
        for edge in state.edges:
            if edge.action is not Action.PROCEED:
                copy.add(edge.action, copy if edge.target is state else edge.target, edge.term)
            elif edge.target.kind is not Kind.STOP:
                copy.add(edge.action, self._copy_without(edge.target, stops), edge.term)
            elif edge.target not in stops:
                copy.add(edge.action, edge.target, edge.term)
        return copy

    def _times(self, here: _Here, sink: State, proceeds_to: State, quantifier: Quantifier) -> State:
        """A state for each occurrence; those beyond the least number may proceed."""
        assert quantifier.at_most is not None
        until = here.element.until
        take = self._without_until(self._take(here), until)
        inner = self._ignore(here, True)
        inner = None if inner is None else self._without_until(inner, until)
        if quantifier.is_greedy and quantifier.at_least != quantifier.at_most:
            if until is not None:
                self._sinks_after_until[sink] = self._copy(sink)
            self._make_greedy(sink, take)
        last = sink
        for _ in range(quantifier.at_least, quantifier.at_most):
            last = self._once(here, last, proceeds_to, take, inner, True, False)
            self._add_stop_of_following(here, last)
        for _ in range(quantifier.at_least - 1):
            last = self._once(here, last, None, take, inner, False, False)
            self._add_stop_of_following(here, last)
        return self._once(here, last, proceeds_to, take, self._ignore(here, False), self._has_way_on(here), True)

    def _once(
        self,
        here: _Here,
        sink: State,
        proceeds_to: State | None,
        take: Term,
        ignore: Term | None,
        is_optional: bool,
        is_first_round: bool,
    ) -> State:
        """The state of one occurrence."""
        element = here.element
        if isinstance(element, Group):
            first = self._chain(element.elements, element, is_first_round, is_optional, here.following, sink)
            if is_optional:
                assert proceeds_to is not None
                first.add(Action.PROCEED, proceeds_to, self._true(replace(here, group=element)))
            return first
        state = self._stage_state(element)
        sink = self._without_nots(here, sink)
        self._add_takes(element, state, sink, take)
        # The head of a group gets its edge when all states of the group are there.
        if is_optional and not here.is_head_of_group:
            assert proceeds_to is not None
            self._add_way_on(here, state, proceeds_to)
        if ignore is not None:
            ignoring = state
            if is_optional:
                # Without a way on, so that every way on branches off once.
                ignoring = self._stage_state(element)
                self._add_takes(element, ignoring, sink, take)
                ignoring.add(Action.IGNORE, ignoring, ignore)
                self._add_stops(here, ignoring)
            state.add(Action.IGNORE, ignoring, ignore)
        return state

    def _add_way_on(self, here: _Here, state: State, target: State) -> None:
        true, until = self._true(here), here.element.until
        if not here.element.quantifier.is_greedy or until is None:
            state.add(Action.PROCEED, target, true)
            return
        ended = self._term(until)
        state.add(Action.PROCEED, self._sinks_after_until.get(target, target), _and(true, ended))
        state.add(Action.PROCEED, target, _and(true, self._not(ended)))

    def _looping(self, here: _Here, sink: State) -> State:
        element = here.element
        if isinstance(element, Group):
            # Behind the last element of a round the group begins anew, or ends.
            again = self._state(-1)
            first = self._chain(element.elements, element, False, True, here.following, again)
            first.add(Action.PROCEED, sink, self._true(replace(here, group=element)))
            again.add(Action.PROCEED, first, self._true(replace(here, group=element)))
            return first
        until = element.until
        inner = self._ignore(here, True)
        ignore = None if inner is None else self._without_until(inner, until)
        take = self._without_until(self._take(here), until)
        state = self._stage_state(element)
        if element.quantifier.is_greedy:
            if until is not None:
                self._sinks_after_until[sink] = self._copy(sink)
            self._add_way_on(here, state, sink)
            self._make_greedy(sink, self._take(here))
        else:
            state.add(Action.PROCEED, sink, self._true(here))
        self._add_takes(element, state, state, take)
        self._add_stop_of_following(here, state)
        if ignore is not None:
            ignoring = self._stage_state(element)
            self._add_takes(element, ignoring, state, take)
            ignoring.add(Action.IGNORE, ignoring, ignore)
            state.add(Action.IGNORE, ignoring, ignore)
            self._add_stop_of_following(here, ignoring)
        return state

    def _make_greedy(self, sink: State, take: Term) -> None:
        """What follows a greedy loop takes no event that the loop takes."""
        not_taken = self._not(take)
        for edge in sink.edges:
            edge.term = _and(edge.term, not_taken)


def _check_alternatives(elements: tuple[Element, ...]) -> None:
    """Beside alternatives there is only what MATCH_RECOGNIZE has."""
    alternatives = list(_alternatives_in(elements))
    if any(
        each.stages is None and (not each.is_plain or each.contiguity is not Contiguity.STRICT) for each in alternatives
    ):
        raise UnsupportedFeatureError("alternatives that are sequences, repeated or with events in front of them")
    stages = list(stages_in(elements)) if alternatives else []
    if any(each.contiguity.is_negative or each.within_previous_ms is not None for each in stages) or (
        alternatives and _has_until(elements)
    ):
        raise UnsupportedFeatureError(
            "alternatives in a pattern with events that must not come, with until, or with times between events"
        )


def _alternatives_in(elements: tuple[Element, ...]) -> Iterator[Alternatives]:
    for each in elements:
        if isinstance(each, Alternatives):
            yield each
            for branch in each.branches:
                yield from _alternatives_in(branch)
        elif isinstance(each, Group):
            yield from _alternatives_in(each.elements)


def _has_until(elements: tuple[Element, ...]) -> bool:
    return any(
        each.until is not None
        or (isinstance(each, Group) and _has_until(each.elements))
        or (isinstance(each, Alternatives) and any(map(_has_until, each.branches)))
        for each in elements
    )


def ends_greedy(element: Element) -> bool:
    """Whether it may end with a greedy loop."""
    if isinstance(element, Alternatives):
        return element.quantifier.is_greedy or any(ends_greedy(branch[-1]) for branch in element.branches)
    return element.quantifier.is_greedy


# Derived bits are numbered from here until the number of conditions is known.
_DERIVED = 64


def _check_head(element: Element) -> None:
    if isinstance(element, Alternatives):
        for branch in element.branches:
            for each in branch:
                _check_head(each)
    if not isinstance(element, Group):
        return
    head = element.elements[0]
    if not isinstance(head, Stage):
        raise UnsupportedFeatureError("a group of patterns that begins with a group or with alternatives")
    if head.quantifier.is_optional:
        raise UnsupportedFeatureError("a group of patterns that begins with an optional one", "make the group optional")
    for each in element.elements[1:]:
        _check_head(each)


def _and(first: Term, second: Term) -> Term:
    if FALSE in (first, second):
        return FALSE
    term = Term(first.needed | second.needed, first.excluded | second.excluded)
    return FALSE if term.needed & term.excluded else term


def _moved(term: Term, moves: dict[int, int]) -> Term:
    if term == FALSE:
        return term
    needed, excluded = (
        sum(1 << moves.get(bit, bit) for bit in range(bits.bit_length()) if bits >> bit & 1) for bits in term
    )
    return Term(needed, excluded)
