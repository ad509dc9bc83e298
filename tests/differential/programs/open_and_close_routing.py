# compare: unordered
# parallelism: 1
"""Key selectors are opened with a runtime context and closed, also right behind a source."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

from pyflink.common import Types
from pyflink.datastream import KeySelector, RuntimeContext, StreamExecutionEnvironment


class Logged:
    """Leaves one file per call, because functions may live in other processes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def log(self, event: str) -> None:
        Path(self.folder, f"{type(self).__name__} {event}#{uuid.uuid4().hex}").touch()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.factor = 10 + runtime_context.get_index_of_this_subtask()
        self.log("open")

    def close(self) -> None:
        self.log("close")


class SourceKey(Logged, KeySelector):
    def get_key(self, value: int) -> int:
        return value % 3 * self.factor


class SecondKey(Logged, KeySelector):
    def get_key(self, value: int) -> int:
        return value * self.factor


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with tempfile.TemporaryDirectory() as folder:
        numbers = env.from_collection(list(range(9)), type_info=Types.INT())
        sums = numbers.key_by(SourceKey(folder), Types.INT()).reduce(lambda left, right: left + right)
        largest = sums.key_by(SecondKey(folder), Types.INT()).reduce(lambda one, two: one if one > two else two)
        with largest.execute_and_collect() as results:
            for number in results:
                print(number)
        for name in sorted(os.listdir(folder)):
            print(name.split("#")[0])


if __name__ == "__main__":
    main()
