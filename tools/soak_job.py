"""The job that is killed again and again: windows and running totals by key, written to files exactly once.

    funke run tools/soak_job.py <folder> <records> <pace, like 500/second or 100/checkpoint>

Every record changes a window and a total, and every total is a line of its own: a record that is lost or counted twice
shows in the committed files. With SOAK_FORKS in the environment a function starts a process that it leaves behind.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from funke.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import KeyedProcessFunction, ProcessWindowFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.file_system import FileSink, RollingPolicy
from funke.datastream.state import ValueStateDescriptor
from funke.datastream.window import TumblingEventTimeWindows

KEYS = 13
WINDOW_MS = 1000
# Records come up to this much out of order.
DISORDER_MS = 70
# A record takes its time, so that a job that has to catch up does so in several epochs.
_PAUSE_S = 0.002
SINKS = ("windows", "totals")


def to_event(index: int) -> tuple[int, int, int]:
    """Key, event time and value of a record: always the same for an index."""
    return index % KEYS, index * 10 - (index * 7 % 8) * 10, index % 101


def read_event(index: int) -> tuple[int, int, int]:
    """The same, slowly."""
    time.sleep(_PAUSE_S)
    return to_event(index)


def expected(records: int) -> Counter[str]:
    """All lines that the sinks must hold in the end."""
    windows: dict[tuple[int, int], list[int]] = {}
    counts: Counter[int] = Counter()
    lines: Counter[str] = Counter()
    for key, timestamp, value in map(to_event, range(records)):
        windows.setdefault((key, timestamp // WINDOW_MS * WINDOW_MS), []).append(value)
    for (key, start), values in windows.items():
        lines[f"window {key} {start} {len(values)} {sum(values)}"] += 1
    # Records of a key may come in any order, so a total counts them and does not name them.
    for key, _, _ in map(to_event, range(records)):
        counts[key] += 1
        lines[f"total {key} {counts[key]}"] += 1
    return lines


def is_of_a_record(line: str) -> bool:
    """Whether the line is there even if other records were processed twice."""
    return line.startswith("total ")


def committed(folder: Path) -> Counter[str]:
    """The lines of finished files: those whose names do not start with a dot."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return Counter(line for path in files for line in path.read_text().splitlines())


class EventTime(TimestampAssigner):
    """The second field."""

    def extract_timestamp(self, value: tuple[int, int, int], record_timestamp: int) -> int:
        """Event time in milliseconds."""
        return value[1]


class Summed(ProcessWindowFunction):  # type: ignore[type-arg]
    """Count and sum of a window."""

    def process(self, key: int, context: Any, elements: Iterable[tuple[int, int, int]]) -> Iterator[str]:
        """One line per window."""
        values = [value for _, _, value in elements]
        yield f"window {key} {context.window().start} {len(values)} {sum(values)}"


class RunningTotal(KeyedProcessFunction):
    """How many records there were of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Gets the state."""
        if "SOAK_FORKS" in os.environ:
            _leave_a_child()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[int, int, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """One line per record."""
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"total {value[0]} {count}"


def _leave_a_child() -> None:
    """Forks as users do: the child has everything that the slot had open, and nobody waits for it."""
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)


def rate_limit(pace: str) -> RateLimiterStrategy:
    """Reads `500/second` or `100/checkpoint`."""
    number, _, unit = pace.partition("/")
    rates = {"second": RateLimiterStrategy.per_second, "checkpoint": RateLimiterStrategy.per_checkpoint}
    return rates[unit](int(number))


def build(env: StreamExecutionEnvironment, folder: str, records: int, pace: str) -> None:
    """Describes the job."""
    source = DataGeneratorSource(
        read_event,
        records,
        Types.PICKLED_BYTE_ARRAY(),
        rate_limiter_strategy=rate_limit(pace),
    )
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(DISORDER_MS)
    ).with_timestamp_assigner(EventTime())
    by_key = env.from_source(source, watermarks, "events").key_by(lambda event: event[0], Types.LONG())
    windows = by_key.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))).process(Summed(), Types.STRING())
    totals = by_key.process(RunningTotal(), Types.STRING())
    for stream, name in zip((windows, totals), SINKS):
        sink = (
            FileSink.for_row_format(f"{folder}/{name}", Encoder.simple_string_encoder())
            .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
            .build()
        )
        stream.sink_to(sink).name(name)


def main(folder: str, records: str, pace: str) -> None:
    """Runs the job."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    build(env, folder, int(records), pace)
    env.execute("soak")


if __name__ == "__main__":
    main(*sys.argv[1:4])
