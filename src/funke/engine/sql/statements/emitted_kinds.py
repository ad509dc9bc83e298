"""Kinds of changes in plans."""

from __future__ import annotations

from funke.engine.sql.changelog.change_kinds import inputs_of, kinds_of
from funke.engine.types.row import RowKind

__all__ = ["inputs_of", "kinds_of", "kinds_text"]

_SHORT = {RowKind.INSERT: "I", RowKind.UPDATE_BEFORE: "UB", RowKind.UPDATE_AFTER: "UA", RowKind.DELETE: "D"}


def kinds_text(kinds: frozenset[RowKind]) -> str:
    """Kinds as plans show them: [I,UB,UA,D]."""
    return f"[{','.join(short for kind, short in _SHORT.items() if kind in kinds)}]"
