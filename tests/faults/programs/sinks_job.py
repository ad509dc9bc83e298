"""A job with four exactly-once sinks, for a driver that is killed: `sinks_job.py <folder> <records> <pace>`."""

from __future__ import annotations

import os
import sys

from funke.common import Encoder, Row, Types, WatermarkStrategy
from funke.datastream import MapFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource
from funke.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from funke.datastream.connectors.python import TwoPhaseCommitSinkFunction
from funke.datastream.connectors.spark import SparkSink
from tools.soak_job import rate_limit

KIND = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


class Transactions(TwoPhaseCommitSinkFunction):
    """Hidden files that get their names when they are committed."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def begin_transaction(self):
        return os.path.join(self.folder, f".{self.new_transaction_id()}")

    def invoke(self, transaction, value, context):
        with open(transaction, "a") as file:
            file.write(f"{value[0]}\n")

    def pre_commit(self, transaction):
        pass

    def commit(self, transaction):
        if os.path.exists(transaction):
            os.rename(transaction, transaction.replace("/.", "/"))

    def abort(self, transaction):
        if os.path.exists(transaction):
            os.remove(transaction)

    def find_transactions(self, prefix):
        names = [name[1:] for name in os.listdir(self.folder) if name.startswith(f".{prefix}")]
        return {name: os.path.join(self.folder, f".{name}") for name in names}


class ToRow(MapFunction):
    def map(self, value):
        return Row(value, f"n{value}")


def main(folder, records, pace):
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda index: index, records, Types.LONG(), rate_limit(pace))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    rows = numbers.rebalance().map(ToRow(), KIND).uid("rows")
    rows.add_sink(Transactions(os.path.join(folder, "transactions"))).uid("transactions")
    options = JdbcConnectionOptions(f"jdbc:sqlite:{os.path.join(folder, 'people.db')}")
    rows.add_sink(JdbcSink.exactly_once_sink("insert into people values (?, ?)", KIND, options)).uid("database")
    rows.sink_to(SparkSink(format="parquet", path=os.path.join(folder, "files"))).uid("files")
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    lines = FileSink.for_row_format(os.path.join(folder, "compacted"), Encoder.simple_string_encoder())
    lines.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    lines.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    lines.enable_compact(strategy, FileCompactor.concat_file_compactor())
    rows.map(lambda row: row[0], Types.LONG()).uid("ids").sink_to(lines.build()).uid("compacted")
    env.execute("sinks")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
