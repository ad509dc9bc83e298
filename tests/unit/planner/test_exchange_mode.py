"""Which way blocks travel: pipelined for streams, blocking for batch jobs and where Spark itself reads or writes."""

from __future__ import annotations

import pytest

from funke.engine.connectors.discard import DiscardSink
from funke.engine.errors import ConfigurationError
from funke.engine.graph.job_graph import JobGraph
from funke.engine.graph.operations import WriteSink
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.exchange_mode import exchange_mode
from tests.unit.graph.sample_graphs import GraphBuilder


class SparkDiscardSink(DiscardSink):
    is_spark = True


def job(is_batch: bool = False, is_written_by_spark: bool = False) -> JobGraph:
    builder = GraphBuilder(is_batch=is_batch)
    sink = SparkDiscardSink() if is_written_by_spark else DiscardSink()
    builder._add(WriteSink(sink), "out", [builder.map(builder.source(), "double")])
    return to_job_graph(builder.graph)


@pytest.mark.parametrize(
    ("graph", "expected", "text"),
    [
        (job(), "auto", "pipelined: nothing stands against it"),
        (job(), "blocking", "blocking: the configuration says so"),
        (job(), "pipelined", "pipelined: the configuration says so"),
        (job(is_batch=True), "auto", "blocking: the job runs in batch mode"),
        (job(is_written_by_spark=True), "auto", "blocking: Spark itself writes 'Sink: out'"),
    ],
)
def test_the_mode_and_its_reason(graph: JobGraph, expected: str, text: str) -> None:
    assert str(exchange_mode(graph, expected)) == text


@pytest.mark.parametrize(
    ("graph", "expected", "message"),
    [
        (job(is_batch=True), "pipelined", "but the job runs in batch mode"),
        (job(), "hybrid", "'auto', 'pipelined' or 'blocking', not 'hybrid'"),
    ],
)
def test_what_cannot_be_is_rejected(graph: JobGraph, expected: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        exchange_mode(graph, expected)
