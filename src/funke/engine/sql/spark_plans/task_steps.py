"""The work of a Spark task on rows: a chain of steps, each of which maps batches to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.connectors.source import Split, SplitReader
from funke.engine.operators.operator import MAX_WATERMARK, Operator, OperatorContext, Output, TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.operator_location import OperatorLocation

__all__ = [
    "InTimeOrder",
    "JoinSides",
    "OperatorStep",
    "ReadSplits",
    "SideColumns",
    "TaskStep",
    "TypedColumns",
    "through",
]

Batches = Iterator[ColumnBatch]


class TaskStep(Protocol):
    """A step; is sent to tasks, and knows nothing of Spark."""

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        """Returns the rows of a task after the step."""
        ...


def through(steps: tuple[TaskStep, ...], batches: Batches, task: TaskInfo) -> Batches:
    """The rows after several steps."""
    for step in steps:
        batches = step.run(batches, task)
    return batches


@dataclass(frozen=True)
class ReadSplits:
    """Reads splits with a connector's own reader: each row that comes is the number of a share of the splits."""

    reader: SplitReader
    splits: tuple[Split, ...]
    shares: int
    columns: tuple[Column, ...]

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        schema, forms = schema_of(self.columns), EdgeForms(row_type_of(self.columns))
        self.reader.open()
        try:
            for number in (number for batch in batches for number in batch.data.column(0).to_pylist()):
                for split in self.splits[number :: self.shares]:
                    batches_of_split = self.reader.read_columns(split)
                    if batches_of_split is None:
                        batches_of_split = (forms.columns_of(*rows) for rows in self.reader.read(split))
                    yield from (as_schema(batch, schema) for batch in batches_of_split if len(batch))
        finally:
            self.reader.close()


@dataclass(frozen=True)
class TypedColumns:
    """Gives columns that Spark has read the names and types of a table."""

    columns: tuple[Column, ...]

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        schema = schema_of(self.columns)
        for batch in batches:
            yield ColumnBatch(batch.data.rename_columns(schema.names).cast(schema, safe=False))


@dataclass(frozen=True)
class OperatorStep:
    """An operator of slots that looks at single rows."""

    make: Callable[[TaskInfo], Operator]

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        running = _Running(self.make, task)
        try:
            for batch in batches:
                yield from running.take(batch)
            yield from running.advance(MAX_WATERMARK)
        finally:
            running.operator.close()


@dataclass(frozen=True)
class InTimeOrder:
    """An operator of slots whose rows come in the order of their times: each batch tells how far event time is."""

    make: Callable[[TaskInfo], Operator]
    time: int

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        running = _Running(self.make, task)
        try:
            for batch in batches:
                yield from running.take(batch)
                # Event time moves with every batch, so the operator holds the rows of a batch and not of the whole
                # partition.
                latest = batch.data.column(self.time)[-1]
                if latest.is_valid:
                    # Rows of the same time may follow.
                    yield from running.advance(int(latest.cast(pa.timestamp("ms", latest.type.tz)).value) - 1)
            yield from running.advance(MAX_WATERMARK)
        finally:
            running.operator.close()


@dataclass(frozen=True)
class SideColumns:
    """The rows of a side of a join beside NULLs in place of the other's, so that both may come together.

    The keys stand in front, the number of the side at the end.
    """

    side: int
    keys: tuple[int, ...]
    # Of the keys, of both sides and of the number.
    columns: tuple[Column, ...]
    # Where the columns of this side begin.
    first: int

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        schema = schema_of(self.columns)
        for batch in batches:
            own, count = batch.data.columns, len(batch)
            arrays = [pa.nulls(count, field.type) for field in schema]
            arrays[: len(self.keys)] = [own[key] for key in self.keys]
            arrays[self.first : self.first + len(own)] = own
            arrays[-1] = pa.repeat(pa.scalar(self.side, schema.types[-1]), count)
            yield ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema))


@dataclass(frozen=True)
class JoinSides:
    """The operator of a join, for rows of both sides that come together, as `SideColumns` makes them."""

    make: Callable[[TaskInfo], Operator]
    # The columns of each side among those that come.
    indexes: tuple[tuple[int, ...], tuple[int, ...]]

    def run(self, batches: Batches, task: TaskInfo) -> Batches:
        running = _Running(self.make, task)
        try:
            for batch in batches:
                sides = batch.data.column(batch.data.num_columns - 1)
                for side, indexes in enumerate(self.indexes):
                    rows = batch.data.filter(pc.equal(sides, side)).select(list(indexes))
                    if rows.num_rows:
                        yield from running.take(ColumnBatch(rows), side)
            yield from running.advance(MAX_WATERMARK)
        finally:
            running.operator.close()


class _Running:
    """An operator with what it has sent."""

    def __init__(self, make: Callable[[TaskInfo], Operator], task: TaskInfo) -> None:
        self._sent = _Sent()
        output = Output()
        output.connect(self._sent, OperatorLocation(task.task_name))
        self.operator = make(task)
        self.operator.setup(OperatorContext(task, task.task_name, task.task_name, output))
        self.operator.open()

    def take(self, batch: ColumnBatch, side: int = 0) -> list[ColumnBatch]:
        self.operator.columns_handler(side)(batch)
        return self._sent.take_all()

    def advance(self, watermark: int) -> list[ColumnBatch]:
        self.operator.process_watermark(watermark)
        if watermark == MAX_WATERMARK:
            self.operator.end_input()
        return self._sent.take_all()


class _Sent:
    takes_rows = False
    takes_columns = True
    wants_columns = True

    def __init__(self) -> None:
        self._batches: list[ColumnBatch] = []

    def process_columns(self, batch: ColumnBatch) -> None:
        self._batches.append(batch)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        raise AssertionError("operators of tables send columns")

    def process_watermark(self, watermark: int) -> None:
        """No later step uses event time."""

    def process_status(self, is_idle: bool) -> None:
        """No later step uses event time."""

    def take_all(self) -> list[ColumnBatch]:
        batches, self._batches = self._batches, []
        return batches
