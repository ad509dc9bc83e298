"""Reads state that is not keyed: lists, union lists and broadcast maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state_processor.state_parts import StatePiece, read_own
from funke.engine.state_processor.state_source import StateNames

__all__ = ["OwnKind", "OwnReading", "operator_states"]

OwnKind = Literal["list", "union", "broadcast"]


@dataclass(frozen=True)
class OwnReading:
    """Yields the elements of one list, or the (key, value) pairs of one broadcast map."""

    kind: OwnKind
    name: str

    def __call__(self, piece: StatePiece, names: StateNames) -> Iterator[Any]:
        """Yields the elements of one subtask; broadcast state, which all subtasks hold alike, is read once."""
        names.wanted.add(self.name)
        states = operator_states(read_own(piece))
        if self.kind == "broadcast":
            names.found.update(states.broadcasts)
            yield from states.broadcasts.get(self.name, {}).items() if piece.is_first else ()
        else:
            lists = states.lists if self.kind == "list" else states.unions
            names.found.update(lists)
            yield from lists.get(self.name, ())


def operator_states(own: Any) -> OperatorStateSnapshot:
    """The states in what an operator has written; those of the engine's own operators have no names."""
    if isinstance(own, OperatorStateSnapshot):
        return own
    return OperatorStateSnapshot()
