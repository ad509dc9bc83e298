"""Patterns that come with a stream: which version of each is in force at an event time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from funke.engine.errors import FunkeError, MalformedPatternError
from funke.engine.operators.patterns.automaton import Automaton
from funke.engine.operators.patterns.conditions import OfColumns
from funke.engine.operators.patterns.pattern_json import from_plain
from funke.engine.operators.patterns.runs import Matcher
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding import column_of
from funke.engine.sql.operators.column_matching import mask_bits
from funke.engine.sql.operators.stream_conditions import StreamRows, with_bound_conditions
from funke.engine.sql.parsing import parse_expression

__all__ = ["Definition", "PatternVersion", "PatternVersions", "read_definition"]

_FIELDS = ("id", "version", "from", "pattern")


@dataclass(frozen=True)
class Definition:
    """A version of a pattern, and the event time from which it is in force; without a pattern it ends the pattern."""

    id: str
    version: int
    # None: from now on.
    from_ms: int | None
    # As JSON; None: there is no such pattern any more.
    pattern: str | None


def read_definition(text: str, rows: StreamRows) -> Definition:
    """A definition from JSON; MalformedPatternError if it is none, or if its pattern does not fit the columns."""
    try:
        plain = json.loads(text)
    except (TypeError, ValueError) as error:
        raise MalformedPatternError(f"the definition of a pattern is JSON: {error}") from error
    if not isinstance(plain, dict) or any(each not in _FIELDS for each in plain):
        raise MalformedPatternError(f"the definition of a pattern is an object with the fields {', '.join(_FIELDS)}")
    name, version, from_ms, pattern = (plain.get(each) for each in _FIELDS)
    if not isinstance(name, str) or type(version) is not int or not (from_ms is None or type(from_ms) is int):
        raise MalformedPatternError(
            "the definition of a pattern needs an id (a text), a version (a number) and maybe from (milliseconds)"
        )
    if "pattern" not in plain:
        raise MalformedPatternError(f"the definition of {name!r} needs a pattern, or null to end it")
    if pattern is None:
        return Definition(name, version, from_ms, None)
    text_form = json.dumps(pattern)
    try:
        PatternVersion(name, version, text_form, rows, None)
    except FunkeError as error:
        raise MalformedPatternError(f"version {version} of pattern {name!r}: {error}") from error
    return Definition(name, version, from_ms, text_form)


class PatternVersion:
    """A version of a pattern, as it is matched."""

    def __init__(self, name: str, version: int, pattern: str, rows: StreamRows, clock: Clock | None) -> None:
        self.name, self.version = name, version
        unbound = from_plain(json.loads(pattern), lambda text: OfColumns(text, parse_expression(text)))
        if unbound.within_ms is None:
            raise MalformedPatternError("a pattern that may change needs within, after which its partial matches go")
        bound = with_bound_conditions(unbound, rows)
        automaton = Automaton(bound)
        self.matcher = Matcher(automaton) if clock is None else Matcher(automaton, clock.now_ms)
        self.bits = [
            (1 << index, column_of(each.expression))
            for index, each in enumerate(automaton.conditions)
            if isinstance(each, OfColumns)
        ]
        self.known_bits = sum(bit for bit, _ in self.bits)

    def bits_of(self, data: pa.RecordBatch) -> list[int]:
        """For each row the conditions that hold of it."""
        bits: list[int] = mask_bits(self.bits, data).tolist()
        return bits


class PatternVersions:
    """All versions that are or will be in force, in the order of their event times; plain data as state has them."""

    def __init__(self, entries: Mapping[str, list[tuple[int, int, str | None]]]) -> None:
        # For each pattern: from when on, version, JSON.
        self._entries = {name: list(versions) for name, versions in entries.items()}

    def entries_of(self, name: str) -> list[tuple[int, int, str | None]]:
        """The versions of a pattern."""
        return self._entries.get(name, [])

    def add(self, definition: Definition, watermark: int) -> bool:
        """Adds a version, unless it is not newer than the one there is."""
        entries = self._entries.get(definition.id, [])
        if entries and entries[-1][1] >= definition.version:
            return False
        now = watermark + 1
        from_ms = now if definition.from_ms is None else max(definition.from_ms, now)
        kept = [each for each in entries if each[0] < from_ms]
        self._entries[definition.id] = [*kept, (from_ms, definition.version, definition.pattern)]
        return True

    def names(self) -> Iterator[str]:
        yield from self._entries

    def changes_in(self, after_ms: int, until_ms: int) -> list[int]:
        """The event times, behind the first and not behind the second, from which on something else is in force."""
        times = {from_ms for entries in self._entries.values() for from_ms, _, _ in entries}
        return sorted(time for time in times if after_ms < time <= until_ms)

    def at(self, time_ms: int) -> dict[str, tuple[int, str]]:
        """What is in force for events of a time: version and JSON of each pattern."""
        in_force = {}
        for name, entries in self._entries.items():
            begun = [each for each in entries if each[0] <= time_ms]
            if begun and begun[-1][2] is not None:
                in_force[name] = begun[-1][1], begun[-1][2]
        return in_force

    def forget_before(self, time_ms: int) -> Iterator[str]:
        """Drops versions that later ones have replaced by a time; the names of the patterns that had some."""
        for name, entries in self._entries.items():
            begun = sum(from_ms <= time_ms for from_ms, _, _ in entries)
            if begun > 1:
                self._entries[name] = entries[begun - 1 :]
                yield name
