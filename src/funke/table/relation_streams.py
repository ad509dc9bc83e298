"""Turns what a query means into streams of an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from funke import alias
from funke.engine.config import flink_options as options
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator, CustomOperator
from funke.engine.graph.partitioners import Global, Hash
from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.correlations import Correlation
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.lookup_joins import LookupJoin
from funke.engine.sql.binding.materialization import Materialization
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, WindowRank
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Constants,
    Expansion,
    Limit,
    Relation,
    Scan,
    Sort,
    UnionAll,
)
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.spark_rows import SparkRows
from funke.engine.sql.binding.stream_orders import TemporalSort
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.changelog.change_kinds import INSERTS, kinds_of
from funke.engine.sql.operators.aggregate import Aggregate
from funke.engine.sql.operators.assign_watermarks import AssignWatermarks
from funke.engine.sql.operators.batch_elements import unpack_batches
from funke.engine.sql.operators.calculate import Calculate
from funke.engine.sql.operators.changelog_rows import ReadKinds, WriteKinds
from funke.engine.sql.operators.correlate import Correlate
from funke.engine.sql.operators.enforce_not_null import EnforceNotNull
from funke.engine.sql.operators.expand import Expand
from funke.engine.sql.operators.final_rows import KeepFinalRows
from funke.engine.sql.operators.keep_one_row import KeepOneRow
from funke.engine.sql.operators.local_aggregate import LocalAggregate, can_be_local, entry_columns
from funke.engine.sql.operators.lookup_join import LookUpRows
from funke.engine.sql.operators.materialize import Materialize
from funke.engine.sql.operators.rank_rows import (
    first_rows,
    meaning_of_first_rows,
    meaning_of_one_of_each,
    one_of_each,
)
from funke.engine.sql.operators.semi_join import KeepMatches
from funke.engine.sql.operators.settle_conflicts import SettleConflicts, StampWatermarks
from funke.engine.sql.operators.sort_limit import LimitRows, SortRows
from funke.engine.sql.operators.stream_orders import SortByTime
from funke.engine.sql.operators.table_aggregate import TableAggregate
from funke.engine.sql.operators.temporal_join import JoinVersions
from funke.engine.sql.rules.shared_relations import Reuse, SharedRelations
from funke.engine.sql.spark_plans.plan_source import PlanFrame, PlanSource, WrittenPlan
from funke.engine.sql.spark_plans.task_code import PlanSettings
from funke.engine.sql.stream_types import row_type_of
from funke.engine.sql.table_rows import to_batches
from funke.table.state_ids import described, state_ids
from funke.table.window_streams import Windowed, window_stream

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["shared_streams", "stream_of", "written_stream"]


_shared: ContextVar[SharedRelations[DataStream] | None] = ContextVar("streams of the job under way", default=None)


@contextmanager
def shared_streams(reuse: Reuse) -> Iterator[None]:
    """Equal relations have one stream meanwhile."""
    token = _shared.set(SharedRelations(reuse))
    try:
        yield
    finally:
        _shared.reset(token)


def stream_of(env: StreamExecutionEnvironment, relation: Relation) -> DataStream:
    """The stream of a relation's rows."""
    shared = _shared.get()
    found = None if shared is None else shared.find(relation)
    if found is not None:
        return found
    build = _BUILDERS.get(type(relation))
    if build is None:
        raise UnsupportedFeatureError(f"{type(relation).__name__} in a query")
    stream = build(env, relation)
    if shared is not None:
        shared.add(relation, stream)
    return stream


def written_stream(env: StreamExecutionEnvironment, rows: SparkRows) -> tuple[DataStream, PlanFrame]:
    """A stream without rows for a table that Spark writes by itself, and what makes the DataFrame of those rows."""
    stream = env._add_source(WrittenPlan(), "Spark Plan", row_type_of(rows.columns))
    return stream, PlanFrame(rows, _plan_settings(env), is_written=True)


