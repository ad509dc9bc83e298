"""Runs the jobs of tables in this process, without Spark: the operators of slots, one subtask each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from funke.engine.graph.operations import ColumnOperator, CustomOperator
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.functions.values import to_values
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table.relation_streams import stream_of
from tests.harness.operator_harness import OperatorHarness, Record, Watermark
from tests.harness.sql_changelogs import Change, changes_of


def changes_in(relation: Relation, is_batch: bool = True) -> list[Change]:
    """What a job would give, change by change; as a batch it has no watermarks but the last."""
    stream = stream_of(LocalEnvironment(is_batch), relation)  # type: ignore[arg-type]
    return [
        change for each in stream.elements if isinstance(each, ColumnBatch) for change in changes_of(each, relation)
    ]


def rows_of(batch: Any, relation: Relation) -> list[tuple[Any, ...]]:
    """The rows of an Arrow batch as Python values."""
    return list(zip(*(to_values(column, each.type) for column, each in zip(batch.columns, relation.columns))))


class LocalEnvironment:
    """As much of an environment as relations need to become streams; there is no graph with operators to be named."""

    _last_id = 0
    _nodes = SimpleNamespace(nodes={})

    def __init__(self, is_batch: bool = True) -> None:
        self.is_batch = is_batch

    def _add_source(self, source: Any, name: str, output_type: Any, watermarks: Any = None) -> LocalStream:
        return LocalStream(list(_read(source)), self)

    def from_collection(self, batches: list[ColumnBatch]) -> LocalStream:
        return LocalStream([Record(each) for each in batches], self)


class LocalStream:
    """Elements in order: batches, and watermarks between them."""

    _upstreams = ()

    def __init__(self, elements: list[Any], env: LocalEnvironment) -> None:
        self.elements = elements
        self._env = env

    def name(self, name: str) -> LocalStream:
        return self

    def global_(self) -> LocalStream:
        return self

    def force_non_parallel(self) -> LocalStream:
        return self

    def _partitioned(self, partitioner: Any) -> LocalStream:
        return self

    def _most_subtasks(self) -> int:
        return 1

    def _keeping_parallelism(self, stream: LocalStream) -> LocalStream:
        return stream

    def union(self, *others: LocalStream) -> LocalStream:
        # The watermarks of one would run ahead of the rows of another.
        every = [each for stream in (self, *others) for each in stream.elements]
        return LocalStream([each for each in every if isinstance(each, ColumnBatch)], self._env)

    def _transform(self, operation: CustomOperator | ColumnOperator, name: str, output_type: Any) -> LocalStream:
        harness = OperatorHarness(operation, keeps_columns=True, is_batch=self._env.is_batch)
        for element in self.elements:
            if isinstance(element, Record):
                harness.process(element.value)
            elif isinstance(element, Watermark):
                harness.watermark(element.timestamp)
            else:
                harness.operator.process_columns(element)
        harness.end_input()
        harness.close()
        return LocalStream(harness.elements(), self._env)


def _read(source: Any) -> Iterator[ColumnBatch]:
    enumerator, reader = source.create_enumerator(1), source.create_reader()
    while not enumerator.is_finished:
        for split in enumerator.poll(sys.maxsize):
            yield from reader.read_columns(split)
