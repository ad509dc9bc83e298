"""The relation whose rows have a value in every column that must have one."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Relation

__all__ = ["NotNulls"]


@dataclass(frozen=True)
class NotNulls(Relation):
    """The rows of the input; one with a NULL in these columns fails the job, or is dropped."""

    input: Relation
    indexes: tuple[int, ...]
    is_dropping: bool = False