def _scan(env: StreamExecutionEnvironment, scan: Scan) -> DataStream:
    with state_ids(env, f"Scan {'.'.join(scan.path)}"):
        stream: DataStream = scan.table.stream(env, scan.columns)
    return stream


def _constants(env: StreamExecutionEnvironment, constants: Constants) -> DataStream:
    batches = env.from_collection(list(to_batches(constants.columns, constants.rows))).name("Values")
    unpacked = batches._transform(CustomOperator(unpack_batches), "Values", row_type_of(constants.columns))
    return batches._keeping_parallelism(unpacked)


def _calculation(env: StreamExecutionEnvironment, calculation: Calculation) -> DataStream:
    upstream = stream_of(env, calculation.input)
    operation = ColumnOperator(Calculate.of(calculation))
    # As in Flink: rows that come in one order leave in it.
    return upstream._keeping_parallelism(upstream._transform(operation, "Calc", row_type_of(calculation.columns)))


def _watermarks(env: StreamExecutionEnvironment, assigner: WatermarkAssigner) -> DataStream:
    upstream = stream_of(env, assigner.input)
    operation = ColumnOperator(AssignWatermarks.of(assigner))
    row_type = row_type_of(assigner.columns)
    return upstream._keeping_parallelism(upstream._transform(operation, "WatermarkAssigner", row_type))


def _not_nulls(env: StreamExecutionEnvironment, checked: NotNulls) -> DataStream:
    upstream = stream_of(env, checked.input)
    names = tuple(checked.columns[place].name for place in checked.indexes)
    operation = ColumnOperator(EnforceNotNull(names, checked.indexes, checked.is_dropping))
    made = upstream._transform(operation, "ConstraintEnforcer", row_type_of(checked.columns))
    return upstream._keeping_parallelism(made)


def _changelog(env: StreamExecutionEnvironment, relation: ToChangelog | FromChangelog) -> DataStream:
    upstream = stream_of(env, relation.input)
    rows = WriteKinds.of(relation) if isinstance(relation, ToChangelog) else ReadKinds.of(relation)
    made = upstream._transform(ColumnOperator(rows), "ProcessTableFunction", row_type_of(relation.columns))
    return upstream._keeping_parallelism(made)


def _final_rows(env: StreamExecutionEnvironment, final: FinalRows) -> DataStream:
    upstream = stream_of(env, final.input)
    kept = ColumnOperator(KeepFinalRows(final.columns, final.otherwise), KeepFinalRows.meaning(final))
    operation = described(kept, upstream, final.input)
    with state_ids(env, "FinalRows"):
        made = upstream._transform(operation, "FinalRows", row_type_of(final.columns))
    return upstream._keeping_parallelism(made)


def _spark_rows(env: StreamExecutionEnvironment, rows: SparkRows) -> DataStream:
    return env._add_source(PlanSource(rows, _plan_settings(env)), "Spark Plan", row_type_of(rows.columns))


def _plan_settings(env: StreamExecutionEnvironment) -> PlanSettings:
    return PlanSettings(
        env.get_parallelism(),
        tuple(env._settings.get(options.GLOBAL_JOB_PARAMETERS).items()),
        ("funke.alias:install",) if alias.is_installed() else (),
    )


def _sort(env: StreamExecutionEnvironment, sort: Sort) -> DataStream:
    rows = SortRows(sort.columns, sort.keys, sort.offset, sort.limit)
    return _in_one_place(stream_of(env, sort.input), ColumnOperator(rows, SortRows.meaning(sort)), "Sort", sort)


def _temporal_sort(env: StreamExecutionEnvironment, sort: TemporalSort) -> DataStream:
    rows = ColumnOperator(SortByTime(sort.columns, sort.keys), SortByTime.meaning(sort))
    return _in_one_place(stream_of(env, sort.input), rows, "TemporalSort", sort)


