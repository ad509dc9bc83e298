# compare: ordered
# parallelism: 1
"""FileSink in row format: lines, names of the files, prefix and suffix, one bucket."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from pyflink.common import Encoder, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink, OutputFileConfig, RollingPolicy


def tell(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = sorted(line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    names = sorted({re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID", str(path.relative_to(folder))) for path in files})
    hour = re.compile(r"\d{4}-\d\d-\d\d--\d\d")
    print(len(lines), lines[:4], lines[-1], [hour.sub("HOUR", name) for name in names])


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    lines = env.from_collection([f"line {number}" for number in range(20)] + ["ä"], type_info=Types.STRING())
    with tempfile.TemporaryDirectory() as name:
        for folder, configure in {
            "plain": lambda builder: builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()),
            "hour": lambda builder: builder,
            "named": lambda builder: builder.with_output_file_config(
                OutputFileConfig.builder().with_part_prefix("out").with_part_suffix(".txt").build()
            ).with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()),
            "rolling": lambda builder: builder.with_rolling_policy(
                RollingPolicy.default_rolling_policy(part_size=1, rollover_interval=1000, inactivity_interval=1000)
            ).with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()),
        }.items():
            path = Path(name, folder)
            builder = FileSink.for_row_format(str(path), Encoder.simple_string_encoder())
            lines.sink_to(configure(builder).build())
            env.execute(folder)
            print(folder)
            tell(path)


if __name__ == "__main__":
    main()
