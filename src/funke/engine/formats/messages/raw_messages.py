"""Messages as they are, as the values of the only column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.formats.messages.message_format import DecodedRows, MessageDecoder
from funke.engine.formats.table.raw_columns import RawTableFormat
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.logical.families import CHARACTER

if TYPE_CHECKING:
    from funke.engine.types.logical.row_type import RowField

__all__ = ["RawDecoder"]


@dataclass(frozen=True)
class RawDecoder(MessageDecoder):
    """Texts are decoded, bytes stay as they are; a message without content is NULL."""

    columns: tuple[RowField, ...]
    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        RawTableFormat(self.columns, self.charset)

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> RawDecoder:
        return self

    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        values: list[bytes | str | None] = list(messages)
        if isinstance(self.columns[0].data_type, CHARACTER):
            values = [None if each is None else each.decode(self.charset, "replace") for each in messages]
        schema = schema_of(self.columns)
        data = pa.RecordBatch.from_arrays([pa.array(values, schema.types[0])], schema=schema)
        return DecodedRows(data, None, np.arange(len(values)))
