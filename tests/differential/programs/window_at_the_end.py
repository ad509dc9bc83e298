# compare: unordered
# parallelism: 1
"""End of input: processing-time windows that are still open and event-time windows without timestamps."""

from __future__ import annotations

from pyflink.common import Time, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.window import (
    ProcessingTimeSessionWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3], Types.INT()).key_by(lambda number: 0, Types.INT())
    numbers.window(TumblingProcessingTimeWindows.of(Time.days(1000))).reduce(lambda a, b: a + b).print()
    numbers.window(ProcessingTimeSessionWindows.with_gap(Time.hours(1))).reduce(lambda a, b: a + b).print()
    env.execute("processing time")
    print("processing-time windows that are still open do not fire")

    numbers = env.from_collection([1, 2, 3], Types.INT()).key_by(lambda number: 0, Types.INT())
    numbers.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(lambda a, b: a + b).print()
    try:
        env.execute("no timestamps")
    except Exception as error:
        print("no timestamp marker" in str(error))


if __name__ == "__main__":
    main()
