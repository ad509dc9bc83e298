"""The window jobs that are measured; the same file runs on Funke and on PyFlink.

python -m funke windows.py JOB INPUT PARALLELISM WARM_UP     (Funke)
python windows.py JOB INPUT PARALLELISM WARM_UP              (PyFlink, from its own environment)
python windows.py memory                                     (bytes per open window, Funke only)

Prints `SECONDS x` for the second run (the first one, on the small warm-up file, pays for starting up).
"""

import sys
import time

from jobs import discarding_sink, parse

from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows


class RowTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0.0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def latest_and_sum(left, right):
    return left[0], right[1], left[2] + right[2]


def tumbling_reduce(keyed):
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).reduce(latest_and_sum)


def tumbling_aggregate(keyed):
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).aggregate(Average())


def sliding_aggregate(keyed):
    return keyed.window(SlidingEventTimeWindows.of(Time.seconds(120), Time.seconds(10))).aggregate(Average())


def session_reduce(keyed):
    return keyed.window(EventTimeSessionWindows.with_gap(Time.minutes(10))).reduce(latest_and_sum)


JOBS = {
    "tumbling_reduce": tumbling_reduce,
    "tumbling_aggregate": tumbling_aggregate,
    "sliding_aggregate": sliding_aggregate,
    "session_reduce": session_reduce,
}


def run(job, folder, parallelism):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    # The input is one file, whose lines are in order of time: nothing is late.
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    rows = lines.map(parse).assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(RowTime()))
    JOBS[job](rows.key_by(lambda row: row[0])).sink_to(discarding_sink())
    started = time.perf_counter()
    env.execute(job)
    return time.perf_counter() - started


def bytes_per_open_window(keys=100_000):
    """Memory of the window operator per open window with a (float, int) accumulator: tumbling and session windows."""
    import resource

    from funke.engine.graph.operations import Window
    from funke.engine.operators.operator import OperatorContext, Output, TaskInfo
    from funke.engine.operators.windowing.factory import create_window

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    counts = {}
    for assigner in (TumblingEventTimeWindows.of(Time.seconds(10)), EventTimeSessionWindows.with_gap(Time.minutes(10))):
        trigger = assigner.get_default_trigger(None)
        operator = create_window(Window(assigner, trigger, lambda row: row[0], aggregate=Average()))
        operator.setup(OperatorContext(TaskInfo(), "window", "window", Output()))
        operator.open()
        names = [f"key-{number}" for number in range(keys)]
        before = resident()
        for start in range(0, keys, 10_000):
            rows = [(name, 1_700_000_000_000 + index, 1.5) for index, name in enumerate(names[start : start + 10_000])]
            operator.process_batch(rows, [row[1] for row in rows])
        rows = None
        counts[type(assigner).__name__] = (resident() - before) / keys
    return counts


if __name__ == "__main__":
    if sys.argv[1] == "memory":
        for name, size in bytes_per_open_window().items():
            print("BYTES", name, round(size))
    else:
        job, folder, parallelism, warm_up = sys.argv[1:5]
        run(job, warm_up, int(parallelism))
        print("SECONDS", run(job, folder, int(parallelism)))
