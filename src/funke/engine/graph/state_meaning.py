"""What the state of an operator means: compared when a job starts from a savepoint, before any slot reads state.

A meaning has facts, which must be the same, and lists of parts (accumulators, columns), which may stand in another
order, and of which some may be missing: what state has for them is moved, or left out. Nothing is ever guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import StateError
from funke.engine.graph.operations import ColumnOperator, MatchPattern, Operation

__all__ = ["MeaningPart", "PartMoves", "StateMeaning", "StateMoves", "meaning_of", "moves_between", "pattern_meaning"]

_VERSION = 1
# Longer texts are cut in errors; savepoints have the whole.
_LONGEST = 300


@dataclass(frozen=True)
class MeaningPart:
    """What an entry of state has `width` fields for."""

    text: str
    width: int = 1
    # Of a set of values that several calls share: the calls, in the order of their bits.
    members: tuple[str, ...] = ()
    # Whether it says nothing beyond that there is an entry, so that it can be made anew (of zeros).
    is_filler: bool = False


@dataclass(frozen=True)
class StateMeaning:
    """The meaning of an operator's state; names and texts are for people too: errors show them."""

    kind: str
    facts: tuple[tuple[str, str], ...] = ()
    lists: tuple[tuple[str, tuple[MeaningPart, ...]], ...] = ()
    # Which rows have come, and from where. Others may come from now on; but where state could be that of two operators,
    # they tell.
    rows: str = ""
    sources: str = ""

    def to_text(self) -> str:
        """As savepoints have it."""
        parts = {name: [_to_plain(each) for each in own] for name, own in self.lists}
        plain = {
            "version": _VERSION,
            "state": self.kind,
            "facts": dict(self.facts),
            "parts": parts,
            "rows": self.rows,
            "sources": self.sources,
        }
        return json.dumps(plain)

    @staticmethod
    def from_text(text: str) -> StateMeaning:
        """What `to_text` gave; StateError if a later version did."""
        plain = json.loads(text)
        if plain["version"] != _VERSION:
            raise StateError(
                f"the savepoint describes its state in version {plain['version']}, and this version of Funke knows "
                f"version {_VERSION}"
            )
        lists = tuple((name, tuple(map(_from_plain, own))) for name, own in plain["parts"].items())
        return StateMeaning(plain["state"], tuple(plain["facts"].items()), lists, plain["rows"], plain["sources"])


def meaning_of(operation: Operation) -> StateMeaning | None:
    """What the state of an operation means, if it says so."""
    if isinstance(operation, MatchPattern):
        return pattern_meaning(operation.pattern.text, operation.is_event_time)
    return operation.meaning if isinstance(operation, ColumnOperator) else None


def pattern_meaning(text: str, is_event_time: bool) -> StateMeaning:
    """What the partial matches of a pattern are partial matches of."""
    time = "event time" if is_event_time else "processing time"
    return StateMeaning("a pattern of events", (("the pattern", text), ("the time", time)))


def _to_plain(part: MeaningPart) -> dict[str, Any]:
    plain: dict[str, Any] = {"text": part.text, "width": part.width}
    if part.members:
        plain["members"] = list(part.members)
    if part.is_filler:
        plain["is_filler"] = True
    return plain


def _from_plain(plain: dict[str, Any]) -> MeaningPart:
    return MeaningPart(**{**plain, "members": tuple(plain.get("members", ()))})


@dataclass(frozen=True)
class _PartMove:
    """Where a part was: its place among the parts, its first field, and the bits of its members; -1 if it is new."""

    index: int
    start: int
    width: int
    bits: tuple[int, ...] = ()


@dataclass(frozen=True)
class PartMoves:
    """Where each of the parts of a list was."""

    parts: tuple[_PartMove, ...]

    def moved(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The fields of an entry in the order that is wanted now."""
        fields: list[Any] = []
        for each in self.parts:
            if each.index < 0:
                fields += [0] * each.width
            elif each.bits:
                fields.append(_with_bits(values[each.start], each.bits))
            else:
                fields += values[each.start : each.start + each.width]
        return tuple(fields)

    def indexes(self) -> list[int]:
        """Where parts were among the parts of before."""
        return [each.index for each in self.parts]


# By the name of a list; those whose parts are where they were are left out.
StateMoves = Mapping[str, PartMoves]


def _with_bits(bits_by_value: Mapping[Any, int], bits: Sequence[int]) -> dict[Any, int]:
    """Values with the calls that have taken them in; those that no call has are left out."""
    moved = {}
    for value, old_bits in bits_by_value.items():
        mine = sum((old_bits >> old & 1) << new for new, old in enumerate(bits))
        if mine:
            moved[value] = mine
    return moved


def moves_between(old: StateMeaning, new: StateMeaning) -> StateMoves:
    """How state is moved from one meaning to another; StateError, with both, if it means something else."""
    if old.kind != new.kind:
        raise _differs("what it is kept for", old.kind, new.kind)
    before, after = dict(old.facts), dict(new.facts)
    for name in [*after, *(name for name in before if name not in after)]:
        if before.get(name) != after.get(name):
            raise _differs(name, before.get(name), after.get(name))
    old_lists, moves = dict(old.lists), {}
    for name, new_parts in new.lists:
        part_moves = PartMoves(tuple(_moves(name, new_parts, old_lists.get(name, ()))))
        if part_moves.indexes() != list(range(len(old_lists.get(name, ())))) or any(
            _is_changed(each) for each in part_moves.parts
        ):
            moves[name] = part_moves
    return moves


def _is_changed(move: _PartMove) -> bool:
    return list(move.bits) != list(range(len(move.bits)))


def _moves(name: str, new_parts: Sequence[MeaningPart], old_parts: Sequence[MeaningPart]) -> Iterator[_PartMove]:
    used: set[int] = set()
    for part in new_parts:
        fitting = [index for index, each in enumerate(old_parts) if _is_in(part, each)]
        # Parts of the same text stay in their order: they may be calls of functions that no text tells apart.
        index = next((each for each in fitting if each not in used), fitting[-1] if fitting else None)
        yield _move(name, part, old_parts, index)
        used.update([] if index is None else [index])


def _is_in(part: MeaningPart, old_part: MeaningPart) -> bool:
    return old_part.text == part.text and old_part.width == part.width and set(part.members) <= set(old_part.members)


def _move(name: str, part: MeaningPart, old_parts: Sequence[MeaningPart], index: int | None) -> _PartMove:
    if index is not None:
        start, members = sum(each.width for each in old_parts[:index]), old_parts[index].members
        bits = () if part.members == members else tuple(map(members.index, part.members))
        return _PartMove(index, start, part.width, bits)
    if part.is_filler:
        return _PartMove(-1, -1, part.width)
    strings = ", ".join(each.text for each in old_parts if not each.is_filler and not each.members) or "none"
    needed = ", ".join(part.members) or part.text
    raise StateError(f"it has no {name} {_short(needed)}, which this job needs; it was written with {_short(strings)}")


def _differs(name: str, old: str | None, new: str | None) -> StateError:
    return StateError(
        f"it was written with {name} {_short(old or 'nothing')}, and this job has {name} {_short(new or 'nothing')}"
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
