"""Turns relations into DataFrames, one function for each class of relations.

What looks at single rows is put off: steps that follow each other run in one task, and rows go to Python once.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.utils import is_timestamp_ntz_preferred

from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundExpression,
    Column,
    Limit,
    Relation,
    Sort,
    SortKey,
    conjuncts,
)
from funke.engine.sql.connectors.spark_factory import SparkTableSource
from funke.engine.sql.plan import INSERTS, NO_KEYS, DetachedInput
from funke.engine.sql.spark_plans.carried_columns import carried_schema, to_carried
from funke.engine.sql.spark_plans.computed_nodes import (
    AssignWatermarks,
    BatchJoin,
    BatchOverAggregate,
    BatchSort,
    Calc,
    ConstraintEnforcer,
    Correlate,
    ExecLimit,
    Expand,
    FinalRows,
    OverAggregate,
    Rank,
    SessionWindowTableFunction,
    TableScan,
    Union,
    Values,
    WindowAggregate,
    WindowTableFunction,
)
from funke.engine.sql.spark_plans.sorted_groups import FoldGroups
from funke.engine.sql.spark_plans.sorted_partitions import FoldPartitions
from funke.engine.sql.spark_plans.spark_aggregates import has_twin, twin
from funke.engine.sql.spark_plans.spark_columns import carried_input, written_output
from funke.engine.sql.spark_plans.spark_expressions import expression_twin
from funke.engine.sql.spark_plans.task_code import PlanSettings, TaskCode
from funke.engine.sql.spark_plans.task_steps import (
    InTimeOrder,
    JoinSides,
    OperatorStep,
    ReadSplits,
    SideColumns,
    TaskStep,
    TypedColumns,
)
from funke.engine.sql.spark_plans.window_steps import LOCAL_TIME, LocalTimes, WindowColumns
from funke.engine.sql.spark_plans.written_columns import written_schema
from funke.engine.sql.table_rows import to_batches
from funke.engine.sql.window_kinds import SessionWindows, SlicedWindows
from funke.engine.types.logical.atomic_types import BigIntType

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["frame_of", "written_frame_of"]

_NUMBER = (Column("number", BigIntType(False)),)
# Spark has no nested loops where keys are equal: what they have of a table, a broadcast has too.
_JOIN_HINTS = {
    "BROADCAST": "broadcast",
    "NEST_LOOP": "broadcast",
    "SHUFFLE_HASH": "shuffle_hash",
    "SHUFFLE_MERGE": "merge",
}
_JOIN_KINDS = {
    "inner": "inner",
    "left": "left_outer",
    "right": "right_outer",
    "full": "full_outer",
    "semi": "left_semi",
    "anti": "left_anti",
}


def frame_of(spark: SparkSession, relation: Relation, settings: PlanSettings) -> DataFrame:
    """The DataFrame of a relation's rows, as Spark carries their columns."""
    return _Frames(spark, settings).of(relation).frame


def written_frame_of(spark: SparkSession, relation: Relation, settings: PlanSettings) -> DataFrame:
    """The DataFrame of a relation's rows, as Spark's writers take them: with the names of a table."""
    return _Frames(spark, settings).written(relation)


@dataclass(frozen=True)
class _Rows:
    """The rows of a DataFrame, and the steps that are still to be done with them; `columns` are those after them.

    `inputs` are the columns of the DataFrame; None if they are not in the form in which columns are carried.
    """

    frame: DataFrame
    inputs: tuple[Column, ...] | None
    columns: tuple[Column, ...]
    steps: tuple[TaskStep, ...] = ()

    @staticmethod
    def plain(frame: DataFrame, columns: tuple[Column, ...]) -> _Rows:
        return _Rows(frame, columns, columns)

    def then(self, step: TaskStep, columns: tuple[Column, ...]) -> _Rows:
        return replace(self, steps=(*self.steps, step), columns=columns)

    def at(self, index: int) -> SparkColumn:
        return self.frame[f"c{index}"]

    def all_at(self, indexes: Sequence[int]) -> list[SparkColumn]:
        return [self.at(index) for index in indexes]

    def all_columns(self) -> list[SparkColumn]:
        return self.all_at(range(len(self.columns)))


