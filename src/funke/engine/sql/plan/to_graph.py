"""From plan nodes to a stream graph: every node says how, few are more than operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from funke import alias
from funke.engine.config import flink_options as options
from funke.engine.connectors.collection import CollectionSource
from funke.engine.graph.builder import OF_INPUT, GraphBuilder, StreamRef
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator, CustomOperator
from funke.engine.graph.partitioners import Global, Hash
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.meaning.column_strings import ColumnStrings
from funke.engine.sql.operators.batch_elements import unpack_batches
from funke.engine.sql.plan import INSERTS, SINGLE, Distribution, PlanNode, as_node
from funke.engine.sql.plan import Hash as HashKeys
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.sql.plan.union import Union
from funke.engine.sql.plan.values import Values
from funke.engine.sql.rules.shared_relations import Reuse, SharedRelations
from funke.engine.sql.spark_plans.plan_source import PlanFrame, PlanSource, WrittenPlan
from funke.engine.sql.spark_plans.task_code import PlanSettings
from funke.engine.sql.stream_types import row_type_of
from funke.engine.sql.table_rows import to_batches

__all__ = ["shared_streams", "stream_of", "written_stream"]

_shared: ContextVar[SharedRelations[StreamRef] | None] = ContextVar("streams of the job under way", default=None)


@contextmanager
def shared_streams(reuse: Reuse) -> Iterator[None]:
    """Equal nodes have one stream meanwhile."""
    token = _shared.set(SharedRelations(reuse))
    try:
        yield
    finally:
        _shared.reset(token)


def stream_of(builder: GraphBuilder, relation: Relation) -> StreamRef:
    """The stream of a node's rows."""
    shared = _shared.get()
    stream = None if shared is None else shared.find(relation)
    if stream is not None:
        return stream
    node = as_node(relation)
    stream = _OTHERS.get(type(node), _operators)(builder, node)
    if shared is not None:
        shared.add(node, stream)
    return stream


def written_stream(builder: GraphBuilder, rows: SparkRows) -> tuple[StreamRef, PlanFrame]:
    """A stream without rows for a table that Spark writes by itself, and what makes the DataFrame of those rows."""
    stream = builder.add_source(WrittenPlan(), name="Spark Plan", type_info=row_type_of(rows.columns))
    return stream, PlanFrame(rows, _plan_settings(builder), is_written=True)


def _operators(builder: GraphBuilder, node: PlanNode) -> StreamRef:
    """The operators of a node, one behind the other; the last one keeps its state."""
    streams = [stream_of(builder, each) for each in node.inputs]
    *first, last = node.phases()
    for each in first:
        streams = [_operator(builder, each, streams, ColumnOperator(each.detached().create))]
    meaning = node.state_meaning(ColumnStrings())
    if meaning is not None:
        # Which rows have come, and from where.
        names = {source.uid or source.name for each in streams for source in builder.sources_of(each)}
        rows = ColumnStrings().rows(*node.inputs)
        # State of the first version carries no number, as in earlier savepoints.
        version = (("version of the state", str(node.state_version)),) if node.state_version > 1 else ()
        facts = (*meaning.facts, *version)
        meaning = replace(meaning, facts=facts, rows=rows, sources=", ".join(sorted(names)))
    return _operator(builder, last, streams, ColumnOperator(last.detached().create, meaning))


def _operator(
    builder: GraphBuilder, node: PlanNode, inputs: Sequence[StreamRef], operation: ColumnOperator
) -> StreamRef:
    distributions = node.distributions()
    uid = builder.new_uid(node.state_name) if node.state_name else None
    if not any(isinstance(each, HashKeys) for each in distributions):
        (stream,) = inputs
        return _in_order(builder, stream, operation, node.operator_name, node.columns, uid)
    return builder.add(
        operation,
        list(map(_exchanged, inputs, node.inputs, distributions)),
        name=node.operator_name,
        type_info=row_type_of(node.columns),
        uid=uid,
        # Without keys all rows have the same one.
        is_parallel=SINGLE not in distributions,
    )


def _in_order(
    builder: GraphBuilder,
    stream: StreamRef,
    operation: CustomOperator,
    name: str,
    columns: Sequence[Column],
    uid: str | None = None,
) -> StreamRef:
    """An operator with the parallelism of its input: as in Flink, rows that come in one order leave in it."""
    type_info = row_type_of(columns)
    return builder.add(operation, [stream], name=name, type_info=type_info, uid=uid, parallelism=OF_INPUT)


def _exchanged(stream: StreamRef, source: PlanNode, distribution: Distribution) -> StreamRef:
    assert isinstance(distribution, HashKeys)
    names = tuple(source.columns[key].name for key in distribution.keys)
    return stream.partitioned(Hash(ColumnKey(names)) if names else Global())


# Nodes that are not just operators


def _scan(builder: GraphBuilder, scan: TableScan) -> StreamRef:
    stream: StreamRef = scan.table.add_to(builder, scan.columns, f"Scan {'.'.join(scan.path)}")
    return stream


def _values(builder: GraphBuilder, values: Values) -> StreamRef:
    source = CollectionSource(list(to_batches(values.columns, values.rows)))
    batches = builder.add_source(source, name="Values", type_info=None)
    return _in_order(builder, batches, CustomOperator(unpack_batches), "Values", values.columns)


def _union(builder: GraphBuilder, union: Union) -> StreamRef:
    streams = [stream_of(builder, each) for each in union.inputs]
    subtasks = [builder.parallelism_of(each) or builder.parallelism for each in streams]
    for index, node in enumerate(union.inputs):
        # Changes that one subtask makes would get out of order if several read them in turns.
        if subtasks[index] == 1 < max(subtasks) and node.changelog() != INSERTS:
            streams[index] = streams[index].partitioned(Global())
    first, *others = streams
    return first.union(*others)


def _spark_rows(builder: GraphBuilder, rows: SparkRows) -> StreamRef:
    source = PlanSource(rows, _plan_settings(builder))
    return builder.add_source(source, name="Spark Plan", type_info=row_type_of(rows.columns))


def _plan_settings(builder: GraphBuilder) -> PlanSettings:
    return PlanSettings(
        builder.parallelism,
        tuple(builder.settings.get(options.GLOBAL_JOB_PARAMETERS).items()),
        ("funke.alias:install",) if alias.is_installed() else (),
    )


_OTHERS: dict[type[PlanNode], Callable[[GraphBuilder, Any], StreamRef]] = {
    SparkRows: _spark_rows,
    TableScan: _scan,
    Union: _union,
    Values: _values,
}
