"""How late timers by the clock fire while records come in.

python timers.py RECORDS_PER_SECOND SECONDS      prints LATE <p50> <p99> <p99.9> in milliseconds
"""

import os
import sys
import tempfile
import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from pyflink.datastream.connectors.discard import DiscardingSink

FOLDER = tempfile.mkdtemp()
KEYS = 1_000
AHEAD_MS = 50
WARM_UP_S = 2


class Measure(KeyedProcessFunction):
    """Sets a timer for every record, and notes how late each fires."""

    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.late = []

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + AHEAD_MS)

    def on_timer(self, timestamp, ctx):
        self.late.append(time.time() * 1000 - timestamp)
        yield timestamp

    def close(self):
        with open(os.path.join(FOLDER, str(self.subtask)), "w") as out:
            out.writelines(f"{late}\n" for late in self.late)


def main():
    rate, seconds = int(sys.argv[1]), int(sys.argv[2])
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pace = RateLimiterStrategy.per_second(rate)
    source = DataGeneratorSource(lambda index: index, rate * (seconds + WARM_UP_S), Types.LONG(), pace)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda number: number % KEYS).process(Measure()).sink_to(DiscardingSink())
    env.execute("timers")
    late = []
    for name in os.listdir(FOLDER):
        with open(os.path.join(FOLDER, name)) as lines:
            delays = list(map(float, lines))
            late += delays[len(delays) * WARM_UP_S // (seconds + WARM_UP_S) :]
    late.sort()
    print("LATE", *(round(late[int(len(late) * share)], 2) for share in (0.5, 0.99, 0.999)), len(late))


if __name__ == "__main__":
    main()
