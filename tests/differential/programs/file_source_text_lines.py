# compare: unordered
# parallelism: 2
# prefix: strip
"""Text lines from a folder with nested files, hidden files left out, and from a compressed file."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat


def write_files(folder: Path) -> None:
    (folder / "nested").mkdir()
    (folder / "one.txt").write_text("first line\nsecond line\n\nafter an empty line", encoding="utf-8")
    (folder / "nested" / "two.txt").write_text("nested ä\n", encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / ".hidden").write_text("hidden\n", encoding="utf-8")
    (folder / "_ignored").write_text("ignored\n", encoding="utf-8")
    (folder / "packed.gz").write_bytes(gzip.compress(b"packed 1\npacked 2\n"))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name))
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), name).build()
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
        lines.map(lambda line: f"[{line}] {len(line)}", Types.STRING()).print()
        env.execute("text lines")


if __name__ == "__main__":
    main()
