"""The benchmark jobs: PyFlink programs that run unchanged on PyFlink and on Funke.

python jobs.py JOB INPUT PARALLELISM WARM_UP_INPUT      prints the seconds that `env.execute()` took, warm
"""

import sys
import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.state import ValueStateDescriptor


def discarding_sink():
    try:
        from pyflink.datastream.connectors.discard import DiscardingSink

        return DiscardingSink()
    except ImportError:
        from pyflink.datastream.connectors.base import Sink
        from pyflink.java_gateway import get_gateway

        jvm = get_gateway().jvm
        return Sink(jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink())


def parse(line):
    key, timestamp, value = line.split(",")
    return key, int(timestamp), float(value)


PARSED = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])
COUNTED = Types.TUPLE([Types.STRING(), Types.LONG()])
DOUBLED = Types.TUPLE([Types.STRING(), Types.DOUBLE()])


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


def keyed_count(lines):
    return lines.map(parse, PARSED).key_by(lambda row: row[0]).process(CountPerKey(), COUNTED)


def keyed_reduce(lines):
    return lines.map(parse, PARSED).key_by(lambda row: row[0]).reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))


def stateless(lines):
    return lines.map(parse, PARSED).filter(lambda row: row[2] > 50.0).map(lambda row: (row[0], row[2] * 2), DOUBLED)


JOBS = {"keyed_count": keyed_count, "keyed_reduce": keyed_reduce, "stateless": stateless}


def run(job, folder, parallelism):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    JOBS[job](lines).sink_to(discarding_sink())
    started = time.perf_counter()
    env.execute(job)
    return time.perf_counter() - started


if __name__ == "__main__":
    job, folder, parallelism, warm_up = sys.argv[1:5]
    run(job, warm_up, int(parallelism))
    print("SECONDS", run(job, folder, int(parallelism)))
