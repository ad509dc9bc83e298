"""Encoders of row formats: they turn records into the bytes of a file, a batch at a time."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.errors import ConfigurationError
from funke.engine.types.text_form import text_writer

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["BatchEncoder", "Encoder", "SimpleStringEncoder"]

BatchEncoder = Callable[[list[Any]], bytes]


class Encoder(ABC):
    """How records become bytes; is pickled into slots."""

    @abstractmethod
    def bind(self, input_type: TypeInformation | None) -> BatchEncoder:
        """The function that encodes batches of the given type."""


@dataclass(frozen=True)
class SimpleStringEncoder(Encoder):
    """Writes the text of each record and a line break."""

    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        """Rejects a charset that does not exist, where it is written."""
        try:
            codecs.lookup(self.charset)
        except LookupError:
            raise ConfigurationError(f"there is no charset {self.charset!r}") from None

    def bind(self, input_type: TypeInformation | None) -> BatchEncoder:
        """Joins the lines of a batch, so that a batch is encoded in one go."""
        to_text, charset = text_writer(input_type), self.charset

        def encode(values: list[Any]) -> bytes:
            # Java writes a question mark for a character that the charset lacks.
            return ("\n".join(map(to_text, values)) + "\n").encode(charset, "replace")

        return encode
