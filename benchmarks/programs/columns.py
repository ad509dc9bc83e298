"""A projection and filter on wide CSV files, once on rows and once on columns; needs Funke's own operators.

python -m funke columns.py INPUT PARALLELISM WARM_UP RUNS

Prints for each run `RUN form`, what the sink has counted in lines `COUNT n`, and `SECONDS x`. The forms alternate.
"""

import sys
import time

from funke.common import Row, WatermarkStrategy
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.connectors.file_system import FileSource
from funke.datastream.formats.csv import CsvReaderFormat, CsvSchema
from funke.engine.connectors.sink import Sink, SinkWriter
from funke.engine.graph.column_expressions import And, Arithmetic, Column, Comparison, Literal
from funke.engine.graph.operations import ProjectColumns
from funke.engine.operators.table.project import projected_type
from funke.engine.types.driver_messages import PrintedText

NUMBERS = ("event_type", "time", "auction", "bidder", "price", "reserve", "expires")
STRINGS = ("entry_time", "channel", "url", "name", "city", "state", "extra")
BID = 2
CHEAP = 1_000_000
BIDS = ProjectColumns(
    (
        ("auction", Column("auction")),
        ("bidder", Column("bidder")),
        ("euro", Arithmetic("*", Column("price"), Literal(0.908))),
        ("channel", Column("channel")),
        ("time", Column("time")),
    ),
    And(
        Comparison("=", Column("event_type"), Literal(BID)),
        Comparison(">", Column("price"), Literal(CHEAP)),
    ),
)


class CountingSink(Sink):
    """Forgets records and tells how many there were, at the end of each epoch."""

    takes_columns = True

    def create_writer(self, context, restored=None):
        return CountingWriter(context)


class CountingWriter(SinkWriter):
    def __init__(self, context):
        self.tell = context.send_to_driver
        self.count = 0

    def write(self, values, timestamps):
        self.count += len(values)

    def write_columns(self, batch):
        self.count += len(batch)

    def flush(self, end_of_input):
        if self.count:
            self.tell(PrintedText(f"COUNT {self.count}\n"))
            self.count = 0


def on_columns(events):
    return events._add(BIDS, "Bids", projected_type(BIDS, events.get_type()))


def on_rows(events):
    bids = events.filter(lambda event: event.event_type == BID and event.price > CHEAP)
    return bids.map(
        lambda bid: Row(
            auction=bid.auction, bidder=bid.bidder, euro=bid.price * 0.908, channel=bid.channel, time=bid.time
        )
    )


FORMS = {"rows": on_rows, "columns": on_columns}


def run(form, folder, parallelism):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    schema = CsvSchema.builder()
    for name in NUMBERS:
        schema.add_number_column(name)
    for name in STRINGS:
        schema.add_string_column(name)
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema.build()), folder).build()
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    FORMS[form](events)._add_sink(CountingSink(), "count")
    started = time.perf_counter()
    env.execute(form)
    return time.perf_counter() - started


if __name__ == "__main__":
    folder, parallelism, warm_up, runs = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    for form in FORMS:
        run(form, warm_up, parallelism)
    for _ in range(runs):
        for form in FORMS:
            print("RUN", form)
            print("SECONDS", run(form, folder, parallelism))
