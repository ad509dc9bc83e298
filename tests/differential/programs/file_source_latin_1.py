# compare: ordered
# parallelism: 1
"""A text file in another character set, with both kinds of line ends and none after the last line."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "latin.txt"
        path.write_bytes("grün\nblau\r\nweiß".encode("latin-1"))
        source = (
            FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), str(path))
            .process_static_file_set()
            .build()
        )
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "latin")
        print(lines.get_type())
        lines.map(repr, Types.STRING()).print()
        env.execute("latin")


if __name__ == "__main__":
    main()
