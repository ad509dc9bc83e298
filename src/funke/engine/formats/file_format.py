"""What a file source needs to know about the format of its files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["BATCH_RECORDS", "COLUMN_BATCH_RECORDS", "FileFormat", "in_batches"]

# Long enough that the work per batch does not count, short enough that a batch stays in the processor's cache.
BATCH_RECORDS = 4_096
# The work for a batch of columns does not depend on its length; Arrow's own readers take as many.
COLUMN_BATCH_RECORDS = 1 << 15


class FileFormat(ABC):
    """Reads files of one format. Is pickled into slots.

    A file is read in ranges. What the numbers of a range count is the format's choice: units (such as the row groups
    of a Parquet file) when :meth:`units` knows any, else bytes.
    """

    @property
    @abstractmethod
    def produced_type(self) -> TypeInformation | None:
        """The type of the records, or None when they are Python objects of any kind."""

    @property
    def is_cuttable(self) -> bool:
        """Whether an uncompressed file may be read in several ranges of bytes."""
        return False

    def cut_at(self, file: InputFile, start: int, least: int) -> int:
        """Return where a range that begins at `start` may end, at or after `wanted`."""
        return least

    def units(self, file: InputFile) -> list[int] | None:
        """Return the number of records in every unit of a file, or None when a file has no units."""
        return None

    @abstractmethod
    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the records of a range in batches; problems are raised as OSError, ValueError or Arrow's errors."""

    def read_columns(self, file: InputFile, start: int, end: int) -> Iterator[Any] | None:
        """Yield the same records as Arrow record batches with the columns of the produced type; None if it cannot.

        A format of changes yields column batches, whose rows have kinds.
        """
        return None


def in_batches(values: list[Any]) -> Iterator[list[Any]]:
    """Cut a list that is much too long for one batch."""
    if len(values) <= 2 * BATCH_RECORDS:
        if values:
            yield values
        return
    for start in range(0, len(values), BATCH_RECORDS):
        yield values[start : start + BATCH_RECORDS]
