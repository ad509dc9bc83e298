"""The relation of what is left of changes when all of them have come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.sql.binding.relations import Relation

__all__ = ["FinalRows"]


@dataclass(frozen=True)
class FinalRows(Relation):
    """The rows that the changes of the input leave; there are none before its end."""

    input: Relation
    # What there is if nothing is left: the results of aggregates over no rows.
    otherwise: tuple[Any, ...] | None = None
