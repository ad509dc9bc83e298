# compare: ordered
# parallelism: 1
"""CSV columns of every number type of the Table API, written and read again: digits of decimals, arrays."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource
from pyflink.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from pyflink.table import DataTypes

DECIMALS = ["100.00", "0.00", "1E-7", "12.345", "12.335", "-0.005", "999.94", "1200", "-7.50", "1E+3"]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    schema = (
        CsvSchema.builder()
        .add_number_column("tiny", number_type=DataTypes.TINYINT())
        .add_number_column("small", number_type=DataTypes.SMALLINT())
        .add_number_column("medium", number_type=DataTypes.INT())
        .add_number_column("large")
        .add_number_column("short_float", number_type=DataTypes.FLOAT())
        .add_number_column("price", number_type=DataTypes.DECIMAL(10, 2))
        .add_number_column("exact", number_type=DataTypes.DECIMAL(38, 18))
        .add_number_column("whole", number_type=DataTypes.DECIMAL(5, 0))
        .add_array_column("decimals", "#", DataTypes.DECIMAL(7, 1))
        .add_array_column("names")
        .build()
    )
    numbers = [Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.FLOAT()]
    decimals = [Types.BIG_DEC(), Types.BIG_DEC(), Types.BIG_DEC(), Types.OBJECT_ARRAY(Types.BIG_DEC())]
    row_type = Types.ROW([*numbers, *decimals, Types.OBJECT_ARRAY(Types.STRING())])
    elements = []
    for position, text in enumerate(DECIMALS):
        value = Decimal(text)
        elements.append(
            Row(position, -position, 3, 2**40, 0.1, value, value, value, [value, Decimal("0.25")], ["x", "y z"])
        )
    with tempfile.TemporaryDirectory() as name:
        sink = FileSink.for_bulk_format(name, CsvBulkWriters.for_schema(schema)).with_bucket_assigner(
            BucketAssigner.base_path_bucket_assigner()
        )
        env.from_collection(elements).map(lambda row: row, output_type=row_type).sink_to(sink.build())
        env.execute("csv sink")
        for path in sorted(Path(name).rglob("*")):
            print(path.read_text(encoding="utf-8"))
        source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), name).build()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "csv").map(lambda row: f"{row!r}").print()
        env.execute("csv source")


if __name__ == "__main__":
    main()
