"""Runs queries over one table that changes, without Spark: what goes in and comes out are changes in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Aggregation, Calculation, Column, Relation, Scan
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.changelogs.changelog_mode import for_consumer
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS, ChangeSettings
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.sql_text import from_sql_text
from funke.engine.types.row import RowKind
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factories_of

# A kind as its sign (+I, -U, +U, -D), and the values.
Change = tuple[str, tuple[Any, ...]]

SIGNS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
_SIGN_OF = {kind.value: sign for sign, kind in SIGNS.items()}


def bound_query(
    text: str, *, has_changes: bool = False, settings: ChangeSettings | None = None, **columns: str
) -> Relation:
    """The meaning of a query over the table t, whose columns have types as SQL texts."""
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    table = tuple(Column(name, from_sql_text(each)) for name, each in columns.items())
    scan = Scan(table, None, ("t",), ALL_KINDS if has_changes else INSERTS)
    relation = QueryBinder({("t",): scan}.get).bind(statement.query)
    return for_consumer(without_unused(lower(relation)), ALL_KINDS, settings)


class RunningQuery:
    """The operators of a query that reads one table once."""

    def __init__(self, relation: Relation, **harness: Any) -> None:
        self.relation = relation
        restored = harness.pop("restored", None)
        self._harnesses = []
        for is_stateful, each in _operators_of(relation):
            own = restored if is_stateful else None
            created = OperatorHarness(ColumnOperator(each), keeps_columns=True, restored=own, **harness)
            self._harnesses.append(created)
            if is_stateful:
                self.stateful = created
        self._columns = _scan_of(relation).columns

    def feed(self, changes: Sequence[Change]) -> list[Change]:
        """One batch of changes; what comes out for it."""
        return [
            change
            for batch in self.run([batch_of(changes, self._columns)])
            for change in changes_of(batch, self.relation)
        ]

    def run(self, batches: list[ColumnBatch]) -> list[ColumnBatch]:
        """Hands batches from operator to operator."""
        for harness in self._harnesses:
            for batch in batches:
                harness.operator.process_columns(batch)
            batches = harness.elements()
        return batches

    def close(self) -> None:
        for each in self._harnesses:
            each.close()


def batch_of(changes: Sequence[Change], columns: Sequence[Column]) -> ColumnBatch:
    """Changes as columns."""
    arrays = [from_values([row[index] for _, row in changes], each.type) for index, each in enumerate(columns)]
    kinds = np.array([SIGNS[sign].value for sign, _ in changes], np.int8)
    return ColumnBatch(
        pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns)), None, kinds if kinds.any() else None
    )


def changes_of(batch: ColumnBatch, relation: Relation) -> list[Change]:
    """Columns as changes."""
    lists = [to_values(column, each.type) for column, each in zip(batch.data.columns, relation.columns)]
    kinds = [0] * len(batch) if batch.kinds is None else batch.kinds.tolist()
    return [(_SIGN_OF[kind], row) for kind, row in zip(kinds, zip(*lists))]


def one_by_one(relation: Relation, changes: Sequence[Change]) -> list[Change]:
    """What Flink's rules make of changes, row by row: of an aggregation and the two calculations around it."""
    assert isinstance(relation, Calculation) and isinstance(relation.input, Aggregation)
    aggregation = relation.input
    changes_of_input = RunningQuery(aggregation.input).feed(changes)
    keeps_counts = as_node(aggregation.input).has_retractions
    bodies = [replace(each.call, has_retractions=keeps_counts).body for each in aggregation.aggregates]
    groups: dict[Any, list[Any]] = {}
    results: list[Change] = []
    for sign, row in changes_of_input:
        key = tuple(row[index] for index in aggregation.keys)
        is_taken_in = sign in ("+I", "+U")
        is_first = key not in groups
        if is_first and not is_taken_in:
            continue
        count, accumulators, seen = groups.setdefault(
            key, [0, [body.create() for body in bodies], [Counter() for _ in bodies]]
        )
        before = tuple(body.value(each) for body, each in zip(bodies, accumulators))
        for body, each, accumulator, values in zip(bodies, aggregation.aggregates, accumulators, seen):
            arguments = tuple(row[index] for index in each.arguments)
            if each.condition is not None and not row[each.condition]:
                continue
            values[arguments] += 1 if is_taken_in else -1
            if not each.call.is_distinct or values[arguments] == (1 if is_taken_in else 0):
                (body.accumulate if is_taken_in else body.retract)(accumulator, *arguments)
        groups[key][0] = count = count + (1 if is_taken_in else -1)
        after = tuple(body.value(each) for body, each in zip(bodies, accumulators))
        if count == 0:
            del groups[key]
            results.append(("-D", key + before))
        elif is_first:
            results.append(("+I", key + after))
        elif before != after:
            results += [("-U", key + before), ("+U", key + after)]
    batch = batch_of(results, aggregation.columns)
    last = RunningQuery(replace(relation, input=lower(Scan(aggregation.columns, None))))
    return [change for each in last.run([batch]) for change in changes_of(each, relation)]


def folded(changes: Sequence[Change]) -> list[tuple[Any, ...]]:
    """The rows that are there after all changes, sorted by their text."""
    rows: list[tuple[Any, ...]] = []
    for sign, row in changes:
        if sign in ("+I", "+U"):
            rows.append(row)
        else:
            rows.remove(row)
    return sorted(rows, key=repr)


def inserts(rows: Sequence[tuple[Any, ...]]) -> list[Change]:
    """Rows that are inserted."""
    return [("+I", row) for row in rows]


def _operators_of(relation: Any) -> list[tuple[bool, Any]]:
    """What makes the operators, and whether they keep state."""
    if isinstance(relation, Scan):
        return []
    is_stateful = isinstance(relation, (Aggregation, TableAggregation))
    return [*_operators_of(relation.input), *((is_stateful, each) for each in factories_of(relation))]


def _scan_of(relation: Any) -> Scan:
    return relation if isinstance(relation, Scan) else _scan_of(relation.input)
