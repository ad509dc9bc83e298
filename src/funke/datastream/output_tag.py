"""Names of side outputs."""

from __future__ import annotations

from funke.engine.types.output_tag import OutputTag
from funke.passed_on_names import pass_on_names

__all__ = ["OutputTag"]

pass_on_names(__name__)
