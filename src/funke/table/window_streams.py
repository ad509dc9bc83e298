"""Turns relations with windows into streams: rows of a key meet in one subtask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.partitioners import Global, Hash
from funke.engine.sql.binding.ranks import WindowRank
from funke.engine.sql.binding.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.operators.windows.firing_windows import FireWindows
from funke.engine.sql.operators.windows.over_aggregate import OverAggregate
from funke.engine.sql.operators.windows.partial_aggregate import (
    PartialAggregate,
    can_be_partial,
    partial_columns,
)
from funke.engine.sql.operators.windows.partition_aggregate import PartitionAggregate
from funke.engine.sql.operators.windows.session_table import AddSessions
from funke.engine.sql.operators.windows.sorted_aggregate import SortedAggregate
from funke.engine.sql.operators.windows.window_aggregate import WindowAggregate
from funke.engine.sql.operators.windows.window_rank import RankWindows
from funke.engine.sql.operators.windows.window_table import AddWindows
from funke.engine.sql.stream_types import row_type_of
from funke.table.state_ids import described, state_ids

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream

__all__ = ["Windowed", "window_stream"]

Windowed = WindowTable | WindowAggregation | OverAggregation | SortedAggregation | PartitionAggregation | WindowRank


def window_stream(upstream: DataStream, relation: Windowed) -> DataStream:
    """The stream of a relation, from that of its input."""
    if isinstance(relation, WindowRank):
        name = "WindowDeduplicate" if relation.is_deduplication else "WindowRank"
        made = ColumnOperator(RankWindows.of(relation), RankWindows.meaning(relation))
        return _by_key(upstream, relation, relation.keys, made, name)
    if isinstance(relation, WindowTable) and relation.windows.kind == "session":
        keys = relation.partition_by or ()
        made = ColumnOperator(AddSessions.of(relation), AddSessions.meaning(relation))
        return _by_key(upstream, relation, keys, made, "WindowTableFunction")
    if isinstance(relation, WindowTable):
        operation = ColumnOperator(AddWindows.of(relation))
        with_windows = upstream._transform(operation, "WindowTableFunction", row_type_of(relation.columns))
        return upstream._keeping_parallelism(with_windows)
    if isinstance(relation, OverAggregation):
        made = ColumnOperator(OverAggregate.of(relation), OverAggregate.meaning(relation))
        return _by_key(upstream, relation, relation.partition_by, made, "OverAggregate")
    if isinstance(relation, SortedAggregation):
        made = ColumnOperator(SortedAggregate.of(relation), SortedAggregate.meaning(relation))
        # Windows by values keep another state than those by time.
        state_name = "OverAggregate SortedAggregate"
        return _by_key(upstream, relation, relation.partition_by, made, "OverAggregate", state_name)
    if isinstance(relation, PartitionAggregation):
        made = ColumnOperator(PartitionAggregate.of(relation))
        return _by_key(upstream, relation, relation.partition_by, made, "OverAggregate")
    if relation.firing is not None:
        made = ColumnOperator(FireWindows.of(relation), FireWindows.meaning(relation))
        return _by_key(upstream, relation, relation.keys, made, "GroupWindowAggregate")
    if can_be_partial(relation):
        return _in_two_steps(upstream, relation)
    made = ColumnOperator(WindowAggregate.of(relation), WindowAggregate.meaning(relation))
    return _by_key(upstream, relation, relation.keys, made, "WindowAggregate")


def _in_two_steps(upstream: DataStream, relation: WindowAggregation) -> DataStream:
    """Entries travel instead of rows."""
    entries = partial_columns(relation)
    operation = ColumnOperator(PartialAggregate.of(relation))
    local = upstream._transform(operation, "LocalWindowAggregate", row_type_of(entries))
    names = tuple(column.name for column in entries[: len(relation.keys)])
    made = ColumnOperator(WindowAggregate.of_entries(relation), WindowAggregate.meaning(relation))
    return _exchanged(upstream._keeping_parallelism(local), names, made, "GlobalWindowAggregate", relation)


def _by_key(
    upstream: DataStream,
    relation: Windowed,
    keys: tuple[int, ...],
    operation: ColumnOperator,
    name: str,
    state_name: str = "",
) -> DataStream:
    """What an operator makes of rows that meet by their keys, or all in one subtask if there are none."""
    names = tuple(relation.input.columns[key].name for key in keys)
    return _exchanged(upstream, names, operation, name, relation, state_name)


def _exchanged(
    upstream: DataStream,
    names: tuple[str, ...],
    operation: ColumnOperator,
    name: str,
    relation: Windowed,
    state_name: str = "",
) -> DataStream:
    exchanged = upstream._partitioned(Hash(ColumnKey(names)) if names else Global())
    operation = described(operation, upstream, relation.input)
    # One of two steps keeps the same state.
    with state_ids(upstream._env, state_name or name.removeprefix("Global")):
        made = exchanged._transform(operation, name, row_type_of(relation.columns))
    return made if names else made.force_non_parallel()
