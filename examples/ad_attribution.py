"""Finds for every ad click the impressions that may have led to it: those that the same user saw in the minute before.

Clicks and impressions come as two streams, each out of order by up to two seconds. An interval join brings together
what belongs together, and forgets an impression as soon as no click can need it any more. A click that comes after the
watermark is too late; it goes to a side output instead of being lost.

    funke run examples/ad_attribution.py
    funke run examples/ad_attribution.py --seconds 30
"""

import argparse
import sys

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, ProcessJoinFunction, StreamExecutionEnvironment

START = 1_700_000_000_000
# User, campaign, seconds after the start.
IMPRESSIONS = [
    ("ann", "shoes", 0),
    ("bob", "books", 1),
    ("ann", "travel", 20),
    ("cid", "shoes", 22),
    ("bob", "shoes", 21),  # out of order, but not late
    ("dan", "books", 40),
    ("ann", "books", 130),
    ("cid", "travel", 140),
]
# User, page, seconds after the start.
CLICKS = [
    ("ann", "/boots", 25),  # saw shoes 25 s and travel 5 s before
    ("bob", "/novel", 61),  # saw books exactly a minute before, and shoes
    ("cid", "/boots", 83),  # saw shoes 61 s before: too long ago
    ("eve", "/novel", 90),  # saw nothing
    ("dan", "/novel", 88),
    ("ann", "/novel", 135),
    ("cid", "/rome", 139),  # before the impression
]
ATTRIBUTED = Types.TUPLE([Types.STRING(), Types.STRING(), Types.STRING(), Types.LONG()])
LATE_CLICKS = OutputTag("late-clicks", Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()]))


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return START + value[2] * 1000


class Attribution(ProcessJoinFunction):
    """Yields user, campaign, page and the seconds from impression to click."""

    def process_element(self, click, impression, ctx):
        seconds = (ctx.get_left_timestamp() - ctx.get_right_timestamp()) // 1000
        yield click[0], impression[1], click[1], seconds


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description="Attribute ad clicks to impressions.")
    parser.add_argument("--seconds", type=int, default=60, help="how long before a click an impression counts")
    return parser.parse_args(argv)


def main(argv=None):
    seconds = parse_arguments(argv).seconds
    env = StreamExecutionEnvironment.get_execution_environment()
    event_type = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    watermarks = watermarks.with_timestamp_assigner(EventTime())

    def by_user(events, name):
        timed = env.from_collection(events, event_type).assign_timestamps_and_watermarks(watermarks)
        return timed.name(name).key_by(lambda event: event[0], key_type=Types.STRING())

    clicks, impressions = by_user(CLICKS, "clicks"), by_user(IMPRESSIONS, "impressions")
    attributed = (
        clicks.interval_join(impressions)
        .between(Duration.of_seconds(-seconds), Duration.of_seconds(0))
        .side_output_left_late_data(LATE_CLICKS)
        .process(Attribution(), ATTRIBUTED)
        .name("attribution")
    )
    attributed.print()
    attributed.get_side_output(LATE_CLICKS).print("late")
    env.execute("Ad attribution")


if __name__ == "__main__":
    main(sys.argv[1:])
