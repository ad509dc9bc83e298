"""Runs any query over tables that are lists of rows, without Spark: its plan is the one that a job would run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import (
    Column,
    Constants,
    Relation,
    Scan,
    UnionAll,
)
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.joins.join import TwoSidedNode
from funke.engine.sql.plan.joins.multi_join import MultiJoin
from funke.engine.sql.plan.joins.semi_join import SemiJoin
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.columns.column_batch import ColumnBatch
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.plan_nodes import factories_of, join_harness, joined
from tests.harness.sql_changelogs import Change, batch_of, changes_of, inserts

Rows = Sequence[tuple[Any, ...]]


class SmallTable:
    """A table of a test: its rows come in batches of some size, and event time stands still until all have come."""

    def __init__(self, columns: Sequence[Column], rows: Rows) -> None:
        self.columns = tuple(columns)
        self.rows = rows

    def batches(self, columns: Sequence[Column], size: int) -> Iterator[ColumnBatch]:
        """The columns that a plan reads."""
        names = [each.name for each in self.columns]
        indexes = [names.index(each.name) for each in columns]
        time = next((index for index, each in enumerate(self.columns) if each.time is TimeAttribute.ROWTIME), None)
        for start in range(0, len(self.rows), size):
            rows = self.rows[start : start + size]
            batch = batch_of(inserts([tuple(row[index] for index in indexes) for row in rows]), columns)
            if time is not None:
                timestamps = pa.array([row[time] for row in rows], pa.timestamp("ms"))
                batch = ColumnBatch(batch.data, np.asarray(timestamps.cast(pa.int64())), batch.kinds)
            yield batch


def planned(
    text: str, tables: Mapping[str, SmallTable], is_streaming: bool = True, settings: Mapping[str, str] | None = None
) -> Relation:
    """The plan that a job of a session would run."""
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    scans = {(name,): Scan(table.columns, table, (name,)) for name, table in tables.items()}
    session: Any = SimpleNamespace(is_streaming=is_streaming, settings=settings or {})
    binder = QueryBinder(scans.get, is_streaming=is_streaming)
    return planned_rows(session, binder.bind(statement.query))


def changes_from(relation: Relation, size: int) -> list[Change]:
    """All changes that a plan emits, if its tables come in batches of a size."""
    elements = _elements(relation, size)
    return [change for each in elements if isinstance(each, ColumnBatch) for change in changes_of(each, relation)]


def _elements(relation: Any, size: int) -> Iterator[Any]:
    """Everything that comes out of a relation: batches and watermarks."""
    if isinstance(relation, Scan):
        yield from relation.table.batches(relation.columns, size)
    elif isinstance(relation, Constants):
        yield batch_of(inserts(relation.rows), relation.columns)
    elif isinstance(relation, UnionAll):
        for each in relation.inputs:
            yield from (item for item in _elements(each, size) if isinstance(item, ColumnBatch))
    elif isinstance(relation, SemiJoin | TwoSidedNode | MultiJoin):
        harness = join_harness(relation)
        yield from joined(relation, [_elements(each, size) for each in relation.inputs], harness)
        harness.end_input()
        yield from harness.elements()
    else:
        elements = _elements(relation.input, size)
        for create in factories_of(relation):
            elements = _through(OperatorHarness(ColumnOperator(create), keeps_columns=True), elements)
        yield from elements


class RunningPlan:
    """A plan whose tables all get each row at the same time, before the next one comes."""

    def __init__(self, relation: Relation, clock: ManualClock | None = None) -> None:
        self._relation = relation
        self._clock = clock or ManualClock()
        self._harnesses: dict[int, list[OperatorHarness]] = {}
        self._is_new = True

    def feed(self, *rows: Mapping[str, Any]) -> list[Change]:
        """One row, or a batch of them; what comes out for them."""
        elements = self._elements(self._relation, rows)
        self._is_new = False
        batches = [each for each in elements if isinstance(each, ColumnBatch)]
        return [change for batch in batches for change in changes_of(batch, self._relation)]

    def _elements(self, relation: Any, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        if isinstance(relation, Scan):
            values = [tuple(row[each.name] for each in relation.columns) for row in rows]
            return [batch_of(inserts(values), relation.columns)]
        if isinstance(relation, Constants):
            return [batch_of(inserts(relation.rows), relation.columns)] if self._is_new else []
        if isinstance(relation, UnionAll):
            return [element for each in relation.inputs for element in self._elements(each, rows)]
        if isinstance(relation, SemiJoin | TwoSidedNode | MultiJoin):
            if id(relation) not in self._harnesses:
                self._harnesses[id(relation)] = [join_harness(relation)]
            sides = [self._elements(each, rows) for each in relation.inputs]
            return joined(relation, sides, self._harnesses[id(relation)][0])
        elements = self._elements(relation.input, rows)
        if not elements:
            return []
        if id(relation) not in self._harnesses:
            operators = map(ColumnOperator, factories_of(relation))
            self._harnesses[id(relation)] = [
                OperatorHarness(each, keeps_columns=True, clock=self._clock) for each in operators
            ]
        for harness in self._harnesses[id(relation)]:
            for element in elements:
                if isinstance(element, Watermark):
                    harness.watermark(element.timestamp)
                else:
                    harness.operator.process_columns(element)
            elements = harness.elements()
        return elements


def _through(harness: OperatorHarness, elements: Iterator[Any]) -> Iterator[Any]:
    """What an operator makes of batches and watermarks, and of the end."""
    for element in elements:
        if isinstance(element, Watermark):
            harness.watermark(element.timestamp)
        elif isinstance(element, ColumnBatch):
            harness.operator.process_columns(element)
        yield from harness.elements()
    harness.end_input()
    yield from harness.elements()
    harness.close()
