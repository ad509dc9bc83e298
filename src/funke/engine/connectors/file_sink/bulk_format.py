"""The interface of bulk formats: they write a whole file at a time and cannot be interrupted in the middle of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["BulkFormat", "BulkWriter"]


class BulkWriter(ABC):
    """Writes the records of one file."""

    @abstractmethod
    def write(self, values: list[Any]) -> None:
        """Takes a batch; may keep it in memory for a while."""

    @abstractmethod
    def finish(self) -> None:
        """Writes everything that is left; the stream stays open."""


class BulkFormat(ABC):
    """A file format; is pickled into slots."""

    @property
    def can_be_joined(self) -> bool:
        """Whether files one behind the other are a file again."""
        return False

    @abstractmethod
    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        """Makes the writer of a new file."""
