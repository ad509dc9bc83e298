"""The definition of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CatalogDefinition"]


@dataclass(frozen=True)
class CatalogDefinition:
    """The options and the comment of CREATE CATALOG."""

    options: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