def _rank(env: StreamExecutionEnvironment, rank: Rank) -> DataStream:
    name = "Rank" if rank.keys else "SortLimit" if rank.order else "Limit"
    made = first_rows(rank)
    # Each of them keeps another kind of state, which none of the others reads.
    operation = ColumnOperator(made, meaning_of_first_rows(rank))
    return _by_key(stream_of(env, rank.input), rank, operation, name, f"{name} {type(made).__name__}")


def _deduplication(env: StreamExecutionEnvironment, relation: Deduplication) -> DataStream:
    made = one_of_each(relation)
    operation = ColumnOperator(made, meaning_of_one_of_each(relation))
    upstream = stream_of(env, relation.input)
    return _by_key(upstream, relation, operation, "Deduplicate", f"Deduplicate {type(made).__name__}")


def _normalization(env: StreamExecutionEnvironment, relation: Normalization) -> DataStream:
    operation = ColumnOperator(KeepOneRow.of_normalization(relation), KeepOneRow.meaning_of_normalization(relation))
    return _by_key(stream_of(env, relation.input), relation, operation, "ChangelogNormalize")


def _materialization(env: StreamExecutionEnvironment, relation: Materialization) -> DataStream:
    upstream, name = stream_of(env, relation.input), "SinkMaterializer"
    if relation.strategy == "deduplicate":
        kept = ColumnOperator(Materialize.of(relation), Materialize.meaning(relation))
        return _by_key(upstream, relation, kept, name)
    stamp = ColumnOperator(StampWatermarks())
    stamped = upstream._transform(stamp, "WatermarkTimestampAssigner", row_type_of(relation.input.columns))
    operation = ColumnOperator(SettleConflicts.of(relation), SettleConflicts.meaning(relation))
    return _by_key(upstream._keeping_parallelism(stamped), relation, operation, name, f"{name} SettleConflicts")


def _limit(env: StreamExecutionEnvironment, limit: Limit) -> DataStream:
    rows = LimitRows(limit.columns, limit.offset, limit.limit)
    return _in_one_place(stream_of(env, limit.input), ColumnOperator(rows, LimitRows.meaning(limit)), "Limit", limit)


def _in_one_place(upstream: DataStream, operation: ColumnOperator, name: str, relation: Sort | Limit) -> DataStream:
    """An operator that sees all rows: it has one subtask."""
    operation = described(operation, upstream, relation.input)
    with state_ids(upstream._env, name):
        made = upstream.global_()._transform(operation, name, row_type_of(relation.columns))
    return made.force_non_parallel()


def _union_all(env: StreamExecutionEnvironment, union: UnionAll) -> DataStream:
    streams = [stream_of(env, each) for each in union.inputs]
    subtasks = [each._most_subtasks() or env.get_parallelism() for each in streams]
    for place, relation in enumerate(union.inputs):
        # Changes that one subtask makes would get out of order if several read them in turns.
        if subtasks[place] == 1 < max(subtasks) and kinds_of(relation) != INSERTS:
            streams[place] = streams[place].global_()
    first, *others = streams
    return first.union(*others)


def _correlation(env: StreamExecutionEnvironment, correlation: Correlation) -> DataStream:
    upstream = stream_of(env, correlation.input)
    operation = ColumnOperator(Correlate.of(correlation))
    row_type = row_type_of(correlation.columns)
    return upstream._keeping_parallelism(upstream._transform(operation, "Correlate", row_type))


def _lookup_join(env: StreamExecutionEnvironment, join: LookupJoin) -> DataStream:
    upstream = stream_of(env, join.input)
    operation = ColumnOperator(LookUpRows.of(join))
    return upstream._keeping_parallelism(upstream._transform(operation, "LookupJoin", row_type_of(join.columns)))


def _temporal_join(env: StreamExecutionEnvironment, join: TemporalJoin) -> DataStream:
    operation = ColumnOperator(JoinVersions.of(join), JoinVersions.meaning(join))
    return _by_key(stream_of(env, join.input), join, operation, "TemporalJoin")


