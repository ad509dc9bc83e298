"""Decides which part of a bounded query Spark computes, and which part slots do; and says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import ConfigurationError
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Column,
    Expansion,
    Relation,
    Scan,
    Sort,
    SortKey,
    inputs_of,
    with_inputs,
)
from funke.engine.sql.binding.subqueries.correlations import Correlation
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.windows.window_relations import (
    OverAggregation,
    PartitionAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.connectors.spark_factory import SparkTableSource
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.operators.opened_functions import functions_in
from funke.engine.sql.plan.changelogs.changes import INSERTS
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.spark_plans.carried_columns import is_comparable, is_key
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
from funke.engine.types.logical.sql_text import to_sql_text

__all__ = ["PlanChoice", "exchanges_in", "spark_parts"]

_MODES = ("auto", "spark", "slots")
# Slots hold the rows that they join in memory, and are two to three times as fast as Spark, to which rows of files
# have to go, and come back from: 1 M x 1 M rows take 2.1 s of processor time instead of 5.2 s. Above that Spark spills.
_MOST_BYTES_IN_SLOTS = 1 << 30
# Steps that make rows meet; all others look at one row after the other.
_EXCHANGING = (Sort, Aggregation, TableAggregation, WindowAggregation, OverAggregation, PartitionAggregation, BatchJoin)


@dataclass(frozen=True)
class PlanChoice:
    """The setting `funke.table.batch-plan`, and whether functions of the program need files that only slots have."""

    mode: str = "auto"
    has_files: bool = False

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ConfigurationError(f"funke.table.batch-plan is 'auto', 'spark' or 'slots', not '{self.mode}'")

    def applied(self, relation: Relation, is_for_spark: bool = False) -> Relation:
        """The plan, in which `SparkRows` stands for the part that Spark computes.

        By itself that is everything up to the last exchange, and what is chosen from tables that Spark reads: what
        looks at single rows behind it stays with the consumer, where rows are Python's already. If Spark takes
        them it is everything, or else the same part.
        """
        if self.mode == "slots":
            return relation
        if self.mode == "auto" and not is_for_spark:
            return relation if _is_joined_in_slots(relation) else self._cut(relation)
        unsupported_reason = self.unsupported_reason(relation)
        if unsupported_reason is None:
            return SparkRows(relation.columns, lower(relation))
        if self.mode == "spark":
            raise ConfigurationError(f"funke.table.batch-plan is 'spark', but {unsupported_reason}")
        return self._cut(relation)

    def _cut(self, relation: Relation) -> Relation:
        if (_is_exchanging(relation) or _is_chosen_from_spark(relation)) and self.unsupported_reason(relation) is None:
            return SparkRows(relation.columns, lower(relation))
        return with_inputs(relation, self._cut)

    def unsupported_reason(self, relation: Relation) -> str | None:
        """The reason why Spark cannot compute the rows of a relation; None if it can."""
        return next(self._unsupported_reasons(relation), None)

    def reason(self, relation: Relation) -> str:
        """The reason why slots compute the rows of a relation."""
        other = "slots join few rows sooner" if self.mode == "auto" else f"funke.table.batch-plan is '{self.mode}'"
        return self.unsupported_reason(relation) or other

    def _unsupported_reasons(self, relation: Relation) -> Iterator[str]:
        rule = _RULES.get(type(relation))
        if rule is None:
            # What is left of an aggregation's changes is known together with it.
            yield f"{type(relation).__name__} has no form for Spark"
            return
        yield from rule(relation)
        if self.has_files and _calls_functions(relation):
            yield "its functions need files that only slots are given"
        inner = relation.input if isinstance(relation, FinalRows) else relation
        for each in inputs_of(inner):
            yield from self._unsupported_reasons(each)


def spark_parts(relation: Relation) -> Iterator[SparkRows]:
    """The parts of a query that Spark computes."""
    if isinstance(relation, SparkRows):
        yield relation
    else:
        for each in inputs_of(relation):
            yield from spark_parts(each)


def exchanges_in(relation: Relation) -> Iterator[Relation]:
    """The steps of a query that make rows meet, outside of what Spark computes."""
    if isinstance(relation, SparkRows):
        return
    if _is_exchanging(relation):
        yield relation
        relation = relation.input if isinstance(relation, FinalRows) else relation
    for each in inputs_of(relation):
        yield from exchanges_in(each)


def _is_exchanging(relation: Relation) -> bool:
    if isinstance(relation, WindowTable):
        return relation.windows.is_merging
    return isinstance(relation, (FinalRows, *_EXCHANGING))


def _is_chosen_from_spark(relation: Relation) -> bool:
    """True if a condition leaves out rows of a table that Spark reads: it may not even have to read them."""
    if not isinstance(relation, Calculation) or relation.condition is None or not isinstance(relation.input, Scan):
        return False
    return isinstance(relation.input.table, SparkTableSource)


def _is_joined_in_slots(relation: Relation) -> bool:
    """True if there is a join, and so few rows that slots can hold them."""
    if not any(isinstance(each, BatchJoin) for each in _parts(relation)):
        return False
    sizes = [_size_bytes(each) for each in _parts(relation) if isinstance(each, (Scan, Values))]
    known_sizes = [size for size in sizes if size is not None]
    return len(known_sizes) == len(sizes) and sum(known_sizes) <= _MOST_BYTES_IN_SLOTS


def _parts(relation: Relation) -> Iterator[Relation]:
    yield relation
    for each in inputs_of(relation):
        yield from _parts(each)


def _size_bytes(relation: Scan | Values) -> int | None:
    """The bytes that are read; None if that is unknown."""
    if isinstance(relation, Values):
        return 0
    return relation.table.size_bytes() if isinstance(relation.table, TableSource) else None


def _calls_functions(relation: Any) -> bool:
    inner = relation.input if isinstance(relation, FinalRows) else relation
    if isinstance(inner, (Aggregation, WindowAggregation, OverAggregation, PartitionAggregation)):
        return any(isinstance(each.call.function, UserAggregate) for each in inner.aggregates)
    if isinstance(inner, Correlation):
        return inner.function is not None or any(any(functions_in(each)) for each in inner.arguments)
    if isinstance(inner, Calculation):
        return any(any(functions_in(each)) for each in (*inner.expressions, inner.condition))
    if isinstance(inner, BatchJoin):
        return any(functions_in(inner.condition))
    if isinstance(inner, Expansion):
        return any(any(functions_in(each)) for projection in inner.projections for each in projection)
    return False


def _of_scan(scan: Scan) -> Iterator[str]:
    table = scan.table
    if not isinstance(table, TableSource):
        yield "a stream is read by slots"
    elif not table.is_bounded:
        yield f"'{table.summary}' is read without an end"
    elif scan.kinds != INSERTS:
        yield f"the rows of '{table.summary}' are changes"
    elif not table.has_all_splits and not isinstance(table, SparkTableSource):
        yield f"'{table.summary}' is read by slots"


def _keys_of(columns: Iterable[Column]) -> Iterator[str]:
    for each in columns:
        if not is_key(each.type):
            yield f"Spark does not tell values of {each.name} ({to_sql_text(each.type)}) apart as tables do"


def _of_final_rows(final: FinalRows) -> Iterator[str]:
    inner = final.input
    if not isinstance(inner, (Aggregation, Rank)):
        yield f"{type(inner).__name__} has no form for Spark"
        return
    yield from _keys_of(inner.input.columns[index] for index in inner.keys)
    if isinstance(inner, Rank):
        if not inner.order:
            yield "rows are taken as they come"
        yield from _of_order(inner.input.columns, inner.order)


def _of_sort(sort: Sort) -> Iterator[str]:
    return _of_order(sort.columns, sort.keys)


def _of_order(columns: Sequence[Column], order: Iterable[SortKey]) -> Iterator[str]:
    for key in order:
        column = columns[key.index]
        if not is_comparable(column.type):
            yield f"Spark does not sort {column.name} ({to_sql_text(column.type)}) as tables do"


def _of_windows(relation: WindowTable | WindowAggregation | OverAggregation) -> Iterator[str]:
    if not relation.time.is_event_time:
        yield "rows are taken as they come (processing time)"
    if isinstance(relation, OverAggregation):
        keys = relation.partition_by
    else:
        keys = relation.keys if isinstance(relation, WindowAggregation) else relation.partition_by or ()
    yield from _keys_of(relation.input.columns[index] for index in keys)


def _of_partitions(relation: PartitionAggregation) -> Iterator[str]:
    columns = relation.input.columns
    yield from _keys_of(columns[index] for index in relation.partition_by)
    yield from _of_order(columns, relation.order)


def _of_join(join: BatchJoin) -> Iterator[str]:
    return _keys_of(join.left.columns[index] for index in join.left_keys)


def _nothing(relation: Relation) -> Iterator[str]:
    return iter(())


_RULES: dict[type[Relation], Callable[[Any], Iterator[str]]] = {
    TableScan: _of_scan,
    Values: _nothing,
    Calc: _nothing,
    ConstraintEnforcer: _nothing,
    ExecLimit: _nothing,
    BatchSort: _of_sort,
    Expand: _nothing,
    Correlate: _nothing,
    AssignWatermarks: _nothing,
    Union: _nothing,
    FinalRows: _of_final_rows,
    BatchJoin: _of_join,
    WindowTableFunction: _of_windows,
    SessionWindowTableFunction: _of_windows,
    WindowAggregate: _of_windows,
    OverAggregate: _of_windows,
    BatchOverAggregate: _of_partitions,
}
