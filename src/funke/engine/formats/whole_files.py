"""Any format, but never more than one range for each file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funke.engine.formats.file_format import FileFormat

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["WholeFileFormat"]


class WholeFileFormat(FileFormat):
    """Reads files as another format does, each by one reader from its start to its end."""

    def __init__(self, inner: FileFormat) -> None:
        self._inner = inner

    @property
    def produced_type(self) -> TypeInformation | None:
        """The type of the records."""
        return self._inner.produced_type

    def units(self, file: InputFile) -> list[int] | None:
        """Return one unit for the whole file when the format knows units."""
        units = self._inner.units(file)
        return None if units is None else [sum(units)]

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the records of the file."""
        return self._inner.read(file, *self._range(file, start, end))

    def read_columns(self, file: InputFile, start: int, end: int) -> Iterator[Any] | None:
        """Yield the records of the file as columns, if the format can."""
        return self._inner.read_columns(file, *self._range(file, start, end))

    def _range(self, file: InputFile, start: int, end: int) -> tuple[int, int]:
        units = self._inner.units(file)
        return (start, end) if units is None else (0, len(units))
