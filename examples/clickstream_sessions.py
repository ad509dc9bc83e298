"""Cuts the clicks of each user into sessions, and reports clicks that come too late to count.

A session ends when a user does nothing for thirty minutes. Watermarks wait a minute for stragglers, and a finished
session stays for another five minutes in case a late click changes it; then its result is corrected. Clicks that are
later still go to a side output.

    funke run examples/clickstream_sessions.py
"""

import sys

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import WatermarkGenerator
from pyflink.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.python import PythonSource
from pyflink.datastream.window import EventTimeSessionWindows

MINUTE = 60_000

# (user, minute of the click, page), in the order in which they arrive
CLICKS = [
    ("ann", 0, "home"),
    ("bob", 2, "home"),
    ("ann", 9, "search"),
    ("ann", 5, "news"),
    ("bob", 15, "cart"),
    ("cid", 46, "home"),  # by now minute 45 is over: the sessions of ann and bob have ended
    ("bob", 12, "search"),  # late, but bob's session is kept until minute 50: it is corrected
    ("ann", 7, "shop"),  # too late: ann's session was kept until minute 44
    ("cid", 60, "news"),
    ("cid", 91, "home"),
    ("ann", 95, "home"),
]


class Clicks(PythonSource):
    """A bounded source with one split."""

    with_timestamps = True
    produced_type = Types.TUPLE([Types.STRING(), Types.INT(), Types.STRING()])

    def enumerate_splits(self):
        return ["clicks"]

    def read_split(self, split):
        for user, minute, page in CLICKS:
            yield (user, minute, page), minute * MINUTE


class OneMinuteBehind(WatermarkGenerator):
    """Says after every click how far time has come, so that the example does not depend on how fast it runs."""

    def __init__(self):
        self.latest = 0

    def on_event(self, event, event_timestamp, output):
        self.latest = max(self.latest, event_timestamp)
        output.emit_watermark(self.latest - MINUTE - 1)


class Summary(ProcessWindowFunction):
    def process(self, key, context, elements):
        pages = [page for _, _, page in sorted(elements, key=lambda click: click[1])]
        window = context.window()
        yield f"{key} minutes {window.start // MINUTE} to {window.end // MINUTE}: {' > '.join(pages)}"


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    too_late = OutputTag("too-late", Clicks.produced_type)
    watermarks = WatermarkStrategy.for_generator(OneMinuteBehind)
    sessions = (
        env.from_source(Clicks(), watermarks, "clicks")
        .key_by(lambda click: click[0], Types.STRING())
        .window(EventTimeSessionWindows.with_gap(Time.minutes(30)))
        .allowed_lateness(5 * MINUTE)
        .side_output_late_data(too_late)
        .process(Summary(), Types.STRING())
    )
    sessions.print()
    sessions.get_side_output(too_late).map(lambda click: f"too late: {click[0]} at minute {click[1]}").print()
    env.execute("Clickstream Sessions")


if __name__ == "__main__":
    main(sys.argv[1:])
