"""A table whose connector does not read it: its columns can be shown and queried, but no job can be made of it.

As in Flink's Table API, where connectors are asked for rows when a job is planned, and not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column, Relation, Scan, inputs_of
from funke.engine.sql.connectors.table_source import TableSource

if TYPE_CHECKING:
    from funke.engine.types.logical.data_type import DataType

__all__ = ["UnreadableSource", "reject_unreadable"]


@dataclass(frozen=True)
class UnreadableSource(TableSource):
    """Stands for the source of a table, with the reason why there is none."""

    declared: tuple[Column, ...]
    declared_metadata: Mapping[str, DataType]
    rejection: ValidationException
    summary = "unreadable"

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.declared

    @property
    def metadata(self) -> Mapping[str, DataType]:
        return self.declared_metadata

    def with_metadata(self, columns: Sequence[tuple[str, str]]) -> UnreadableSource:
        added = tuple(Column(name, self.declared_metadata[key]) for key, name in columns)
        return replace(self, declared=(*self.declared, *added))

    def create_source(self) -> NoReturn:
        raise self.rejection


def reject_unreadable(relation: Relation) -> None:
    """Raises the reason why a table of a query cannot be read, if there is such a table."""
    if isinstance(relation, Scan) and isinstance(relation.table, UnreadableSource):
        raise relation.table.rejection
    for each in inputs_of(relation):
        reject_unreadable(each)
