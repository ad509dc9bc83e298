"""The names that a part of a query may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from funke.engine.errors import SqlValidationError, did_you_mean
from funke.engine.sql.binding.expressions import BoundColumn, TimeAttribute
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.functions.built_in_names import built_in_names
from funke.engine.sql.functions.rejections import family_text
from funke.engine.sql.syntax.expressions import Expression, Name, Star
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import Relation
from funke.engine.types.logical.data_type import DataType

__all__ = ["MissingName", "Scope", "ScopeColumn", "names_of", "not_a_row", "rejected", "unknown_function"]

# There are hundreds of functions: with a lower bound nearly every name would be close to one of them.
_CLOSE_FUNCTION = 0.8


@dataclass(frozen=True)
class ScopeColumn:
    """A column with the name of its table, if that has one."""

    name: str
    type: DataType
    table: str | None = None
    time: TimeAttribute | None = None
    # Another column stands for it in `SELECT *` (JOIN … USING, NATURAL JOIN).
    is_hidden: bool = False
    # Set for a column that stands for those of both sides: the word that joins them.
    shared_by: Literal["", "using", "natural"] = ""


@dataclass(frozen=True)
class Scope:
    """The columns of FROM, in their order."""

    columns: tuple[ScopeColumn, ...] = ()

    def without_times(self) -> Scope:
        """The same columns, of which none is a time."""
        return replace(self, columns=tuple(replace(each, time=None) for each in self.columns))

    def knows(self, name: Name) -> bool:
        """Whether a name means something here, and not in a query around this one."""
        parts = name.parts
        is_table = len(parts) > 1 and any(column.table == parts[0] for column in self.columns)
        return is_table or parts[0] in self._indexes

    def find(self, name: Name) -> tuple[BoundColumn, tuple[str, ...]]:
        """The column that a name means, and the fields of rows that follow behind it."""
        parts = name.parts
        if len(parts) > 1 and any(column.table == parts[0] for column in self.columns):
            indexes = [i for i, column in enumerate(self.columns) if (column.table, column.name) == parts[:2]]
            if not indexes:
                hint = did_you_mean(parts[1], (column.name for column in self.columns if column.table == parts[0]))
                raise rejected(f"Column '{parts[1]}' not found in table '{parts[0]}'{hint}", name.position_of(1))
            return self._column(indexes[0]), parts[2:]
        indexes = self._indexes.get(parts[0], [])
        if len(indexes) > 1:
            raise rejected(f"Column '{parts[0]}' is ambiguous", name.position)
        if indexes:
            return self._column(indexes[0]), parts[1:]
        if len(parts) > 1:
            hint = did_you_mean(parts[0], {column.table for column in self.columns if column.table is not None})
            raise rejected(f"Table '{parts[0]}' not found{hint}", name.position_of(0))
        hint = did_you_mean(parts[0], (column.name for column in self.columns))
        raise rejected(f"Column '{parts[0]}' not found in any table{hint}", name.position)

    @cached_property
    def _indexes(self) -> dict[str, list[int]]:
        """The indexes of the columns of each name; tables may have thousands.

        As in Flink the columns that a natural join shares are ambiguous by their name alone.
        """
        shared = {each.name for each in self.columns if each.shared_by == "using" and not each.is_hidden}
        indexes: dict[str, list[int]] = {}
        for index, column in enumerate(self.columns):
            is_replaced = column.is_hidden and (column.shared_by or column.name in shared)
            if not is_replaced and column.shared_by != "natural":
                indexes.setdefault(column.name, []).append(index)
        return indexes

    def reject_shared(self, expression: Expression | None) -> None:
        """Rejects the columns of USING by their name alone: as in Flink they are found in SELECT and GROUP BY only."""
        shared = {each.name for each in self.columns if each.shared_by}
        if expression is None or not shared:
            return
        for each in parts_of(expression):
            if isinstance(each, Name) and each.parts[0] in shared and not self._is_table(each):
                raise rejected(f"Column '{each.parts[0]}' is ambiguous", each.position)

    def _is_table(self, name: Name) -> bool:
        return len(name.parts) > 1 and any(column.table == name.parts[0] for column in self.columns)

    def index_of(self, name: str) -> int:
        """The index of the only column with a name."""
        return self.find(Name((name,)))[0].index

    def all_of(self, star: Star) -> list[BoundColumn]:
        """The columns that a star stands for."""
        table = star.table[-1] if star.table else None
        return [
            self._column(i)
            for i, column in enumerate(self.columns)
            if (not column.is_hidden if table is None else column.table == table)
        ]

    def row_of(self, star: Star) -> Name | None:
        """The row whose fields a star stands for; None if it stands for columns."""
        if not star.table or any(column.table == star.table[-1] for column in self.columns):
            return None
        row = Name(star.table, position=star.position)
        try:
            self.find(row)
        except SqlValidationError:
            raise not_a_row(star) from None
        return row

    def unknown_field(self, name: Name) -> SqlValidationError:
        """The error for a field that a row does not have."""
        parts, first = name.parts, name.position
        if any(column.table == parts[0] for column in self.columns):
            index = name.position_of(1)
            return rejected(f"Column '{'.'.join(parts[1:])}' not found in table '{parts[0]}'", _up_to_end(index, first))
        table = next((column.table for column in self.columns if column.name == parts[0]), None)
        where = "any table" if table is None else f"table '{table}'"
        return rejected(f"Column '{'.'.join(parts)}' not found in {where}", first)

    def _column(self, index: int) -> BoundColumn:
        column = self.columns[index]
        return BoundColumn(column.type, index, column.name, column.time)


def _up_to_end(start: Position | None, whole: Position | None) -> Position | None:
    return start if start is None or whole is None else start.to(whole.end or whole)


@dataclass(frozen=True)
class MissingName:
    """An unknown name, and the names that are known there."""

    name: str
    names: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """The end of a message about it."""
        return did_you_mean(self.name, self.names)


def unknown_function(
    name: str, types: Sequence[DataType], position: Position | None, own: Sequence[str] = ()
) -> SqlValidationError:
    """The error for an unknown function; `own` are the names of the program's functions."""
    type_list = ", ".join(f"<{family_text(each)}>" for each in types)
    hint = did_you_mean(name, (*built_in_names(), *own), _CLOSE_FUNCTION)
    return rejected(f"No match found for function signature {name}({type_list}){hint}", position)


def names_of(source: Relation, own: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns of a table of FROM: its own ones, or its aliases."""
    aliases = source.column_aliases
    if not aliases or len(aliases) == len(own):
        return aliases or tuple(own)
    columns = ", ".join(f"'{each}'" for each in own)
    raise rejected(
        f"List of column aliases must have same degree as table; table has {len(own)} columns ({columns}), whereas "
        f"alias list has {len(aliases)} columns",
        source.aliases_position or source.position,
    )


def not_a_row(star: Star) -> SqlValidationError:
    """The error for `a.*` where a is neither a table nor a row."""
    return rejected("Not a record type. The '*' operator requires a record", star.position)


def rejected(message: str, position: Position | None) -> SqlValidationError:
    """The error for an expression without a meaning, with its position if that is known."""
    location = "" if position is None else f"{position.location}: "
    return SqlValidationError(f"SQL validation failed. {location}{message}")