class _Frames:
    def __init__(self, spark: SparkSession, settings: PlanSettings) -> None:
        self._spark = spark
        self._settings = settings

    def of(self, relation: Relation) -> _Rows:
        """The rows of a relation, without steps to be done."""
        return self._done(self._rows(relation))

    def _rows(self, relation: Relation) -> _Rows:
        return _BUILDERS[type(relation)](self, relation)

    def _done(self, rows: _Rows) -> _Rows:
        if not rows.steps:
            return rows
        code = TaskCode.of(rows.inputs, rows.steps, rows.columns, self._settings)
        schema = from_arrow_schema(carried_schema(rows.columns))
        return _Rows.plain(rows.frame.mapInArrow(code, schema), rows.columns)

    def written(self, relation: Relation) -> DataFrame:
        rows, schema = self._rows(relation), written_schema(relation.columns)
        target_types = from_arrow_schema(schema, prefer_timestamp_ntz=is_timestamp_ntz_preferred())
        if not rows.steps:
            outputs = [
                written_output(rows.at(index), each.type, field.dataType)
                for index, (each, field) in enumerate(zip(rows.columns, target_types))
            ]
            plain = [column.alias(name) for column, name in zip(outputs, schema.names) if column is not None]
            if len(plain) == len(outputs):
                return rows.frame.select(*plain)
        code = TaskCode.of(rows.inputs, rows.steps, rows.columns, self._settings, is_written=True)
        frame = rows.frame.mapInArrow(code, from_arrow_schema(schema))
        # By the clock of Spark's session, as everywhere in Spark.
        return frame.select(*(frame[f"`{each.name}`"].cast(each.dataType).alias(each.name) for each in target_types))

    # Where rows come from

    def _read(self, step: TaskStep, tasks: int, columns: tuple[Column, ...]) -> _Rows:
        """Each task gets its number as a row: Spark may run several of them in one process."""
        numbers = self._spark.range(0, tasks, 1, tasks).withColumnRenamed("id", "c0")
        return _Rows(numbers, _NUMBER, columns, (step,))

    def constants(self, constants: Values) -> _Rows:
        schema = carried_schema(constants.columns)
        batches = to_batches(constants.columns, constants.rows)
        batches_for_spark = [to_carried(each.data, constants.columns, schema) for each in batches]
        # One behind the other, as they stand there.
        frame = self._spark.createDataFrame(pa.Table.from_batches(batches_for_spark, schema)).coalesce(1)
        return _Rows.plain(frame, constants.columns)

    def scan(self, scan: TableScan) -> _Rows:
        if isinstance(scan.table, SparkTableSource):
            return self._spark_table(scan, scan.table)
        # The connector's own reader runs in Spark's tasks. Spark's CSV reader and the way of its rows to Python would
        # take 12 to 14 s for 3 million wide rows, on which an operator works for 0.5 s.
        source = scan.table.create_source()
        enumerator = source.create_enumerator(self._settings.parallelism)
        try:
            splits = enumerator.poll(sys.maxsize)
            while not enumerator.is_finished:
                splits += enumerator.poll(sys.maxsize)
        finally:
            enumerator.close()
        tasks = max(1, min(len(splits), self._settings.parallelism))
        return self._read(ReadSplits(source.create_reader(), tuple(splits), tasks, scan.columns), tasks, scan.columns)

    def _spark_table(self, scan: TableScan, table: SparkTableSource) -> _Rows:
        """The rows of a table that Spark reads; not by way of Python if Spark itself can convert the types."""
        frame = table.load(self._spark)
        frame = frame.toDF(*(f"c{index}" for index in range(len(frame.columns))))
        inputs = [
            carried_input(frame[field.name], field.dataType, each.type)
            for field, each in zip(frame.schema, scan.columns)
        ]
        plain = [column.alias(f"c{index}") for index, column in enumerate(inputs) if column is not None]
        if len(plain) == len(inputs):
            return _Rows.plain(frame.select(*plain), scan.columns)
        return _Rows(frame, None, scan.columns, (TypedColumns(scan.columns),))

    # What looks at single rows

    def calculation(self, calculation: Calc) -> _Rows:
        rows = self._rows(calculation.input)
        if rows.steps:
            # Rows are Python's already.
            return rows.then(OperatorStep(calculation.detached().create), calculation.columns)
        rows, left = self._filtered(rows, calculation.condition)
        twins = [expression_twin(each, rows.all_columns()) for each in calculation.expressions]
        fields = from_arrow_schema(carried_schema(calculation.columns))
        twins_as_types = [
            twin.cast(field.dataType).alias(field.name) for twin, field in zip(twins, fields) if twin is not None
        ]
        if left is None and len(twins_as_types) == len(twins):
            return _Rows.plain(rows.frame.select(*twins_as_types), calculation.columns)
        make = replace(calculation, condition=left).detached().create
        return rows.then(OperatorStep(make), calculation.columns)

    def _filtered(self, rows: _Rows, condition: BoundExpression | None) -> tuple[_Rows, BoundExpression | None]:
        """The rows for which a condition may be true as far as Spark can tell, and the condition if that is not all."""
        if condition is None:
            return rows, None
        twins = [expression_twin(part, rows.all_columns()) for part in conjuncts(condition)]
        translated = [twin for twin in twins if twin is not None]
        if translated:
            rows = replace(rows, frame=rows.frame.filter(reduce(operator.and_, translated)))
        return rows, None if len(translated) == len(twins) else condition

    def single_rows(self, node: Expand | Correlate) -> _Rows:
        return self._then(node.input, node.detached().create, node)

    def not_nulls(self, enforcer: ConstraintEnforcer) -> _Rows:
        return self._then(enforcer.input, enforcer.detached().create, enforcer)

    def _then(self, source: Relation, make: Any, relation: Relation) -> _Rows:
        return self._rows(source).then(OperatorStep(make), relation.columns)

    def watermarks(self, assigner: AssignWatermarks) -> _Rows:
        """All rows are there: none of them is late."""
        return replace(self._rows(assigner.input), columns=assigner.columns)

    # What looks at several rows

    def union_all(self, union: Union) -> _Rows:
        first, *others = (self.of(each).frame for each in union.inputs)
        for each in others:
            first = first.union(each)
        return _Rows.plain(first, union.columns)

    def sort(self, sort: Sort) -> _Rows:
        rows = self.of(sort.input)
        order = _orders(rows, sort.keys)
        if sort.limit is not None:
            # Each task keeps no more than its first rows.
            return _Rows.plain(_limited(rows.frame.orderBy(*order), sort.offset, sort.limit), sort.columns)
        # One task reads all rows in order: finding ranges for several tasks would take another pass.
        ordered = rows.frame.repartition(1).sortWithinPartitions(*order)
        return _Rows.plain(_limited(ordered, sort.offset, None), sort.columns)

    def limit(self, limit: Limit) -> _Rows:
        rows = self.of(limit.input)
        return _Rows.plain(_limited(rows.frame, limit.offset, limit.limit), limit.columns)

    def final_rows(self, final: FinalRows) -> _Rows:
        if isinstance(final.input, Rank):
            return self._ranked(final.input)
        assert isinstance(final.input, Aggregation)
        aggregation = final.input
        grouped = self._grouped(
            self._rows(aggregation.input), aggregation.keys, aggregation.aggregates, final.columns, final.otherwise
        )
        return replace(grouped, columns=final.columns)

    def _ranked(self, rank: Rank) -> _Rows:
        rows, number = self.of(rank.input), f"c{len(rank.input.columns)}"
        by = rows.all_at(rank.keys) or [F.lit(0)]
        in_order = Window.partitionBy(*by).orderBy(*_orders(rows, rank.order))
        numbered = rows.frame.withColumn(number, F.row_number().over(in_order).cast("bigint"))
        # Each task keeps no more than the first rows of its keys.
        chosen = numbered.filter(numbered[number].between(rank.first, rank.last))
        return _Rows.plain(chosen if rank.has_number else chosen.drop(number), rank.columns)

    def _grouped(
        self,
        rows: _Rows,
        keys: tuple[int, ...],
        aggregates: tuple[BoundAggregate, ...],
        columns: tuple[Column, ...],
        otherwise: tuple[Any, ...] | None = None,
    ) -> _Rows:
        """One row for each key, its columns first."""
        rows = self._done(rows)
        if all(map(has_twin, aggregates)):
            return _Rows.plain(_by_spark(rows, keys, aggregates), columns)
        by = rows.all_at(keys)
        # Spark sorts, and spills to disk if it must: in Python a task holds only the group under way.
        sorted_rows = rows.frame.repartition(*by).sortWithinPartitions(*by) if by else rows.frame.repartition(1)
        fold = FoldGroups(rows.columns, columns, keys, aggregates, otherwise)
        return replace(rows, frame=sorted_rows).then(fold, columns)

    def join(self, join: BatchJoin) -> _Rows:
        """Spark's join, if the condition is Spark's; else the operator of slots, in tasks that have equal keys."""
        left, right = self._rows(join.left), self._rows(join.right)
        return self._joined_by_spark(join, left, right) or self._joined_by_operator(join, left, right)

    def _joined_by_spark(self, join: BatchJoin, left: _Rows, right: _Rows) -> _Rows | None:
        left, right, width = self._done(left), self._done(right), len(left.columns)
        # As in Flink the first hint counts.
        for name, side in [each for each in join.hints if each[0] in _JOIN_HINTS][:1]:
            left, right = _hinted(left, name, side == "LEFT"), _hinted(right, name, side == "RIGHT")
        # Sides may be of the same table: names of their own keep their columns apart.
        names = [f"c{position}" for position in range(width, width + len(right.columns))]
        other = right.frame.toDF(*names)
        columns = [*left.all_columns(), *(other[name] for name in names)]
        pairs = [(columns[one], columns[width + its]) for one, its in zip(join.left_keys, join.right_keys)]
        equal = [
            one.eqNullSafe(other) if number in join.equal_nulls else one == other
            for number, (one, other) in enumerate(pairs)
        ]
        parts = [] if join.condition is None else conjuncts(join.condition)
        twins = [expression_twin(part, columns) for part in parts]
        translated = [twin for twin in twins if twin is not None]
        if len(translated) < len(twins) and join.kind != "inner":
            return None
        on = reduce(operator.and_, [*equal, *translated]) if equal or translated else F.lit(True)
        rows = _Rows.plain(left.frame.join(other, on, _JOIN_KINDS[join.kind]), join.columns)
        if len(translated) == len(twins):
            return rows
        same = tuple(BoundColumn(each.type, index, each.name) for index, each in enumerate(join.columns))
        rest = Calc(join.columns, DetachedInput(join.columns, INSERTS, NO_KEYS), same, join.condition)
        return rows.then(OperatorStep(rest.create), join.columns)

    def _joined_by_operator(self, join: BatchJoin, left: _Rows, right: _Rows) -> _Rows:
        keys = tuple(left.columns[index] for index in join.left_keys)
        columns = (
            *(replace(each, type=each.type.nullable()) for each in (*keys, *left.columns, *right.columns)),
            *_NUMBER,
        )
        firsts = len(keys), len(keys) + len(left.columns)
        sides = zip((left, right), (join.left_keys, join.right_keys), firsts)
        one, other = (
            self._done(rows.then(SideColumns(side, own, columns, first), columns))
            for side, (rows, own, first) in enumerate(sides)
        )
        # mapInArrow has one input, so both sides become one frame; equal keys then come to one task.
        both = replace(one, frame=one.frame.union(other.frame))
        by = both.all_at(range(len(keys)))
        apart = both.frame.repartition(*by) if by else both.frame.repartition(1)
        indexes = tuple(range(firsts[0], firsts[1])), tuple(range(firsts[1], len(columns) - 1))
        return replace(both, frame=apart).then(JoinSides(join.detached().create, indexes), join.columns)

    def over(self, over: OverAggregate) -> _Rows:
        rows = self.of(over.input)
        by = rows.all_at(over.partition_by)
        apart = rows.frame.repartition(*by) if by else rows.frame.repartition(1)
        in_order = replace(rows, frame=apart.sortWithinPartitions(rows.at(over.time.column)))
        # What is known of a key is not given up while its rows are read.
        make = replace(over.detached(), ttl_ms=0).create
        return in_order.then(InTimeOrder(make, over.time.column), over.columns)

    def partitions(self, relation: BatchOverAggregate) -> _Rows:
        rows = self.of(relation.input)
        by, order = rows.all_at(relation.partition_by), _orders(rows, relation.order)
        apart = rows.frame.repartition(*by) if by else rows.frame.repartition(1)
        in_order = apart.sortWithinPartitions(*by, *order) if by or order else apart
        return replace(rows, frame=in_order).then(FoldPartitions(relation.detached()), relation.columns)

    def window_table(self, table: WindowTableFunction) -> _Rows:
        if isinstance(table.windows, SessionWindows):
            return self._sessions(self._rows(table.input), table.partition_by or (), table.windows.gap_ms, table)
        return self._then(table.input, table.detached().create, table)

    def _sessions(
        self, rows: _Rows, keys: tuple[int, ...], gap_ms: int, table: WindowTableFunction | WindowAggregate
    ) -> _Rows:
        """Rows with their sessions: intervals that overlap or touch are one."""
        width = len(rows.columns)
        timed = self._done(rows.then(LocalTimes(table.time), (*rows.columns, LOCAL_TIME)))
        own, by = timed.at(width), timed.all_at(keys) or [F.lit(0)]
        in_order = Window.partitionBy(*by).orderBy(own)
        # A row further behind the one before it than the gap begins a session; counting these rows numbers the
        # sessions.
        is_first = (F.lag(own).over(in_order) + gap_ms < own).cast("int")
        number = F.sum(F.coalesce(is_first, F.lit(0))).over(in_order)
        numbered = timed.frame.withColumn("session", number)
        session = Window.partitionBy(*by, numbered["session"])
        start, end = F.min(own).over(session), F.max(own).over(session) + gap_ms
        intervals = numbered.select(*timed.all_at(range(width)), start.alias(f"c{width}"), end.alias(f"c{width + 1}"))
        times = (LOCAL_TIME, Column("$end", BigIntType(False)))
        columns = table.columns if isinstance(table, WindowTableFunction) else _with_windows(rows.columns, table)
        step = WindowColumns(columns, tuple(range(width)), width, width + 1, table.time)
        return _Rows.plain(intervals, (*rows.columns, *times)).then(step, columns)

    def window_aggregation(self, aggregation: WindowAggregate) -> _Rows:
        rows, windows = self._rows(aggregation.input), aggregation.windows
        indexes = aggregation.window_columns
        if isinstance(windows, SessionWindows):
            rows = self._sessions(rows, aggregation.keys, windows.gap_ms, aggregation)
        elif windows is not None:
            assert isinstance(windows, SlicedWindows)
            columns = _with_windows(rows.columns, aggregation)
            source = DetachedInput(rows.columns, INSERTS, NO_KEYS)
            table = WindowTableFunction(columns, source, windows, aggregation.time)
            rows = rows.then(OperatorStep(table.create), columns)
        if indexes is None:
            indexes = (len(rows.columns) - 3, len(rows.columns) - 2)
        keys, values = len(aggregation.keys), len(aggregation.aggregates)
        grouped_columns = (
            *aggregation.columns[:keys],
            *(rows.columns[index] for index in indexes),
            *aggregation.columns[keys : keys + values],
        )
        grouped = self._grouped(rows, (*aggregation.keys, *indexes), aggregation.aggregates, grouped_columns)
        kept = (*range(keys), *range(keys + 2, keys + 2 + values))
        times = WindowColumns(aggregation.columns, kept, keys, keys + 1, aggregation.time)
        return grouped.then(times, aggregation.columns)


