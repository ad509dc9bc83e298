"""Jobs of tables: those whose rows a program collects, and those that write rows to tables."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from funke.engine.config import flink_options as options
from funke.engine.config.secret_keys import masked_sql
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.flink_exceptions import TableException
from funke.engine.graph.builder import OF_INPUT, GraphBuilder, StreamRef
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.partitioners import Hash
from funke.engine.graph.stream_graph import StatementText, StreamGraph, StreamNode
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.operators.batch_elements import pack_batches
from funke.engine.sql.plan import INSERTS, as_node
from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.plan.to_graph import shared_streams, stream_of, written_stream
from funke.engine.sql.rules.shared_relations import Reuse
from funke.engine.sql.statements.outcome import InsertPlan
from funke.engine.sql.statements.plans.explanations import plan_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["attach_inserts", "collecting_graph", "inserting_graph", "start_collecting", "start_inserting"]


# Queries may have thousands of columns; this is for people.
_MOST_TEXT = 20_000


def start_collecting(
    env: StreamExecutionEnvironment, relation: Relation, reuse: Reuse, text: str = "", job_name: str | None = None
) -> tuple[SubmittedJob, str]:
    """Start the job that computes rows; return it with the name by which their batches are collected."""
    channel = uuid.uuid4().hex
    return _submitted(env, collecting_graph(env, relation, channel, reuse, text, job_name)), channel


def collecting_graph(
    env: StreamExecutionEnvironment,
    relation: Relation,
    channel: str,
    reuse: Reuse,
    text: str = "",
    job_name: str | None = None,
) -> StreamGraph:
    """The graph of the job that computes rows."""
    builder = env._builder
    with builder.temporary_nodes(), shared_streams(reuse):
        rows = stream_of(builder, relation)
        packed = builder.add(ColumnOperator(pack_batches), [rows], name="Collect", parallelism=OF_INPUT)
        statement = _statement(text, plan_text(relation))
        name = "Collect table sink"
        sink = builder.add_sink(CollectSink(channel), packed, name=name, parallelism=OF_INPUT, statement=statement)
        return env._graph_of({sink.id}, job_name or env._settings.get(options.JOB_NAME) or "collect")


def start_inserting(
    env: StreamExecutionEnvironment, plans: Sequence[InsertPlan], reuse: Reuse, job_name: str | None = None
) -> SubmittedJob:
    """Start the job that writes rows to tables."""
    return _submitted(env, inserting_graph(env, plans, reuse, job_name))


def inserting_graph(
    env: StreamExecutionEnvironment, plans: Sequence[InsertPlan], reuse: Reuse, job_name: str | None = None
) -> StreamGraph:
    """The graph of the job that writes rows to tables."""
    with env._builder.temporary_nodes():
        sinks = attach_inserts(env._builder, plans, reuse)
        own_name = job_name or env._settings.get(options.JOB_NAME)
        name = own_name or f"insert-into_{','.join(plan.name for plan in plans)}"
        return env._graph_of({sink.id for sink in sinks}, name)


def _submitted(env: StreamExecutionEnvironment, graph: StreamGraph) -> SubmittedJob:
    env._builder.pending.difference_update(graph.nodes)
    return env._submit(graph)


def attach_inserts(builder: GraphBuilder, plans: Sequence[InsertPlan], reuse: Reuse) -> list[StreamNode]:
    """Add what writes rows to tables to a graph; return the sinks. What is equal among them is computed once."""
    with shared_streams(reuse):
        return [_attach_insert(builder, plan) for plan in plans]


def _attach_insert(builder: GraphBuilder, plan: InsertPlan) -> StreamNode:
    rows, sink = _rows_and_sink(builder, plan)
    subtasks = builder.parallelism_of(rows)
    spread = _spread(rows, plan, subtasks or builder.parallelism)
    return builder.add_sink(
        sink.create_sink(plan.relation.columns, plan.primary_key),
        spread if sink.partitioner is None else spread.partitioned(sink.partitioner),
        name=f"{sink.summary} Sink",
        uid=builder.new_uid(f"Sink {plan.name}"),
        # By default changes arrive in the order in which they were made.
        parallelism=subtasks if sink.parallelism is None else sink.parallelism,
        statement=_statement(plan.text, plan_text(plan.relation, plan)),
    )


def _rows_and_sink(builder: GraphBuilder, plan: InsertPlan) -> tuple[StreamRef, TableSink]:
    if not plan.is_written_by_spark:
        return stream_of(builder, plan.relation), plan.sink
    assert isinstance(plan.relation, SparkRows)
    rows, frame = written_stream(builder, plan.relation)
    return rows, plan.sink.with_frame(frame)


def _spread(rows: StreamRef, plan: InsertPlan, parallelism: int) -> StreamRef:
    """Rows for the subtasks that write: those of a key stay together if these are others than have made them."""
    subtasks = plan.sink.parallelism or parallelism
    is_same, has_changes = subtasks == parallelism, as_node(plan.relation).changelog() != INSERTS
    if not is_same and has_changes and not plan.primary_key:
        raise TableException(
            f"The sink for table '{plan.name}' has a configured parallelism of {plan.sink.parallelism}, while the "
            f"input parallelism is {parallelism}. Since the configured parallelism is different from the input's "
            "parallelism and the changelog mode is not insert-only, a primary key is required but could not be found."
        )
    if not plan.primary_key or not _is_by_key(plan, is_same, subtasks):
        return rows
    names = tuple(plan.relation.columns[index].name for index in plan.primary_key)
    return rows.partitioned(Hash(ColumnKey(names)))


def _is_by_key(plan: InsertPlan, is_same: bool, subtasks: int) -> bool:
    if isinstance(plan.relation, SinkMaterialize):
        # Made by key, by default in as many subtasks.
        return not is_same
    return {"AUTO": not is_same, "FORCE": subtasks != 1}.get(plan.keyed_shuffle, False)


def _statement(sql: str, plan: str) -> StatementText:
    return StatementText(masked_sql(sql)[:_MOST_TEXT], plan[:_MOST_TEXT])
