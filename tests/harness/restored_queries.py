"""Starts a query from the state of another one without Spark: its plan is the one that a job would run.

What is compared, and how state is moved, is what a job does when it starts from a savepoint.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.config.settings import Settings
from funke.engine.connectors.collection import CollectionSource
from funke.engine.graph.builder import GraphBuilder, StreamRef
from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.stream_graph import StreamNode
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry
from funke.engine.jobs.checkpoints.start_point import state_moves
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.changelogs.changes import INSERTS
from funke.engine.sql.plan.to_graph import stream_of
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.sql.stream_types import row_type_of
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.sql_changelogs import Change, batch_of, changes_of

Rows = Sequence[Change]


class Unclaimed(Exception):
    """State that no operator of the query claims, which a job rejects."""


@dataclass(frozen=True)
class FedTable:
    """A table whose rows a test feeds."""

    name: str
    columns: tuple[Column, ...]
    kinds: frozenset[RowKind] = INSERTS
    primary_key: tuple[str, ...] = ()

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        """A source, in whose place the test feeds rows."""
        source, uid = CollectionSource([]), builder.new_uid(uid_prefix)
        return builder.add_source(source, name=self.name, type_info=row_type_of(columns), uid=uid)

    def scan(self) -> Scan:
        """Its rows."""
        return Scan(self.columns, self, (self.name,), self.kinds, self.primary_key)

    def batch(self, columns: Sequence[str], rows: Rows) -> ColumnBatch:
        """Rows as the columns that a plan reads."""
        names = [each.name for each in self.columns]
        indexes = [names.index(each) for each in columns]
        input_rows = [(sign, tuple(row[index] for index in indexes)) for sign, row in rows]
        batch = batch_of(input_rows, [self.columns[index] for index in indexes])
        time = next((index for index, each in enumerate(self.columns) if each.time is TimeAttribute.ROWTIME), None)
        if time is None:
            return batch
        stamps = pa.array([row[time] for _, row in rows], pa.timestamp("ms"))
        return ColumnBatch(batch.data, np.asarray(stamps.cast(pa.int64())), batch.kinds)


@dataclass(frozen=True)
class Savepoint:
    """The state of operators by their uids, each with what it means."""

    states: dict[str, bytes] = field(default_factory=dict)
    meanings: dict[str, str | None] = field(default_factory=dict)

    def checkpoint(self) -> Checkpoint:
        """As a job finds it."""
        handle = SnapshotHandle(tuple(self.states), 0, 1, "0", 0)
        return Checkpoint("job", 1, 1, snapshots=(handle,), operators=_entries(self.meanings), path="/savepoint")

    def without_meanings(self) -> Savepoint:
        """As earlier versions have written it."""
        return Savepoint(self.states, dict.fromkeys(self.meanings))


def _entries(meanings: Mapping[str, str | None]) -> dict[str, OperatorEntry]:
    return {uid: OperatorEntry(uid, uid, 1, 128, uid=uid, meaning=meaning) for uid, meaning in meanings.items()}


class Query:
    """The operators of a query, perhaps with the state of another one; StateError if that is not theirs."""

    def __init__(
        self,
        text: str,
        tables: Mapping[str, FedTable],
        restored: Savepoint | None = None,
        *,
        backend: str = "hashmap",
        settings: Mapping[str, str] | None = None,
        wrap: Callable[[Relation], Relation] = lambda relation: relation,
    ) -> None:
        (statement,) = parse(text)
        assert isinstance(statement, QueryStatement)
        self._tables = tables
        session: Any = SimpleNamespace(is_streaming=True, settings=settings or {})
        scans = {(name,): table.scan() for name, table in tables.items()}
        self.relation = wrap(planned_rows(session, QueryBinder(scans.get).bind(statement.query)))
        builder = GraphBuilder(Settings({"parallelism.default": 2}))
        self._last = [each.node_id for each in stream_of(builder, self.relation).upstreams]
        self._nodes: dict[int, StreamNode] = builder.graph.nodes
        stateful = {n.uid: n.operation for n in self._nodes.values() if _is_operator(n) and n.uid is not None}
        self.meanings = {uid: _meaning(operation) for uid, operation in stateful.items()}
        moves = {}
        if restored is not None:
            unclaimed = restored.states.keys() - self.meanings.keys()
            if unclaimed:
                raise Unclaimed(unclaimed)
            moves = state_moves(restored.checkpoint(), _entries(self.meanings))
        self._harnesses: dict[int, OperatorHarness] = {}
        for number, node in self._nodes.items():
            if not _is_operator(node):
                continue
            state = None if restored is None or node.uid is None else restored.states.get(node.uid)
            harness = OperatorHarness(
                node.operation,
                keeps_columns=True,
                backend=choice_of(backend),
                restored=None if state is None else [state],
                moves=moves.get(node.uid or ""),
            )
            self._harnesses[number] = harness

    def feed(self, rows: Mapping[str, Rows], watermark: int | None = None) -> list[Change]:
        """Rows of tables, then a watermark; all changes that come out."""
        sent: dict[int, list[ColumnBatch]] = {}
        for number, node in self._nodes.items():
            input_rows = [(edge.input_index, batch) for edge in node.inputs for batch in sent[edge.source]]
            if node.name in self._tables:
                columns = [each for each in node.output_type.get_field_names()]  # type: ignore[union-attr]
                own = rows.get(node.name, ())
                sent[number] = [self._tables[node.name].batch(columns, own)] if own else []
            elif number in self._harnesses:
                sent[number] = list(_through(self._harnesses[number], input_rows, watermark))
            else:
                sent[number] = [batch for _, batch in input_rows]
        return [change for each in self._last for batch in sent[each] for change in changes_of(batch, self.relation)]

    def savepoint(self) -> Savepoint:
        """Stops, and leaves its state."""
        states = {}
        for number, harness in self._harnesses.items():
            uid = self._nodes[number].uid
            snapshot = harness.snapshot()
            keyed, own, *_ = pickle.loads(snapshot)
            if uid is not None and (keyed or own is not None):
                states[uid] = snapshot
        self.close()
        return Savepoint(states, self.meanings)

    def close(self) -> None:
        """Lets go of everything."""
        for each in self._harnesses.values():
            each.close()


def _is_operator(node: StreamNode) -> bool:
    return isinstance(node.operation, ColumnOperator)


def _meaning(operation: Any) -> str | None:
    return None if operation.meaning is None else operation.meaning.to_text()


def _through(
    harness: OperatorHarness, arguments: list[tuple[int, ColumnBatch]], watermark: int | None
) -> Iterator[ColumnBatch]:
    for index, batch in arguments:
        harness.operator.columns_handler(index)(batch)
    if watermark is not None:
        harness.watermark(watermark)
    yield from (each for each in harness.elements() if not isinstance(each, Watermark))
