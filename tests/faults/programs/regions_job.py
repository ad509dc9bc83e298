"""The soak job twice in one job, as two regions: `funke run regions_job.py <folder> <records> <pace>`."""

from __future__ import annotations

import sys

from funke.common import Configuration
from funke.datastream import StreamExecutionEnvironment
from tools import soak_job


def main(folder: str, records: str, pace: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    for name in ("left", "right"):
        soak_job.build(env, f"{folder}/{name}", int(records), pace)
    env.execute("soak")


if __name__ == "__main__":
    main(*sys.argv[1:4])
