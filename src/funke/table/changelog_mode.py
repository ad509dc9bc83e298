"""The kinds of rows in a stream of changes."""

from __future__ import annotations

from funke.engine.types.row import RowKind

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """The kinds of changes that a stream may have.

    >>> from funke.table import ChangelogMode
    >>> str(ChangelogMode.upsert())  # for StreamTableEnvironment.from_changelog_stream()
    '[INSERT, UPDATE_AFTER, DELETE]'
    """

    def __init__(self, kinds: frozenset[RowKind]) -> None:
        self._kinds = kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added."""
        return ChangelogMode(frozenset({RowKind.INSERT}))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows are added, replaced by key, and deleted; rows before updates are not emitted."""
        return ChangelogMode(frozenset(RowKind) - {RowKind.UPDATE_BEFORE})

    @staticmethod
    def all() -> ChangelogMode:
        """Rows are added, changed (before and after) and deleted."""
        return ChangelogMode(frozenset(RowKind))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __str__(self) -> str:
        return f"[{', '.join(kind.name for kind in RowKind if kind in self._kinds)}]"
