"""Rows and their kinds."""

from __future__ import annotations

from funke.engine.types import Row, RowKind

__all__ = ["Row", "RowKind"]
