"""Messages of formats whose rows are lines of text in files: json, csv and raw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.messages.message_format import DecodedRows, MessageDecoder, MessageEncoder
from funke.engine.formats.table.table_format import schema_of

if TYPE_CHECKING:
    from funke.engine.formats.table.table_format import LineTableFormat
    from funke.engine.formats.table.table_writer import LineFileWriter
    from funke.engine.types.logical.row_type import RowField

__all__ = ["LineDecoder", "LineEncoder", "parsed_lines"]

Parse = Callable[[bytes], Any]


@dataclass(frozen=True)
class LineDecoder(MessageDecoder):
    """Decodes messages as the lines of one file."""

    lines: LineTableFormat

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.lines.fields

    def selecting(self, indexes: Sequence[int]) -> LineDecoder:
        chosen: Any = self.lines.selecting(indexes)
        return replace(self, lines=chosen)

    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        data, origins = parsed_lines(self.lines.parser(), messages, schema_of(self.fields), self.lines.joins_lines)
        return DecodedRows(data, None, origins)


def parsed_lines(parse: Parse, messages: Sequence[bytes | None], schema: Any, joins_lines: bool) -> tuple[Any, Any]:
    """Parse messages together; one by one if that does not tell which rows are whose.

    `joins_lines` says that line breaks inside of a message mean nothing.
    """
    indexes = [index for index, each in enumerate(messages) if each]
    strings = [messages[index] or b"" for index in indexes]
    if joins_lines:
        strings = [each.replace(b"\n", b" ") if b"\n" in each else each for each in strings]
    if not strings:
        return pa.RecordBatch.from_pylist([], schema=schema), np.empty(0, np.int64)
    if joins_lines or not any(b"\n" in each for each in strings):
        data = parse(b"\n".join(strings) + b"\n")
        if len(data) == len(strings):
            return data, np.array(indexes, np.int64)
    batches = [parse(each + b"\n") for each in strings]
    return pa.concat_batches(batches), np.repeat(np.array(indexes, np.int64), [len(each) for each in batches])


@dataclass(frozen=True)
class LineEncoder(MessageEncoder):
    """Encodes rows as lines without their ends."""

    lines: LineFileWriter

    def encode(self, data: Any, kinds: Any) -> list[bytes]:
        return [each[:-1] for each in self.lines.pieces(data)]
