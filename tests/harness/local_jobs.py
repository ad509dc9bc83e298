"""Runs the jobs of tables in this process, without Spark: the operators of slots, one subtask each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from funke.engine.config.settings import Settings
from funke.engine.connectors.collection import CollectionSource
from funke.engine.graph.builder import GraphBuilder
from funke.engine.graph.operations import ReadSource
from funke.engine.graph.stream_graph import StreamNode
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.functions.values import to_values
from funke.engine.sql.plan.to_graph import stream_of
from funke.engine.types.columns.column_batch import ColumnBatch
from tests.harness.operator_harness import OperatorHarness, Record, Watermark
from tests.harness.sql_changelogs import Change, changes_of


def changes_in(relation: Relation, is_batch: bool = True) -> list[Change]:
    """What a job would give, change by change; as a batch it has no watermarks but the last."""
    builder = GraphBuilder(Settings({"parallelism.default": 1}))
    last = stream_of(builder, relation)
    emitted: dict[int, list[Any]] = {}
    for node in builder.graph.nodes.values():
        emitted[node.id] = _elements(node, emitted, is_batch)
    elements = _together([emitted[each.node_id] for each in last.upstreams])
    return [change for each in elements if isinstance(each, ColumnBatch) for change in changes_of(each, relation)]


def rows_of(batch: Any, relation: Relation) -> list[tuple[Any, ...]]:
    """The rows of an Arrow batch as Python values."""
    return list(zip(*(to_values(column, each.type) for column, each in zip(batch.columns, relation.columns))))


def _elements(node: StreamNode, arguments: dict[int, list[Any]], is_batch: bool) -> list[Any]:
    """What a node emits: batches, and watermarks between them."""
    if isinstance(node.operation, ReadSource):
        return list(_read(node.operation.source))
    harness = OperatorHarness(node.operation, keeps_columns=True, is_batch=is_batch)
    for index, element in _by_input(node, arguments):
        if isinstance(element, Record):
            harness.process(element.value)
        elif isinstance(element, Watermark):
            harness.watermark(element.timestamp)
        else:
            harness.operator.columns_handler(index)(element)
    harness.end_input()
    harness.close()
    return list(harness.elements())


def _by_input(node: StreamNode, arguments: dict[int, list[Any]]) -> list[tuple[int, Any]]:
    """What a node gets, each element with the number of its input; those of one input come before the next one's."""
    inputs = sorted({edge.input_index for edge in node.inputs})
    streams = [
        _together([arguments[edge.source] for edge in node.inputs if edge.input_index == index]) for index in inputs
    ]
    is_alone = len(inputs) == 1
    return [
        (index, each)
        for index, stream in zip(inputs, streams)
        for each in stream
        if is_alone or isinstance(each, ColumnBatch)
    ]


def _together(streams: list[list[Any]]) -> list[Any]:
    if len(streams) == 1:
        return streams[0]
    # The watermarks of one would run ahead of the rows of another.
    return [each for stream in streams for each in stream if isinstance(each, ColumnBatch)]


def _read(source: Any) -> Iterator[Any]:
    if isinstance(source, CollectionSource):
        (split,) = source.create_enumerator(1).poll(sys.maxsize)
        yield from map(Record, split.payload)
        return
    enumerator, reader = source.create_enumerator(1), source.create_reader()
    while not enumerator.is_finished:
        for split in enumerator.poll(sys.maxsize):
            yield from reader.read_columns(split)
