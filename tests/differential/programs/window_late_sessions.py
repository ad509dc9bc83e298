# compare: ordered
# parallelism: 1
"""Late elements and sessions: one that touches an open session joins it, one that bridges two makes them one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.window import EventTimeSessionWindows, TimeWindow


class Value(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Text(WindowFunction[int, str, int, TimeWindow]):
    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterable[str]:
        yield f"[{window.start}, {window.end}) {sorted(inputs)}"


class Stamp(ProcessFunction):
    def process_element(self, value: object, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"{value} at {ctx.timestamp()}"


def slow_down(number: int) -> int:
    time.sleep(1)
    return number


def main() -> None:
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.get_config().set_auto_watermark_interval(50)
    # Gap 10, lateness 5. 100 opens [100, 110), which fires at 109; 112 opens a second one; 104 bridges them.
    data = [100, 112, 104, 95, 130, 111, 150, 60]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Value())
    numbers = env.from_collection(data, Types.INT()).map(slow_down, Types.INT()).rebalance()
    timed = numbers.assign_timestamps_and_watermarks(strategy)
    late = OutputTag("late", Types.INT())
    windows = (
        timed.key_by(lambda number: 0, Types.INT())
        .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
        .allowed_lateness(5)
        .side_output_late_data(late)
        .apply(Text(), Types.STRING())
    )
    windows.process(Stamp(), Types.STRING()).print()
    windows.get_side_output(late).process(Stamp(), Types.STRING()).map(lambda text: f"late {text}").print()
    env.execute("late sessions")


if __name__ == "__main__":
    main()
