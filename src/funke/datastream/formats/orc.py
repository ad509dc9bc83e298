"""ORC files."""

from __future__ import annotations

from typing import Any

from funke.common.configuration import Configuration
from funke.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from funke.engine.connectors.file_sink.arrow_formats import OrcBulkFormat
from funke.engine.formats.column_types import to_row_type

__all__ = ["OrcBulkWriters"]

_COMPRESSION = "orc.compress"


class OrcBulkWriters:
    """Writes rows into ORC files.

    >>> from funke.common import Configuration, Types
    >>> from funke.datastream.connectors.file_system import FileSink
    >>> from funke.datastream.formats.orc import OrcBulkWriters
    >>> row_type = Types.ROW_NAMED(["id"], [Types.INT()])
    >>> writers = OrcBulkWriters.for_row_type(row_type, Configuration().set_string("orc.compress", "ZSTD"))
    >>> type(FileSink.for_bulk_format("/tmp/orders", writers).build()).__name__
    'FileSink'
    """

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Configuration | None = None, hadoop_config: Configuration | None = None
    ) -> BulkWriterFactory:
        """Return a factory that writes rows of a type; `orc.compress` chooses the compression.

        A CHAR(n) of a table's row type is filled up with spaces.
        """
        compression = "" if writer_properties is None else writer_properties.get_string(_COMPRESSION, "")
        return RowDataBulkWriterFactory(
            row_type, OrcBulkFormat(to_row_type(row_type, is_padded=True), compression.lower() or "zlib")
        )
