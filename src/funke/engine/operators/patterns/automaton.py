"""What the automaton of a pattern does with an event in a state: decided once for each set of conditions that hold."""

from __future__ import annotations

from typing import NamedTuple

from funke.engine.errors import MalformedPatternError
from funke.engine.operators.patterns.compiler import Action, Edge, Kind, State, compile_pattern
from funke.engine.operators.patterns.conditions import Condition
from funke.engine.operators.patterns.pattern import Alternatives, Element, Group, Pattern, Stage

__all__ = ["FINAL", "IGNORED", "NOWHERE", "Automaton", "Step"]

# In place of a stage: the event is not taken.
IGNORED = -1
# In place of a state: the partial match has become a match, or there is no further one.
FINAL = NOWHERE = -1


class Step(NamedTuple):
    """What a partial match becomes: the stage that takes the event, the next state, and whether it is a match too."""

    stage: int
    state: int
    is_match: bool


class Automaton:
    """The states by number, and what happens in them. The start state is never a partial match's."""

    def __init__(self, pattern: Pattern) -> None:
        graph = compile_pattern(pattern)
        self.pattern = pattern
        self.names = graph.names
        self.conditions: tuple[Condition, ...] = graph.conditions
        self.start = graph.start.number
        self.can_match_nothing = graph.can_match_nothing()
        self._derived = graph.derived
        self._states = graph.states
        self.within_ms = pattern.within_ms
        self.within_previous_ms = [each.within_previous_ms for each in graph.states]
        # Whether partial matches are over at some time.
        self.expires = bool(self.within_ms) or any(each is not None for each in self.within_previous_ms)
        self.is_pending = [each.kind is Kind.PENDING for each in graph.states]
        # The conditions that each state looks at, as bits.
        self.looks_at = [self._looks_at(each) for each in graph.states]
        self.iterative = sum(1 << index for index, each in enumerate(self.conditions) if each.is_iterative)
        # For people: the stage that each state waits for, none in those that no partial match is ever in, and the
        # stage of each condition.
        self.state_names = [
            graph.waits_for(each) if each.kind in (Kind.NORMAL, Kind.PENDING) and each is not graph.start else ""
            for each in graph.states
        ]
        self.condition_names = [_name_of(each, pattern.elements) for each in graph.conditions]
        self._decisions: dict[tuple[int, int], tuple[Step, ...]] = {}
        # Decisions that leave the partial match as it is.
        self.stays = [(Step(IGNORED, number, False),) for number in range(len(graph.states))]
        if graph.start.kind is not Kind.NORMAL:
            raise MalformedPatternError("a pattern begins with what must come")

    def steps(self, state: int, bits: int) -> tuple[Step, ...]:
        """What an event with these conditions makes of a partial match; of those the state looks at."""
        decision = self._decisions.get((state, bits))
        if decision is None:
            decision = self._decide(self._states[state], self._with_derived(bits))
            if decision == self.stays[state]:
                decision = self.stays[state]
            self._decisions[state, bits] = decision
        return decision

    def idle_bits(self, bits: int) -> bool:
        """Whether an event with these conditions changes nothing, whatever waits."""
        if self.steps(self.start, bits & self.looks_at[self.start]):
            return False
        return all(
            self.steps(number, bits & self.looks_at[number]) is self.stays[number]
            for number in range(len(self._states))
            if self._states[number].kind in (Kind.NORMAL, Kind.PENDING) and number != self.start
        )

    def _with_derived(self, bits: int) -> int:
        for index, term in enumerate(self._derived, len(self.conditions)):
            if term.holds(bits):
                bits |= 1 << index
        return bits

    def _looks_at(self, state: State) -> int:
        """The conditions of all edges that an event may use in a state."""
        mask, stack, seen = 0, [state], {state}
        while stack:
            for edge in stack.pop().edges:
                mask |= edge.term.needed | edge.term.excluded
                if edge.action is Action.TAKE:
                    # On the way from there to the final state the event is looked at once more.
                    mask |= self._on_the_way(edge.target)
                elif edge.action is Action.PROCEED and edge.target not in seen:
                    seen.add(edge.target)
                    stack.append(edge.target)
        count = len(self.conditions)
        for index, term in enumerate(self._derived, count):
            if mask >> index & 1:
                mask |= term.needed | term.excluded
        return mask & ((1 << count) - 1)

    def _on_the_way(self, state: State) -> int:
        mask = 0
        for edge in state.edges:
            if edge.action is Action.PROCEED:
                mask |= edge.term.needed | edge.term.excluded | self._on_the_way(edge.target)
        return mask

    def _decide(self, state: State, bits: int) -> tuple[Step, ...]:
        steps: list[Step] = []
        is_over = False
        for source, edge in self._edges(state, bits):
            if edge.action is Action.IGNORE and state.number == self.start:
                continue
            stage = source.stage if edge.action is Action.TAKE else IGNORED
            kind = edge.target.kind
            if kind is Kind.STOP:
                is_over = True
            elif kind is Kind.FINAL:
                steps.append(Step(stage, FINAL, True))
            else:
                is_match = edge.action is Action.TAKE and self._is_complete(edge.target, bits)
                steps.append(Step(stage, edge.target.number, is_match))
        if is_over:
            # Matches that are complete stay complete.
            return tuple(Step(each.stage, NOWHERE, True) for each in steps if each.is_match)
        return tuple(steps)

    def _edges(self, state: State, bits: int) -> list[tuple[State, Edge]]:
        """The edges that an event takes, in Flink's order: that of the states, the last one first."""
        stack, edges = [state], []
        while stack:
            current = stack.pop()
            for edge in current.edges:
                if not edge.term.holds(bits):
                    continue
                if edge.action is Action.PROCEED:
                    stack.append(edge.target)
                else:
                    edges.append((current, edge))
        return edges

    def _is_complete(self, state: State, bits: int) -> bool:
        stack = [state]
        while stack:
            for edge in stack.pop().edges:
                if edge.action is Action.PROCEED and edge.term.holds(bits):
                    if edge.target.kind is Kind.FINAL:
                        return True
                    stack.append(edge.target)
        return False


def _name_of(condition: Condition, elements: tuple[Element, ...]) -> str:
    """The stage whose condition it is, or `until` behind the stage whose loop it ends."""
    for each in elements:
        if isinstance(each, Group):
            name = _name_of(condition, each.elements)
            if name:
                return name
        elif isinstance(each, Alternatives):
            name = next(filter(None, (_name_of(condition, branch) for branch in each.branches)), "")
            if name:
                return name
        elif each.condition is condition:
            return each.name
        if each.until is condition:
            return f"{each.name}.until" if isinstance(each, Stage) else "group.until"
    return ""
