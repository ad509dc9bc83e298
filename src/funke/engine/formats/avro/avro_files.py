"""Avro container files, read into dicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from funke.engine.formats.avro.avro_blocks import (
    Block,
    BlockStream,
    DamagedBlockError,
    next_block,
    read_blocks,
    read_header,
)
from funke.engine.formats.avro.avro_schema import is_record, seen_by_python
from funke.engine.formats.file_format import BATCH_RECORDS, FileFormat
from funke.engine.types.information.avro_type import AvroTypeInfo

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["AvroFileFormat"]


@dataclass(frozen=True)
class AvroFileFormat(FileFormat):
    """Reads records as a schema (JSON text) says; files that were written with another one are adapted to it.

    Large files are cut between blocks: a range reads the blocks that begin in it.
    """

    schema: str

    @property
    def produced_type(self) -> TypeInformation:
        return AvroTypeInfo(self.schema)

    @property
    def is_cuttable(self) -> bool:
        """Blocks can be found from any position on."""
        return True

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the records of the blocks that begin in a range; a compressed file is read whole."""
        if file.is_compressed:
            with file.open_content() as content:
                header = read_header(content)
                yield from self._records(header.schema, read_blocks(content, header, None))
            return
        with file.open() as raw:
            header = read_header(raw)
            first_block = raw.tell()
            begin, behind = (next_block(raw, header.sync, at, first_block, file.size) for at in (start, end))
            raw.seek(begin)
            yield from self._records(header.schema, read_blocks(raw, header, behind - begin))

    def _records(self, written: Any, blocks: Iterator[Block]) -> Iterator[list[Any]]:
        import fastavro

        written, reader_side = seen_by_python(written), seen_by_python(json.loads(self.schema))
        try:
            # Adapting takes time, also when there is nothing to adapt.
            reader_schema = None if written == reader_side else _matching(reader_side, written)
            records = fastavro.reader(BlockStream(written, blocks), reader_schema)  # type: ignore[arg-type]
            while batch := list(islice(records, BATCH_RECORDS)):
                yield batch
        except (DamagedBlockError, OSError):
            raise
        except Exception as error:  # whatever the decoder makes of damaged bytes, or of schemas that do not fit
            raise ValueError(f"its records cannot be read: {type(error).__name__}: {error}") from error


def _matching(reader_schema: Any, written: Any) -> Any:
    """Return the wanted schema, with the name in the file as another name: what a record is called does not matter."""
    if not (is_record(reader_schema) and is_record(written)) or reader_schema["name"] == written["name"]:
        return reader_schema
    return {**reader_schema, "aliases": [*reader_schema.get("aliases", ()), written["name"]]}
