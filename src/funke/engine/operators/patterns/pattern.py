"""A pattern as frozen data: stages, groups of stages, quantifiers, contiguity, WITHIN, and what a match skips."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from funke.engine.operators.patterns.conditions import Condition

__all__ = [
    "Alternatives",
    "Contiguity",
    "Element",
    "Group",
    "Pattern",
    "Quantifier",
    "Skip",
    "SkipKind",
    "Stage",
    "conditions_in",
    "stages_in",
    "with_conditions",
    "with_stages",
]


class Contiguity(Enum):
    """How the events of a stage follow those before them."""

    STRICT = "next"
    RELAXED = "followed by"
    RELAXED_ANY = "followed by any"
    NOT_NEXT = "not next"
    NOT_FOLLOWED_BY = "not followed by"

    @property
    def is_negative(self) -> bool:
        """Whether the stage says what must not come."""
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED_BY)


@dataclass(frozen=True)
class Quantifier:
    """How often a stage or a group occurs; without `at_most` without an end."""

    at_least: int = 1
    at_most: int | None = 1
    is_optional: bool = False
    is_greedy: bool = False
    # How the occurrences follow each other.
    inner: Contiguity = Contiguity.RELAXED

    @property
    def is_single(self) -> bool:
        """Whether it occurs once, if at all."""
        return (self.at_least, self.at_most) == (1, 1)


@dataclass(frozen=True)
class Stage:
    """Events of one name. Without a condition every event fits."""

    name: str
    condition: Condition | None = None
    contiguity: Contiguity = Contiguity.STRICT
    quantifier: Quantifier = field(default_factory=Quantifier)
    # Ends a loop: from this event on nothing more is taken into it.
    until: Condition | None = None
    # How long after the event before it the event must come.
    within_previous_ms: int | None = None


@dataclass(frozen=True)
class Group:
    """Elements that are repeated, or left out, together."""

    elements: tuple[Element, ...]
    contiguity: Contiguity = Contiguity.STRICT
    quantifier: Quantifier = field(default_factory=Quantifier)
    until: Condition | None = None


@dataclass(frozen=True)
class Alternatives:
    """One of several sequences; an earlier one is preferred. Only alternatives of single stages may be repeated.

    A stage may be part of several sequences, as in permutations.
    """

    branches: tuple[tuple[Element, ...], ...]
    contiguity: Contiguity = Contiguity.STRICT
    quantifier: Quantifier = field(default_factory=Quantifier)
    until: Condition | None = None

    @property
    def stages(self) -> tuple[Stage, ...] | None:
        """The alternatives, if each is a single stage that occurs once."""
        single = [branch[0] for branch in self.branches if len(branch) == 1]
        stages = tuple(each for each in single if isinstance(each, Stage) and each == Stage(each.name, each.condition))
        return stages if len(stages) == len(self.branches) else None

    @property
    def is_plain(self) -> bool:
        """Whether one of them comes once."""
        return self.quantifier.is_single and not self.quantifier.is_optional


Element = Stage | Group | Alternatives


class SkipKind(Enum):
    """Which matches a match leaves out."""

    NO_SKIP = "no skip"
    TO_NEXT = "skip to next"
    PAST_LAST = "skip past last event"
    TO_FIRST = "skip to first"
    TO_LAST = "skip to last"


@dataclass(frozen=True)
class Skip:
    """What is skipped after a match; `stage` is where it goes on, for TO_FIRST and TO_LAST."""

    kind: SkipKind = SkipKind.NO_SKIP
    stage: str = ""
    # Whether a match without that stage is an error; else it skips nothing.
    fails_on_miss: bool = False


@dataclass(frozen=True)
class Pattern:
    """The elements in order. All events of a match lie less than `within_ms` behind its first one."""

    elements: tuple[Element, ...]
    within_ms: int | None = None
    skip: Skip = field(default_factory=Skip)

    @property
    def text(self) -> str:
        """The pattern in words, functions by their names: what partial matches in savepoints are partial matches of."""
        within = "" if self.within_ms is None else f" within {self.within_ms} ms"
        return f"{', '.join(map(_text, self.elements))}{within}, {self.skip.kind.value} {self.skip.stage}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all stages, in order."""
        return tuple(stage.name for stage in stages_in(self.elements))


def _text(element: Element) -> str:
    quantifier = element.quantifier
    most = "" if quantifier.at_most is None else quantifier.at_most
    parts = [element.contiguity.value]
    if isinstance(element, Stage):
        kind = "" if element.condition is None else f" where {element.condition.name}"
        limit = (
            "" if element.within_previous_ms is None else f" within {element.within_previous_ms} ms of the one before"
        )
        parts.append(f"'{element.name}'{kind}{limit}")
    elif isinstance(element, Group):
        parts.append(f"({', '.join(map(_text, element.elements))})")
    else:
        parts.append(f"({' | '.join(', '.join(map(_text, branch)) for branch in element.branches)})")
    if not quantifier.is_single:
        parts.append(f"{{{quantifier.at_least},{most}}} {quantifier.inner.value}")
    parts += ["optional"] * quantifier.is_optional + ["greedy"] * quantifier.is_greedy
    parts += [] if element.until is None else [f"until {element.until.name}"]
    return " ".join(parts)


def stages_in(elements: tuple[Element, ...]) -> Iterator[Stage]:
    """All stages, those of groups among them."""
    for each in elements:
        if isinstance(each, Group):
            yield from stages_in(each.elements)
        elif isinstance(each, Alternatives):
            yield from {stage.name: stage for branch in each.branches for stage in stages_in(branch)}.values()
        else:
            yield each


def conditions_in(elements: tuple[Element, ...]) -> Iterator[Condition]:
    """All conditions, those that end loops among them."""
    for each in elements:
        if isinstance(each, Group):
            yield from conditions_in(each.elements)
        elif isinstance(each, Alternatives):
            for branch in each.branches:
                yield from conditions_in(branch)
        elif each.condition is not None:
            yield each.condition
        if each.until is not None:
            yield each.until


def with_conditions(pattern: Pattern, change: Callable[[Condition], Condition]) -> Pattern:
    """The same pattern with changed conditions."""

    def changed(element: Element) -> Element:
        until = None if element.until is None else change(element.until)
        if isinstance(element, Group):
            return replace(element, elements=tuple(map(changed, element.elements)), until=until)
        if isinstance(element, Alternatives):
            return replace(element, branches=tuple(tuple(map(changed, each)) for each in element.branches))
        condition = None if element.condition is None else change(element.condition)
        return replace(element, condition=condition, until=until)

    return replace(pattern, elements=tuple(map(changed, pattern.elements)))


def with_stages(pattern: Pattern, change: Callable[[Stage], Stage]) -> Pattern:
    """The same pattern of changed stages."""

    def changed(element: Element) -> Element:
        if isinstance(element, Group):
            return replace(element, elements=tuple(map(changed, element.elements)))
        if isinstance(element, Alternatives):
            return replace(element, branches=tuple(tuple(map(changed, each)) for each in element.branches))
        return change(element)

    return replace(pattern, elements=tuple(map(changed, pattern.elements)))
