# compare: ordered
# parallelism: 1
"""Rows written as CSV by a bulk FileSink: separators, quotes, nulls and booleans."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink
from pyflink.datastream.formats.csv import CsvBulkWriters, CsvSchema
from pyflink.table import DataTypes


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    schema = (
        CsvSchema.builder()
        .add_number_column("id", number_type=DataTypes.BIGINT())
        .add_string_column("name")
        .add_boolean_column("ok")
        .add_number_column("price", number_type=DataTypes.DOUBLE())
        .build()
    )
    elements = [Row(1, "plain", True, 1.5), Row(2, 'with "quote", comma', False, 0.25), Row(3, "", True, 1e10)]
    row_type = Types.ROW_NAMED(
        ["id", "name", "ok", "price"], [Types.LONG(), Types.STRING(), Types.BOOLEAN(), Types.DOUBLE()]
    )
    with tempfile.TemporaryDirectory() as name:
        sink = FileSink.for_bulk_format(name, CsvBulkWriters.for_schema(schema)).with_bucket_assigner(
            BucketAssigner.base_path_bucket_assigner()
        )
        env.from_collection(elements).map(lambda row: row, output_type=row_type).sink_to(sink.build())
        env.execute("csv sink")
        for path in sorted(Path(name).rglob("*")):
            print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
