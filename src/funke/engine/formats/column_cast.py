"""Columns of a file with the types that the reader wants."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["cast"]


def cast(values: Any, name: str, arrow_type: Any) -> Any:
    """Return a column with another type; decimals and nested values stay as they are."""
    if values.type == arrow_type or pa.types.is_decimal(values.type) or pa.types.is_nested(arrow_type):
        return values
    try:
        return values.cast(arrow_type, safe=not pa.types.is_temporal(arrow_type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name} is {values.type}, the row type says {arrow_type}: {error}") from None