def _semi_join(env: StreamExecutionEnvironment, join: SemiJoin) -> DataStream:
    name = "Join"
    operation = ColumnOperator(KeepMatches.of(join), KeepMatches.meaning(join))
    return _by_key(stream_of(env, join.input), join, operation, name, f"{name} KeepMatches")


def _expansion(env: StreamExecutionEnvironment, expansion: Expansion) -> DataStream:
    upstream = stream_of(env, expansion.input)
    operation = ColumnOperator(Expand.of(expansion))
    return upstream._keeping_parallelism(upstream._transform(operation, "Expand", row_type_of(expansion.columns)))


def _aggregation(env: StreamExecutionEnvironment, aggregation: Aggregation) -> DataStream:
    upstream, meaning = stream_of(env, aggregation.input), Aggregate.meaning(aggregation)
    if not can_be_local(aggregation):
        return _by_key(upstream, aggregation, ColumnOperator(Aggregate.of(aggregation), meaning), "GroupAggregate")
    local = ColumnOperator(LocalAggregate.of(aggregation))
    entries = upstream._transform(local, "LocalGroupAggregate", row_type_of(entry_columns(aggregation)))
    together = ColumnOperator(Aggregate.of_entries(aggregation), meaning)
    return _by_key(upstream._keeping_parallelism(entries), aggregation, together, "GlobalGroupAggregate")


def _table_aggregation(env: StreamExecutionEnvironment, aggregation: TableAggregation) -> DataStream:
    upstream = stream_of(env, aggregation.input)
    operation = ColumnOperator(TableAggregate.of(aggregation), TableAggregate.meaning(aggregation))
    return _by_key(upstream, aggregation, operation, "GroupTableAggregate")


def _by_key(
    upstream: DataStream,
    aggregation: Aggregation
    | TableAggregation
    | TemporalJoin
    | SemiJoin
    | Rank
    | Deduplication
    | Normalization
    | Materialization,
    operation: ColumnOperator,
    name: str,
    state_name: str = "",
) -> DataStream:
    names = tuple(aggregation.input.columns[place].name for place in aggregation.keys)
    exchanged = upstream._partitioned(Hash(ColumnKey(names)) if names else Global())
    operation = described(operation, upstream, aggregation.input)
    # One of two steps keeps the same state.
    with state_ids(upstream._env, state_name or name.removeprefix("Global")):
        stream = exchanged._transform(operation, name, row_type_of(aggregation.columns))
    if not names:
        # All rows have the same key.
        stream.force_non_parallel()
    return stream


def _windows(env: StreamExecutionEnvironment, relation: Windowed) -> DataStream:
    return window_stream(stream_of(env, relation.input), relation)


_BUILDERS: dict[type[Relation], Callable[[StreamExecutionEnvironment, Any], DataStream]] = {
    Scan: _scan,
    Constants: _constants,
    Calculation: _calculation,
    UnionAll: _union_all,
    Sort: _sort,
    TemporalSort: _temporal_sort,
    Rank: _rank,
    Deduplication: _deduplication,
    Normalization: _normalization,
    Materialization: _materialization,
    Limit: _limit,
    FinalRows: _final_rows,
    SparkRows: _spark_rows,
    NotNulls: _not_nulls,
    ToChangelog: _changelog,
    FromChangelog: _changelog,
    WatermarkAssigner: _watermarks,
    Correlation: _correlation,
    LookupJoin: _lookup_join,
    TemporalJoin: _temporal_join,
    SemiJoin: _semi_join,
    Expansion: _expansion,
    Aggregation: _aggregation,
    TableAggregation: _table_aggregation,
    WindowTable: _windows,
    WindowAggregation: _windows,
    OverAggregation: _windows,
    PartitionAggregation: _windows,
    SortedAggregation: _windows,
    WindowRank: _windows,
}
