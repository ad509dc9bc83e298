"""Columns inside whole jobs: the same results as the same program on rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from funke.common import Configuration, Row, Types, WatermarkStrategy
from funke.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.file_system import FileSource
from funke.datastream.formats.csv import CsvReaderFormat, CsvSchema
from funke.datastream.formats.parquet import ParquetColumnarRowInputFormat
from funke.datastream.state import ValueStateDescriptor
from funke.engine.graph.column_expressions import And, Arithmetic, Column, Comparison, IsNull, Literal, Not
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ProjectColumns
from funke.engine.operators.table.project import projected_type
from tests.spark.job_running import collect

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

BID = Types.ROW_NAMED(["auction", "price", "channel"], [Types.LONG(), Types.LONG(), Types.STRING()])
BIDS = [(number % 17 - 8, number * 7 % 101, None if number % 11 == 0 else f"c{number % 3}") for number in range(2_000)]
EXPENSIVE = ProjectColumns(
    (
        ("channel", Column("channel")),
        ("auction", Column("auction")),
        ("euro", Arithmetic("*", Column("price"), Literal(2))),
    ),
    And(Comparison(">", Column("price"), Literal(50)), Not(IsNull(Column("channel")))),
)
EURO = projected_type(EXPENSIVE, BID)


class Sum(KeyedProcessFunction):
    """The running sum of each key, in order of arrival."""

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value.euro)
        yield ctx.get_current_key(), value.euro, self.sum.value()


def csv_source(folder: Path) -> Any:
    (folder / "bids.csv").write_text("".join(f"{a},{p},{'' if c is None else c}\n" for a, p, c in BIDS))
    schema = CsvSchema.builder().set_null_value("")
    for name in ("auction", "price"):
        schema.add_number_column(name)
    return FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(schema.add_string_column("channel").build()), str(folder)
    ).build()


def parquet_source(folder: Path) -> Any:
    columns = zip(BID.get_field_names(), zip(*BIDS, strict=True), strict=True)
    pq.write_table(
        pa.table({name: list(values) for name, values in columns}), folder / "bids.parquet", row_group_size=700
    )
    return FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(BID), str(folder)).build()


def on_columns(bids: DataStream) -> DataStream:
    return bids._add(EXPENSIVE, "Expensive", EURO).key_by(ColumnKey(("auction", "channel"))).process(Sum())


def on_rows(bids: DataStream) -> DataStream:
    kept = bids.filter(lambda bid: bid.price > 50 and bid.channel is not None)
    euros = kept.map(lambda bid: Row(channel=bid.channel, auction=bid.auction, euro=bid.price * 2), EURO)
    return euros.key_by(lambda bid: (bid.auction, bid.channel)).process(Sum())


@pytest.mark.parametrize(
    ("write_files", "exchange"),
    [(csv_source, "blocking"), (parquet_source, "pipelined")],
    ids=["csv in epochs", "parquet from slot to slot"],
)
def test_columns_give_what_rows_give(tmp_path: Path, write_files: Any, exchange: str) -> None:
    source = write_files(tmp_path)
    results = []
    for program in (on_rows, on_columns):
        # One sender, so that the running sums do not depend on who is first.
        settings = Configuration().set_string("funke.exchange", exchange)
        env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(1)
        bids = env.from_source(source, WatermarkStrategy.no_watermarks(), "bids")
        results.append(sorted(collect(program(bids).set_parallelism(2))))
    assert results[0] == results[1] and len(results[0]) > 800


def test_rows_of_a_function_meet_columns_and_functions_again(env: StreamExecutionEnvironment) -> None:
    bids = env.from_collection([Row(*bid) for bid in BIDS[:200]], BID)
    projected = bids.map(lambda bid: bid, BID).rebalance()._add(EXPENSIVE, "Expensive", EURO)
    euros = sorted(collect(projected.map(lambda bid: (bid.channel, bid.auction, bid.euro))))
    assert euros == sorted((c, a, 2 * p) for a, p, c in BIDS[:200] if p > 50 and c is not None)
