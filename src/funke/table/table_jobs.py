"""Jobs of tables: those whose rows a program collects, and those that write rows to tables."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from funke.engine.config.secret_keys import masked_sql
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.flink_exceptions import TableException
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator, WriteSink
from funke.engine.graph.partitioners import Hash
from funke.engine.graph.stream_graph import StatementText, StreamGraph
from funke.engine.sql.binding.materialization import Materialization
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.binding.spark_rows import SparkRows
from funke.engine.sql.changelog.change_kinds import INSERTS, kinds_of
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.operators.batch_elements import pack_batches
from funke.engine.sql.rules.shared_relations import Reuse
from funke.engine.sql.statements.explanations import plan_text
from funke.engine.sql.statements.outcome import InsertPlan
from funke.table.relation_streams import shared_streams, stream_of, written_stream
from funke.table.state_ids import state_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from funke.datastream.data_stream import DataStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["attach_inserts", "collecting_graph", "inserting_graph", "start_collecting", "start_inserting"]


# Queries may have thousands of columns; this is for people.
_MOST_TEXT = 20_000


def start_collecting(
    env: StreamExecutionEnvironment, relation: Relation, reuse: Reuse, text: str = ""
) -> tuple[SubmittedJob, str]:
    """Start the job that computes rows; return it with the name by which their batches are collected."""
    channel = uuid.uuid4().hex
    return _submitted(env, collecting_graph(env, relation, channel, reuse, text)), channel


def collecting_graph(
    env: StreamExecutionEnvironment, relation: Relation, channel: str, reuse: Reuse, text: str = ""
) -> StreamGraph:
    """The graph of the job that computes rows."""
    with env._temporary_nodes(), shared_streams(reuse):
        rows = stream_of(env, relation)
        packed = rows._keeping_parallelism(rows._transform(ColumnOperator(pack_batches), "Collect", None))
        sink = env._append(WriteSink(CollectSink(channel)), "Collect table sink", [packed._upstreams], None)
        sink.statement = _statement(text, plan_text(relation))
        sink.parallelism = packed._most_subtasks()
        return env._graph_of({sink.id}, "collect")


def start_inserting(
    env: StreamExecutionEnvironment, plans: Sequence[InsertPlan], reuse: Reuse, job_name: str | None = None
) -> SubmittedJob:
    """Start the job that writes rows to tables."""
    return _submitted(env, inserting_graph(env, plans, reuse, job_name))


def inserting_graph(
    env: StreamExecutionEnvironment, plans: Sequence[InsertPlan], reuse: Reuse, job_name: str | None = None
) -> StreamGraph:
    """The graph of the job that writes rows to tables."""
    with env._temporary_nodes():
        first = env._last_id + 1
        attach_inserts(env, plans, reuse)
        written = {number for number in range(first, env._last_id + 1) if number in env._pending}
        name = job_name or f"insert-into_{','.join(plan.name for plan in plans)}"
        return env._graph_of(written, name)


def _submitted(env: StreamExecutionEnvironment, graph: StreamGraph) -> SubmittedJob:
    env._pending.difference_update(graph.nodes)
    return env._submit(graph)


def attach_inserts(env: StreamExecutionEnvironment, plans: Sequence[InsertPlan], reuse: Reuse) -> None:
    """Add what writes rows to tables to an environment; what is equal among them is computed once."""
    with shared_streams(reuse):
        for plan in plans:
            _attach_insert(env, plan)


def _attach_insert(env: StreamExecutionEnvironment, plan: InsertPlan) -> None:
    rows, sink = _rows_and_sink(env, plan)
    subtasks = rows._most_subtasks()
    given = subtasks or env.get_parallelism()
    with state_ids(env, f"Sink {plan.name}"):
        sink.write(_spread(rows, plan, given), plan.relation.columns, kinds_of(plan.relation), plan.primary_key)
    # Its sink is what was added last.
    written = env._nodes.nodes[env._last_id]
    written.statement = _statement(plan.text, plan_text(plan.relation, plan))
    if sink.parallelism is None:
        # Changes arrive in the order in which they were made.
        written.parallelism = subtasks


def _rows_and_sink(env: StreamExecutionEnvironment, plan: InsertPlan) -> tuple[DataStream, TableSink]:
    if not plan.is_written_by_spark:
        return stream_of(env, plan.relation), plan.sink
    assert isinstance(plan.relation, SparkRows)
    rows, frame = written_stream(env, plan.relation)
    return rows, plan.sink.with_frame(frame)


def _spread(rows: DataStream, plan: InsertPlan, given: int) -> DataStream:
    """Rows for the subtasks that write: those of a key stay together if these are others than have made them."""
    subtasks = plan.sink.parallelism or given
    is_same, has_changes = subtasks == given, kinds_of(plan.relation) != INSERTS
    if not is_same and has_changes and not plan.primary_key:
        raise TableException(
            f"The sink for table '{plan.name}' has a configured parallelism of {plan.sink.parallelism}, while the "
            f"input parallelism is {given}. Since the configured parallelism is different from the input's parallelism "
            "and the changelog mode is not insert-only, a primary key is required but could not be found."
        )
    if not plan.primary_key or not _is_by_key(plan, is_same, subtasks):
        return rows
    names = tuple(plan.relation.columns[place].name for place in plan.primary_key)
    return rows._partitioned(Hash(ColumnKey(names)))


def _is_by_key(plan: InsertPlan, is_same: bool, subtasks: int) -> bool:
    if isinstance(plan.relation, Materialization):
        # Made by key, by default in as many subtasks.
        return not is_same
    return {"AUTO": not is_same, "FORCE": subtasks != 1}.get(plan.keyed_shuffle, False)


def _statement(sql: str, plan: str) -> StatementText:
    return StatementText(masked_sql(sql)[:_MOST_TEXT], plan[:_MOST_TEXT])