def _with_windows(columns: tuple[Column, ...], aggregation: WindowAggregate) -> tuple[Column, ...]:
    return (*columns, *aggregation.columns[-3:])


def _hinted(rows: _Rows, name: str, is_meant: bool) -> _Rows:
    return replace(rows, frame=rows.frame.hint(_JOIN_HINTS[name])) if is_meant else rows


def _orders(rows: _Rows, keys: Sequence[SortKey]) -> list[SparkColumn]:
    return [_order(rows.at(key.index), key.is_ascending, key.nulls_first) for key in keys]


def _order(column: SparkColumn, is_ascending: bool, nulls_first: bool) -> SparkColumn:
    if is_ascending:
        return column.asc_nulls_first() if nulls_first else column.asc_nulls_last()
    return column.desc_nulls_first() if nulls_first else column.desc_nulls_last()


def _limited(frame: DataFrame, offset: int, limit: int | None) -> DataFrame:
    skipped = frame.offset(offset) if offset else frame
    return skipped if limit is None else skipped.limit(limit)


def _by_spark(rows: _Rows, keys: tuple[int, ...], aggregates: tuple[BoundAggregate, ...]) -> DataFrame:
    inputs = rows.all_columns()
    by = [rows.at(key).alias(f"c{index}") for index, key in enumerate(keys)]
    values = [twin(each, inputs).alias(f"c{index}") for index, each in enumerate(aggregates, len(keys))]
    if not values:
        return rows.frame.select(*by).distinct()
    return rows.frame.groupBy(*by).agg(*values)


_BUILDERS: dict[type[Relation], Callable[[_Frames, Any], _Rows]] = {
    TableScan: _Frames.scan,
    Values: _Frames.constants,
    Calc: _Frames.calculation,
    ConstraintEnforcer: _Frames.not_nulls,
    BatchSort: _Frames.sort,
    ExecLimit: _Frames.limit,
    Expand: _Frames.single_rows,
    Correlate: _Frames.single_rows,
    AssignWatermarks: _Frames.watermarks,
    Union: _Frames.union_all,
    FinalRows: _Frames.final_rows,
    BatchJoin: _Frames.join,
    OverAggregate: _Frames.over,
    BatchOverAggregate: _Frames.partitions,
    WindowTableFunction: _Frames.window_table,
    SessionWindowTableFunction: _Frames.window_table,
    WindowAggregate: _Frames.window_aggregation,
}
