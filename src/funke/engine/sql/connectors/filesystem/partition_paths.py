"""Partitions of a table as folders: day=2020-12-31/shop=a%2Fb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.sql.functions.values import to_values
from funke.engine.sql.results.value_text import value_text

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical import RowField, SqlValue

__all__ = ["Partitions", "escaped"]

# Characters with a meaning in paths, as in Flink and Hive.
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^") | {chr(code) for code in range(1, 32)}


def escaped(text: str) -> str:
    """Return a text that can be a part of a path.

    >>> escaped("a/b=c d")
    'a%2Fb%3Dc d'
    """
    if _ESCAPED.isdisjoint(text):
        return text
    return "".join(f"%{ord(sign):02X}" if sign in _ESCAPED else sign for sign in text)


@dataclass(frozen=True)
class Partitions:
    """Sorts rows into folders by the columns at some indexes; the files hold the other columns."""

    fields: tuple[RowField, ...]
    keys: tuple[str, ...]
    default_name: str

    @property
    def inside(self) -> list[int]:
        """The indexes of the columns that the files hold."""
        return [index for index, each in enumerate(self.fields) if each.name not in self.keys]

    def split(self, data: Any, kinds: Any = None) -> Iterator[tuple[str, Any, Any]]:
        """Yield the rows of each folder, in their order, with the columns that files hold, and their kinds."""
        rest = data.select(self.inside)
        if not self.keys:
            yield "", rest, kinds
            return
        indexes = [next(i for i, each in enumerate(self.fields) if each.name == key) for key in self.keys]
        folders, numbers = self._folders(data, indexes)
        if len(folders) == 1:
            yield folders.popitem()[1], rest, kinds
            return
        for number, folder in folders.items():
            chosen = np.flatnonzero(numbers == number)
            yield folder, rest.take(chosen), None if kinds is None else kinds[chosen]

    def _folders(self, data: pa.RecordBatch, indexes: Sequence[int]) -> tuple[dict[int, str], Array]:
        """The folders by number, and the number of each row's."""
        folders: dict[int, str] = {0: ""}
        numbers: Array = np.zeros(len(data), np.int64)
        limit = 1
        for index in indexes:
            encoded = data.column(index).dictionary_encode(null_encoding="encode")
            names = [self._name(self.fields[index], each) for each in self._values(encoded.dictionary, index)]
            # A number with one digit for each key column, and a base for each digit: its number of different values.
            # Only numbers that occur get a folder.
            numbers = numbers * len(names) + np.asarray(encoded.indices).astype(np.int64)
            limit *= len(names)
            distinct = _distinct(numbers, limit)
            folders = {each: f"{folders[each // len(names)]}{names[each % len(names)]}/" for each in distinct}
        return {number: folder.rstrip("/") for number, folder in folders.items()}, numbers

    def _values(self, dictionary: pa.Array, index: int) -> list[SqlValue]:
        return to_values(dictionary, self.fields[index].data_type)

    def _name(self, field: RowField, value: SqlValue) -> str:
        text = "" if value is None else value_text(value, field.data_type)
        return f"{escaped(field.name)}={escaped(text) or self.default_name}"


def _distinct(numbers: Array, limit: int) -> list[int]:
    """The numbers that occur, in order; all are below a limit."""
    # Counting takes a tenth of the time of sorting.
    distinct = np.flatnonzero(np.bincount(numbers)) if limit <= 4 * len(numbers) else np.unique(numbers)
    return list(distinct.tolist())
