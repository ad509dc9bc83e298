"""A query whose source has its rows in batches of some length: what they cost the slots of a streaming job.

python small_batches.py QUERY ROWS_PER_BATCH PARALLELISM ROWS

Prints the seconds of the job, and under SLOTS the processor seconds that its slots take from their opening to their
end. Rows are the same whatever the length of batches: they are made ten thousand at a time, and cut.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from funke.engine.connectors.discard import DiscardSink
from funke.engine.connectors.sequence import SequenceReader, SequenceSource
from funke.engine.connectors.sink import SinkWriter
from funke.engine.sql.connectors.blackhole_factory import BlackholeTableSink
from funke.engine.sql.connectors.table_factories import table_factories
from funke.engine.sql.connectors.table_factory import TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from pyflink.table import EnvironmentSettings, TableEnvironment

FOLDER = tempfile.mkdtemp()
COLUMNS = "k BIGINT, a BIGINT, b DOUBLE, s STRING, t TIMESTAMP(3)"
MADE_AT_ONCE = 10_000
NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC) AS r FROM l"
# By name: the columns of the result, the query, and how many rows a key has.
QUERIES = {
    "aggregate": (
        "k BIGINT, n BIGINT, s BIGINT, m DOUBLE, low BIGINT, mean BIGINT",
        "SELECT k, COUNT(*), SUM(a), MAX(b), MIN(a), AVG(a) FROM l GROUP BY k",
        20,
    ),
    "top-10": ("k BIGINT, a BIGINT, b DOUBLE", f"SELECT k, a, b FROM ({NUMBERED}) WHERE r <= 10", 20),
    "join": (
        f"{COLUMNS}, {', '.join(f'r{each}' for each in COLUMNS.split(', '))}",
        "SELECT l.*, r.* FROM l JOIN r ON l.k = r.k",
        2,
    ),
}
NAMES = pa.array([f"name-{number}" for number in range(1000)])
ROWS_PER_BATCH = TableOption("rows-per-batch", "Integer", "10000", "The length of batches.")
ROWS = TableOption("rows", "Integer", "10000", "The number of rows.")
KEYS = TableOption("keys", "Integer", "1000", "How many keys they have.")


class BatchesFactory(TableFactory):
    identifier = "batches"
    reads = writes = True
    optional_options = (ROWS_PER_BATCH, ROWS, KEYS)

    def create_source(self, context):
        values = context.values
        return Batches(context.columns, values[ROWS_PER_BATCH], values[ROWS], values[KEYS])

    def create_sink(self, context):
        return MeasuringTable()


@dataclass(frozen=True)
class Batches(TableSource):
    read: tuple
    rows_per_batch: int
    rows: int
    keys: int
    summary = "batches"

    @property
    def columns(self):
        return self.read

    def with_columns(self, indexes):
        return replace(self, read=tuple(self.read[index] for index in indexes))

    def create_source(self):
        return BatchesSource(self)


class BatchesSource(SequenceSource):
    def __init__(self, table):
        super().__init__(0, table.rows - 1)
        self.table = table
        self.produced_type = row_type_of(table.columns)

    def create_reader(self):
        return BatchesReader(self.table)


class BatchesReader(SequenceReader):
    is_never_idle = True

    def __init__(self, table):
        self.table = table

    def open(self):
        note_cpu()

    def read_columns(self, split):
        table, numbers = self.table, split.payload
        schema = schema_of(table.columns)
        for start in range(numbers.start, numbers.end, MADE_AT_ONCE):
            index = np.arange(start, min(start + MADE_AT_ONCE, numbers.end))
            chance = index * 0x9E3779B97F4A7C >> 13 & 0xFFFFFFFFFF
            columns = [self.column(name, index, chance) for name in schema.names]
            rows = pa.RecordBatch.from_arrays(columns, schema=schema)
            for first in range(0, len(rows), table.rows_per_batch):
                yield ColumnBatch(rows.slice(first, table.rows_per_batch))

    def column(self, name, index, chance):
        if name == "k":
            return pa.array(chance % self.table.keys)
        if name == "a":
            return pa.array(chance * 48271 & 0xFFFFFFFFFF)
        if name == "b":
            return pa.array(chance / 1e4)
        return NAMES.take(pa.array(chance % 1000)) if name == "s" else pa.array(index).cast(pa.timestamp("ms"))


class MeasuringTable(BlackholeTableSink):
    summary = "measuring"

    def create_sink(self, columns, upsert_key=()):
        return MeasuringSink()


class MeasuringSink(DiscardSink):
    def create_writer(self, context, restored=None):
        return MeasuringWriter()


class MeasuringWriter(SinkWriter):
    def write_columns(self, batch):
        """Does nothing."""

    def write(self, values, timestamps):
        """Does nothing."""

    def close(self):
        note_cpu()


def note_cpu():
    """What this process has used so far; the first and the last line of a file count."""
    with open(os.path.join(FOLDER, str(os.getpid())), "a") as notes:
        print(time.process_time(), file=notes)


def slots_cpu_s():
    """What all slots have used."""
    used = 0.0
    for name in os.listdir(FOLDER):
        with open(os.path.join(FOLDER, name)) as notes:
            times = list(map(float, notes))
        used += times[-1] - times[0]
    return used


def statements(query, rows_per_batch, rows):
    columns, text, rows_per_key = QUERIES[query]
    tables = "lr" if query == "join" else "l"
    options = f"'rows-per-batch' = '{rows_per_batch}', 'rows' = '{rows // len(tables)}'"
    for name in tables:
        keys = rows // len(tables) // rows_per_key
        yield f"CREATE TABLE {name} ({COLUMNS}) WITH ('connector' = 'batches', {options}, 'keys' = '{keys}')"
    yield f"CREATE TABLE sink ({columns}) WITH ('connector' = 'batches')"
    yield f"INSERT INTO sink {text}"


def main(query, rows_per_batch, parallelism, rows):
    table_factories()[BatchesFactory.identifier] = BatchesFactory()
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", parallelism)
    for statement in statements(query, int(rows_per_batch), int(rows)):
        result = t_env.execute_sql(statement)
    began = time.perf_counter()
    result.wait()
    print("SECONDS", time.perf_counter() - began)
    print("SLOTS", slots_cpu_s())


if __name__ == "__main__":
    main(*sys.argv[1:])
