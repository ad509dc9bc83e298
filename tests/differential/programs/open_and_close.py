# compare: unordered
# parallelism: 2
"""open() and close() run once per subtask, in every kind of function."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from pyflink.common import Types
from pyflink.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Logged:
    """Leaves one file per call, because functions may live in other processes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.subtask = -1

    def log(self, event: str) -> None:
        name = f"{type(self).__name__} {event} {self.subtask}#{os.getpid()}-{uuid.uuid4().hex}"
        Path(self.folder, name).touch()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.log("open")

    def close(self) -> None:
        self.log("close")


class LoggedMap(Logged, MapFunction):
    def map(self, value: int) -> int:
        return value


class LoggedFlatMap(Logged, FlatMapFunction):
    def flat_map(self, value: int) -> list[int]:
        return [value]


class LoggedFilter(Logged, FilterFunction):
    def filter(self, value: int) -> bool:
        return True


class LoggedKey(Logged, KeySelector):
    def get_key(self, value: int) -> int:
        return value


class LoggedReduce(Logged, ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class LoggedProcess(Logged, KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    with tempfile.TemporaryDirectory() as folder:
        numbers = env.from_collection(list(range(40)), type_info=Types.INT())
        mapped = numbers.map(LoggedMap(folder), Types.INT()).flat_map(LoggedFlatMap(folder), Types.INT())
        keyed = mapped.filter(LoggedFilter(folder)).key_by(LoggedKey(folder), Types.INT())
        reduced = keyed.reduce(LoggedReduce(folder)).key_by(lambda number: number, Types.INT())
        with reduced.process(LoggedProcess(folder), Types.INT()).execute_and_collect() as results:
            print("results", len(list(results)))
        for name in sorted(os.listdir(folder)):
            print(name.split("#")[0])


if __name__ == "__main__":
    main()
