"""Batches of columns as single elements of a stream: how rows of a program get into a job, and results out of it."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["pack_batches", "unpack_batches", "unpack_inserts"]


def unpack_batches(task: TaskInfo) -> Operator:
    """Return the operator whose elements are batches, and whose results are their rows."""
    return _UnpackOperator()


def unpack_inserts(task: TaskInfo) -> Operator:
    """Return the operator whose elements are batches; their rows leave as inserts, whatever their kinds."""
    return _UnpackInsertsOperator()


def pack_batches(task: TaskInfo) -> Operator:
    """Return the operator whose results are the batches that it gets, each as one element."""
    return _PackOperator()


class _UnpackOperator(Operator):
    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        for batch in values:
            self.records_in += len(batch)
            self.output.emit_columns(batch)


class _UnpackInsertsOperator(_UnpackOperator):
    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        super().process_batch([ColumnBatch(batch.data, batch.timestamps) for batch in values], timestamps)


class _PackOperator(Operator):
    takes_rows = False
    takes_columns = True

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        self.output.emit([batch], None)
