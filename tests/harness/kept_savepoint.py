"""The job whose savepoint is kept for every release: `python -m tests.harness.kept_savepoint` makes that of this one.

A savepoint that has been released is never made anew: later versions must be able to start from it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from funke import __version__
from funke.common import Configuration, Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.functions import CheckpointedFunction
from funke.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from funke.datastream.window import TumblingEventTimeWindows

FOLDER = Path(__file__).resolve().parents[1] / "faults" / "savepoints"
RECORDS = 600
KEYS = 5
WINDOW_MS = 200
# When the timer of every key fires: after the last record.
TIMER_MS = 10 * RECORDS


class Timestamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Sum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> int:
        return accumulator[0]

    def merge(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        return left[0] + right[0], left[1] + right[1]


class Everything(KeyedProcessFunction):
    """Tells with every record what all kinds of keyed state hold."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        self.parities = runtime_context.get_map_state(MapStateDescriptor("parities", Types.STRING(), Types.LONG()))
        self.largest = runtime_context.get_reducing_state(ReducingStateDescriptor("largest", max, Types.LONG()))
        self.sum = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("sum", Sum(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        if count == 1:
            ctx.timer_service().register_event_time_timer(TIMER_MS)
        self.count.update(count)
        self.last.update([*self.last.get(), value][-3:])
        parity = "odd" if value % 2 else "even"
        self.parities.put(parity, (self.parities.get(parity) or 0) + 1)
        self.largest.add(value)
        self.sum.add(value)
        yield line(value % KEYS, count, list(self.last.get()), dict(self.parities.items()), self.sum.get())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {ctx.get_current_key()} {timestamp} {self.count.value()} {self.largest.get()}"


class Total(MapFunction, CheckpointedFunction):
    """Keeps in operator state how many records have passed."""

    total = 0

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("total", Types.LONG()))
        self.total = sum(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.total])

    def map(self, value: int) -> int:
        self.total += 1
        return self.total


def line(key: int, count: int, last: list[int], parities: dict[str, int], total: int) -> str:
    """What is told of a key."""
    return f"state {key} {count} {last} {sorted(parities.items())} {total}"


def expected_line(key: int, count: int) -> str:
    """The same, computed from the input."""
    values = [key + KEYS * number for number in range(count)]
    parities = {name: sum(value % 2 == odd for value in values) for name, odd in (("even", 0), ("odd", 1))}
    return line(key, count, values[-3:], {name: each for name, each in parities.items() if each}, sum(values))


def results(env: StreamExecutionEnvironment, per_checkpoint: int | None = None) -> DataStream:
    """The job: its lines are those of keyed state, timers, windows and operator state."""
    rate = RateLimiterStrategy.per_checkpoint(per_checkpoint) if per_checkpoint is not None else None
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Timestamps())
    numbers = env.from_source(source, strategy, "numbers").uid("numbers").set_parallelism(1)
    keyed = numbers.key_by(lambda number: number % KEYS)
    states = keyed.process(Everything(), Types.STRING()).uid("states")
    pairs = numbers.map(lambda number: (number % KEYS, 1)).key_by(lambda pair: pair[0])
    windows = pairs.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))).reduce(
        lambda left, right: (left[0], left[1] + right[1])
    )
    counts = windows.uid("windows").map(lambda pair: f"window {pair[0]} {pair[1]}", Types.STRING())
    totals = numbers.map(Total()).uid("total").map(lambda total: f"total {total}", Types.STRING())
    return states.union(counts, totals)


def main() -> None:
    """Takes the savepoint in the middle of the input."""
    # In files, not in the metadata alone.
    configuration = Configuration().set_string("execution.checkpointing.data-inline-threshold", "0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(200)
    results(env, per_checkpoint=20).print()
    client = env.execute_async("kept")
    while client.get_metrics().get("records_read", 0) < RECORDS // 3:
        time.sleep(0.05)
    with tempfile.TemporaryDirectory() as folder:
        path = client.stop_with_savepoint(False, folder).result()
        target = FOLDER / __version__
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(path, target)
    print(f"kept in {target}")


if __name__ == "__main__":
    # Under its real name: state may refer to classes of this module.
    from tests.harness.kept_savepoint import main as run

    run()
