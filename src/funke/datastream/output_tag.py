"""Names of side outputs."""

from __future__ import annotations

from funke.engine.types.output_tag import OutputTag

__all__ = ["OutputTag"]
