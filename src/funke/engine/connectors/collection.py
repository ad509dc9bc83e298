"""Reads the elements of a Python collection."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader
from funke.engine.formats.file_format import BATCH_RECORDS
from funke.engine.types.information.collection_input import collection_type

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["CollectionSource", "ListSplitReader"]


class CollectionSource(Source):
    """Reads elements in order, in one subtask; with a type, elements are made to fit it right away.

    >>> source = CollectionSource(["a", "b"])
    >>> [split.payload for split in source.create_enumerator(1).poll(10)]
    [['a', 'b']]
    """

    fixed_parallelism = 1

    def __init__(self, elements: Iterable[Any], type_info: TypeInformation | None = None) -> None:
        values = list(elements)
        self._elements = values if type_info is None else collection_type(type_info).coerce_list(values)
        self.produced_type = type_info

    def create_enumerator(self, parallelism: int, restored: Any = None) -> CollectionEnumerator:
        """Start at the first element, or behind those of an earlier enumerator."""
        return CollectionEnumerator(self._elements, restored or 0)

    def create_reader(self) -> ListSplitReader:
        """Return a reader of pieces of the list."""
        return ListSplitReader()


class CollectionEnumerator(SplitEnumerator):
    """Hands out the list piece by piece; all pieces are one ongoing split."""

    def __init__(self, elements: list[Any], position: int) -> None:
        self._elements = elements
        self._position = position

    def poll(self, max_records: int) -> list[Split]:
        """Return the next piece."""
        if self.is_finished:
            return []
        piece = self._elements[self._position : self._position + max_records]
        self._position += len(piece)
        return [Split("collection", piece, is_last=self.is_finished, weight=len(piece))]

    @property
    def is_finished(self) -> bool:
        """True when all elements have been handed out."""
        return self._position >= len(self._elements)

    def snapshot(self) -> int:
        """Return the number of elements that were handed out."""
        return self._position


class ListSplitReader(SplitReader):
    """Reads splits whose payload is the list of their values."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the values."""
        values: list[Any] = split.payload
        for start in range(0, len(values), BATCH_RECORDS):
            yield values[start : start + BATCH_RECORDS], None
