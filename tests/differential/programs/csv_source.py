# compare: ordered
# parallelism: 1
"""CSV files become rows: quotes, separators within quotes, nulls, comments, a header, numbers of several kinds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema
from pyflink.table import DataTypes

TEXT = '''id;name;price;ok
1;"quoted; text";1.5;true
2;plain;-2.25;false
# a comment
3;"with ""quotes""";1e3;true
4;none;0.0;false
'''


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    schema = (
        CsvSchema.builder()
        .add_number_column("id", number_type=DataTypes.BIGINT())
        .add_string_column("name")
        .add_number_column("price", number_type=DataTypes.DOUBLE())
        .add_boolean_column("ok")
        .set_column_separator(";")
        .set_allow_comments()
        .set_null_value("none")
        .set_use_header()
        .set_strict_headers()
        .build()
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "prices.csv"
        path.write_text(TEXT, encoding="utf-8")
        source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path)).build()
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
        rows.map(lambda row: f"{row!r} {row.name} {row['price']}").print()
        env.execute("csv")


if __name__ == "__main__":
    main()
