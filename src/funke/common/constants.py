"""Constants that programs compare times with."""

from __future__ import annotations

from funke.engine.operators.windowing.windows import MAX_LONG_VALUE, MIN_LONG_VALUE

__all__ = ["DEFAULT_OUTPUT_TAG", "MAX_LONG_VALUE", "MIN_LONG_VALUE"]

# The name of a stream's main output, beside its side outputs.
DEFAULT_OUTPUT_TAG = ""
