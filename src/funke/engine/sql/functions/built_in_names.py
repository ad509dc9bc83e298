"""The names of functions that programs call by name, without operators and other forms."""

from __future__ import annotations

import re

from funke.engine.sql.functions.aggregates.catalog import AGGREGATES
from funke.engine.sql.functions.catalog import FUNCTIONS

__all__ = ["built_in_names"]


def built_in_names() -> list[str]:
    """The names, in lower case."""
    names = (*FUNCTIONS, *(name for each in AGGREGATES for name in each.names))
    return [name for name in names if re.fullmatch(r"[a-z][a-z0-9_]*", name)]
