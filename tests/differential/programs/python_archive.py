# compare: ordered
# parallelism: 1
"""An archive is unpacked where functions run and read by its relative path, with and without a folder name."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def read_factor(number: int) -> str:
    plain = Path("factors.zip/data/factor.txt").read_text(encoding="utf-8")
    named = Path("mine/data/factor.txt").read_text(encoding="utf-8")
    return f"{number} {plain} {named}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "factors.zip")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data/factor.txt", "ten")
        env.add_python_archive(str(path))
        env.add_python_archive(str(path), "mine")
        env.from_collection([1, 2], type_info=Types.INT()).map(read_factor, Types.STRING()).print()
        env.execute("archive")


if __name__ == "__main__":
    main()
