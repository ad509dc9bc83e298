"""What an event must satisfy to be taken into a stage of a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

__all__ = [
    "AllOf",
    "AnyOf",
    "Condition",
    "IsInstance",
    "MatchSoFar",
    "OfColumns",
    "OfEvent",
    "OfMatch",
    "masks_in",
    "with_masks",
]


class MatchSoFar(Protocol):
    """What a condition may ask about the partial match that an event would be added to."""

    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The events that the partial match has for a stage, in order."""
        ...

    def timestamp(self) -> int:
        """The time of the event."""
        ...

    def current_processing_time(self) -> int:
        """What the clock says."""
        ...


class RowMasks(Protocol):
    """What was computed of an event before it was matched."""

    def is_true(self, condition: OfColumns) -> bool:
        """Whether an expression over columns is true for the event."""
        ...


class Condition(ABC):
    """A condition; one that looks at the event alone is evaluated once per event, whatever the partial matches."""

    is_iterative: bool = False
    # For an iterative condition: what it is for the first event of a match, which the event alone decides.
    at_start: OfColumns | None = None

    @property
    def name(self) -> str:
        """What it is known by; the body of a function cannot be seen."""
        return "a condition"

    @abstractmethod
    def holds(self, event: Any, match: MatchSoFar) -> bool:
        """Whether the event may be taken; a condition that is not iterative does not look at the match."""


@dataclass(frozen=True)
class OfEvent(Condition):
    """A function of the event."""

    function: Callable[[Any], Any]

    @property
    def name(self) -> str:
        return _name_of(self.function)

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        return bool(self.function(event))


@dataclass(frozen=True)
class OfMatch(Condition):
    """A function of the event and of the match so far."""

    function: Callable[[Any, MatchSoFar], Any]
    is_iterative = True

    @property
    def name(self) -> str:
        return _name_of(self.function)

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        return bool(self.function(event, match))


@dataclass(frozen=True)
class IsInstance(Condition):
    """Events of a class."""

    event_class: type

    @property
    def name(self) -> str:
        return self.event_class.__name__

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        return isinstance(event, self.event_class)


@dataclass(frozen=True, eq=False)
class OfColumns(Condition):
    """An expression over the columns of events, computed for whole batches; each is known by itself.

    What the expression is depends on the front end: syntax, until the types of the columns are known.
    """

    text: str
    expression: Any

    @property
    def name(self) -> str:
        return self.text

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        return cast(RowMasks, match).is_true(self)


@dataclass(frozen=True)
class _Combined(Condition):
    parts: tuple[Condition, ...]

    @property
    def is_iterative(self) -> bool:  # type: ignore[override]
        return any(each.is_iterative for each in self.parts)


@dataclass(frozen=True)
class AllOf(_Combined):
    """True if all conditions are."""

    @property
    def name(self) -> str:
        return " and ".join(each.name for each in self.parts)

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        return all(each.holds(event, match) for each in self.parts)


@dataclass(frozen=True)
class AnyOf(_Combined):
    """True if any of the conditions is."""

    @property
    def name(self) -> str:
        return f"({' or '.join(each.name for each in self.parts)})"

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        return any(each.holds(event, match) for each in self.parts)


def masks_in(condition: Condition) -> Iterator[OfColumns]:
    """The expressions over columns that a condition consists of."""
    if isinstance(condition, OfColumns):
        yield condition
    elif isinstance(condition, _Combined):
        for each in condition.parts:
            yield from masks_in(each)


def with_masks(condition: Condition, change: Callable[[OfColumns], Condition]) -> Condition:
    """The same condition of changed expressions over columns."""
    if isinstance(condition, OfColumns):
        return change(condition)
    if isinstance(condition, _Combined):
        return replace(condition, parts=tuple(with_masks(each, change) for each in condition.parts))
    return condition


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
