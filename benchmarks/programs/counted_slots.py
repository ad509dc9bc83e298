"""Counts records by key in two slots, and writes down the CPU time of each: `counted_slots.py RECORDS FOLDER`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource
from pyflink.datastream.state import ValueStateDescriptor

KEYS = 1000


class Count(KeyedProcessFunction):
    """Emits nothing; its end says what its process has used since it began to work."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.before_s = time.process_time()
        self.records = 0

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.records += 1
        yield from ()

    def close(self) -> None:
        used_s = time.process_time() - self.before_s
        with open(os.path.join(self.folder, f"slot-{self.subtask}"), "w") as out:
            out.write(f"{used_s} {self.records}")


def main(records: int, folder: str) -> None:
    """Runs to the end of the source."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = DataGeneratorSource(int, records, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda number: number % KEYS).process(Count(folder), Types.LONG())
    env.execute("counted slots")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
