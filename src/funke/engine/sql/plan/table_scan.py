"""TableSourceScan: the rows that a source reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.relations import Scan
from funke.engine.sql.plan import (
    NO_KEYS,
    ChangeSettings,
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    field_names,
    one_key,
    same_columns,
)
from funke.engine.sql.plan.changelogs.changelog_normalize import ChangelogNormalize
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["TableScan"]

_UPDATES = frozenset({RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER})
_DEFAULT_DATABASE = ("default_catalog", "default_database")


@dataclass(frozen=True)
class TableScan(Scan, PlanNode):
    """The rows of a table; which columns and rows it reads is decided by pushing down, not by pruning."""

    def changelog(self) -> Kinds:
        return self.kinds

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return ()

    def for_consumer(self, needs_before: bool, settings: ChangeSettings) -> PlanNode:
        """The rows before updates are kept for a source that does not send them."""
        if not needs_before or self.kinds & _UPDATES != {RowKind.UPDATE_AFTER}:
            return self
        # Upsert sources such as upsert-kafka send +U without -U. For a consumer that needs both, a ChangelogNormalize
        # keeps the last row of each key: state as large as the table.
        key = self.primary_key_indexes()
        if key is None:
            raise TableException(
                f"Table '{'.'.join(self.path)}' produces a changelog stream that contains UPDATE_AFTER but no "
                "UPDATE_BEFORE. This requires defining a primary key constraint on the table."
            )
        return ChangelogNormalize(self.columns, self, key, True, settings.ttl_ms)

    def primary_key_indexes(self) -> tuple[int, ...] | None:
        """The columns of the table's primary key, if all of them are read."""
        names = [column.name for column in self.columns]
        if not self.primary_key or not {*self.primary_key} <= {*names}:
            return None
        return tuple(map(names.index, self.primary_key))

    def upsert_keys(self) -> UpsertKeys:
        key = self.primary_key_indexes()
        return NO_KEYS if key is None else one_key(key)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        table = ", ".join(self.path) or "*anonymous*"
        return f"TableSourceScan(table=[[{table}]], fields=[{field_names(self.columns)}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        path = self.path[2:] if self.path[:2] == _DEFAULT_DATABASE else self.path
        return ".".join((*path, self.columns[index].name))
