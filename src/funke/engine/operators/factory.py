"""From an operation of the graph to the operator that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.graph.operations import (
    AssignTimestamps,
    AsyncWait,
    BroadcastProcess,
    BuiltInMap,
    CoFlatMap,
    ColumnOperator,
    CoMap,
    CoProcess,
    CustomOperator,
    Filter,
    FlatMap,
    IntervalJoin,
    Map,
    MatchPattern,
    OneByOne,
    Operation,
    Process,
    ProjectColumns,
    ReadSplits,
    Reduce,
    Window,
    WindowJoin,
    WriteSink,
)
from funke.engine.operators.batch_mode import BatchBroadcastOperator, BatchKeyedOperator
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.keyed.keyed_process import KeyedProcessOperator
from funke.engine.operators.keyed.reduce import ReduceOperator
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.operators.records.broadcast_process import (
    BroadcastOperator,
    KeyedBroadcastOperator,
    create_broadcast_process,
)
from funke.engine.operators.records.co_operators import create_co_flat_map, create_co_map, create_co_process
from funke.engine.operators.records.map import create_filter, create_flat_map, create_map
from funke.engine.operators.records.process import ProcessOperator
from funke.engine.operators.sink import SinkOperator
from funke.engine.operators.source import SourceOperator
from funke.engine.operators.time.timestamps import AssignTimestampsOperator

__all__ = ["create_operator"]


def create_operator(operation: Operation, task: TaskInfo) -> Operator:
    """The operator for one subtask of an operation."""
    create = _OPERATORS.get(type(operation))
    if create is None:
        raise UnsupportedFeatureError(type(operation).__name__, "there is no operator for this operation")
    operator = create(operation, task)
    return _in_batch_mode(operator) if task.is_batch else operator


def _create_process(operation: Process, task: TaskInfo) -> Operator:
    if operation.key_selector is None:
        return ProcessOperator(operation.function)
    return KeyedProcessOperator(operation.function, operation.key_selector)


# Not at the top: a slot starts a third faster without what its job does not use.
def _create_interval_join(operation: IntervalJoin, task: TaskInfo) -> Operator:
    from funke.engine.operators.joins.interval_join import IntervalJoinOperator

    return IntervalJoinOperator(operation)


def _create_window_join(operation: WindowJoin, task: TaskInfo) -> Operator:
    from funke.engine.operators.joins.window_join import create_window_join

    return create_window_join(operation)


def _create_pattern(operation: MatchPattern, task: TaskInfo) -> Operator:
    from funke.engine.operators.patterns.pattern_operator import PatternOperator

    return PatternOperator(operation)


def _create_async_wait(operation: AsyncWait, task: TaskInfo) -> Operator:
    from funke.engine.operators.async_io.async_wait import AsyncWaitOperator

    return AsyncWaitOperator(operation)


def _create_one_by_one(operation: OneByOne, task: TaskInfo) -> Operator:
    from funke.engine.operators.records.one_by_one import OneByOneOperator

    return OneByOneOperator(operation)


def _create_window(operation: Window, task: TaskInfo) -> Operator:
    from funke.engine.operators.windowing.factory import create_window

    return create_window(operation, is_in_memory=task.is_batch or task.backend.name == "hashmap")


def _create_projection(operation: ProjectColumns, task: TaskInfo) -> Operator:
    from funke.engine.operators.table.project import ProjectColumnsOperator

    return ProjectColumnsOperator(operation)


_OPERATORS: dict[type[Operation], Callable[[Any, TaskInfo], Operator]] = {
    Map: lambda operation, task: create_map(operation),
    BuiltInMap: lambda operation, task: create_map(operation),
    FlatMap: lambda operation, task: create_flat_map(operation),
    Filter: lambda operation, task: create_filter(operation),
    Process: _create_process,
    Reduce: lambda operation, task: ReduceOperator(operation.function, operation.key_selector, task.is_batch),
    ReadSplits: lambda operation, task: SourceOperator(operation.reader, operation.watermarks),
    AssignTimestamps: lambda operation, task: AssignTimestampsOperator(operation.watermarks),
    CoMap: lambda operation, task: create_co_map(operation),
    CoFlatMap: lambda operation, task: create_co_flat_map(operation),
    CoProcess: lambda operation, task: create_co_process(operation),
    BroadcastProcess: lambda operation, task: create_broadcast_process(operation),
    IntervalJoin: _create_interval_join,
    WindowJoin: _create_window_join,
    MatchPattern: _create_pattern,
    AsyncWait: _create_async_wait,
    OneByOne: _create_one_by_one,
    Window: _create_window,
    ProjectColumns: _create_projection,
    WriteSink: lambda operation, task: SinkOperator(operation.sink),
    CustomOperator: lambda operation, task: operation.create(task),
    ColumnOperator: lambda operation, task: operation.create(task),
}


def _in_batch_mode(operator: Operator) -> Operator:
    # Operators of tables take all rows at once.
    if isinstance(operator, KeyedOperator) and operator.takes_rows:
        is_broadcast = isinstance(operator, KeyedBroadcastOperator)
        keyed_inputs = (0,) if is_broadcast else tuple(range(operator.number_of_inputs))
        return BatchKeyedOperator(operator, keyed_inputs)
    return BatchBroadcastOperator(operator) if isinstance(operator, BroadcastOperator) else operator
