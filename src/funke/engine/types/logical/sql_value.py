"""The name for a value of a column in Python's form."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["SqlValue"]

# What it is depends on the type of the column, which only the query knows; None stands for NULL.
SqlValue: TypeAlias = Any
