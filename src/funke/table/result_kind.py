"""What kind of result a statement has."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """Whether a statement only succeeded (CREATE, USE …) or gave rows (SELECT, SHOW …)."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
