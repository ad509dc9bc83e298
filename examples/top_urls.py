"""Prints the most visited pages of the last minute, every ten seconds.

Visits are counted per page in sliding windows of event time; a second window brings the counts of one minute together
and ranks them. Visits may come up to five seconds out of order.

    funke run examples/top_urls.py
"""

import sys

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

TOP = 3

# (page, second of the visit)
VISITS = [
    ("/home", 1),
    ("/home", 3),
    ("/news", 2),
    ("/home", 12),
    ("/shop", 11),
    ("/news", 14),
    ("/news", 13),
    ("/shop", 25),
    ("/shop", 24),
    ("/shop", 29),
    ("/blog", 33),
    ("/news", 58),
    ("/shop", 61),
    ("/home", 66),
    ("/blog", 64),
    ("/blog", 67),
    ("/blog", 69),
]


class VisitTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithPage(ProcessWindowFunction):
    def process(self, key, context, elements):
        (count,) = elements
        yield key, count


class Ranking(ProcessAllWindowFunction):
    def process(self, context, elements):
        ranked = sorted(elements, key=lambda page_and_count: (-page_and_count[1], page_and_count[0]))
        pages = ", ".join(f"{page} {count}" for page, count in ranked[:TOP])
        yield f"minute to {context.window().end // 1000} s: {pages}"


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    visits = env.from_collection(VISITS, Types.TUPLE([Types.STRING(), Types.INT()]))
    counts = (
        visits.assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(VisitTime()))
        .key_by(lambda visit: visit[0], Types.STRING())
        .window(SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(10)))
        .aggregate(Count(), WithPage(), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
    )
    # The counts of a window carry the time of its end, so a window of ten seconds holds those of one minute.
    ranking = counts.window_all(TumblingEventTimeWindows.of(Time.seconds(10))).process(Ranking(), Types.STRING())
    ranking.print().set_parallelism(1)
    env.execute("Top URLs")


if __name__ == "__main__":
    main(sys.argv[1:])
