"""The automaton of a pattern for people: its states, and what an event does in each of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from funke.engine.operators.patterns.compiler import Action, Edge, Kind, State, StateGraph, Term, compile_pattern
from funke.engine.operators.patterns.pattern import Pattern

__all__ = ["ShownState", "ShownWay", "picture", "shown_states"]


@dataclass(frozen=True)
class ShownWay:
    """What a state does with an event, and the name of the state behind it."""

    text: str
    target: str


@dataclass(frozen=True)
class ShownState:
    """A state; `waits_for` is what metrics call the partial matches that wait in it, empty if none ever does."""

    name: str
    waits_for: str
    ways: tuple[ShownWay, ...]
    within_previous_ms: int | None = None


def picture(pattern: Pattern) -> str:
    """A block of lines for each state, the first one first.

    >>> from funke.engine.operators.patterns.conditions import OfColumns
    >>> from funke.engine.operators.patterns.pattern import Contiguity, Stage
    >>> small, large = (OfColumns(text, None) for text in ("amount < 1", "amount > 500"))
    >>> print(picture(Pattern((Stage("small", small), Stage("large", large, Contiguity.RELAXED)))))
    small
      takes the event if amount < 1 -> large
    large
      takes the event if amount > 500 -> match
      ignores the event if not (amount > 500) -> large
    """
    return "\n".join(line for state in shown_states(pattern) for line in _lines(state))


def shown_states(pattern: Pattern) -> tuple[ShownState, ...]:
    """The states, the first one first."""
    graph = compile_pattern(pattern)
    names = _names(graph)
    return tuple(_view_of(graph, state, names) for state in _reached(graph))


def _names(graph: StateGraph) -> dict[State, str]:
    """The name of each state: that of its stage, numbered if a stage has several."""
    names: dict[State, str] = {}
    seen: Counter[str] = Counter()
    for state in _reached(graph, with_ends=True):
        fixed = {Kind.FINAL: "match", Kind.STOP: "no match"}.get(state.kind)
        stage = graph.names[state.stage] if state.stage >= 0 else state.label or "a group"
        name = "end of the time" if state.kind is Kind.PENDING else stage
        if fixed is None:
            seen[name] += 1
        names[state] = fixed or (name if seen[name] == 1 else f"{name} {seen[name]}")
    return names


def _reached(graph: StateGraph, with_ends: bool = False) -> list[State]:
    """The states in the order in which events may lead to them."""
    states, index = [graph.start], 0
    while index < len(states):
        states += [edge.target for edge in _edges(graph, states[index]) if edge.target not in states]
        # A state may be the target of several edges.
        states = list(dict.fromkeys(states))
        index += 1
    return [each for each in states if with_ends or each.kind in (Kind.NORMAL, Kind.PENDING)]


def _edges(graph: StateGraph, state: State) -> list[Edge]:
    # What the first event ignores is not part of any match.
    return [each for each in state.edges if each.action is not Action.IGNORE or state is not graph.start]


def _view_of(graph: StateGraph, state: State, names: dict[State, str]) -> ShownState:
    verbs = {Action.TAKE: "takes the event", Action.IGNORE: "ignores the event", Action.PROCEED: "looks on"}
    ways = []
    for edge in _edges(graph, state):
        term = _term_text(graph, edge.term)
        ways.append(ShownWay(f"{verbs[edge.action]}{f' if {term}' if term else ''}", names[edge.target]))
    waits_for = "" if state is graph.start else graph.waits_for(state)
    return ShownState(names[state], waits_for, tuple(ways), state.within_previous_ms)


def _lines(state: ShownState) -> list[str]:
    lines = [state.name, *(f"  {way.text} -> {way.target}" for way in state.ways)]
    if state.within_previous_ms is not None:
        lines.append(f"  within {state.within_previous_ms} ms of the event before")
    return lines


def _term_text(graph: StateGraph, term: Term) -> str:
    parts = [_bit_text(graph, bit) for bit in _bits(term.needed)]
    parts += [f"not {_within_parentheses(_bit_text(graph, bit))}" for bit in _bits(term.excluded)]
    return " and ".join(parts)


def _bit_text(graph: StateGraph, bit: int) -> str:
    count = len(graph.conditions)
    return graph.conditions[bit].name if bit < count else f"({_term_text(graph, graph.derived[bit - count])})"


def _within_parentheses(text: str) -> str:
    return text if text.startswith("(") and text.endswith(")") else f"({text})"


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
