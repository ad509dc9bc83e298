# compare: unordered
# parallelism: 1
"""A limit ends a job whose source never does; closing the iterator does too."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as name:
        Path(name, "one.txt").write_text("a\nb\nc\n", encoding="utf-8")
        source = (
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), name)
            .monitor_continuously(Duration.of_millis(200))
            .build()
        )
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
        upper = lines.map(str.upper, Types.STRING())
        print(upper.execute_and_collect(limit=3))
        with upper.execute_and_collect() as results:
            print([next(results) for _ in range(3)])
            # Under a hidden name first: a file that is found while it is still empty has been read.
            Path(name, ".two.txt").write_text("d\n", encoding="utf-8")
            Path(name, ".two.txt").rename(Path(name, "two.txt"))
            print(next(results))


if __name__ == "__main__":
    main()
