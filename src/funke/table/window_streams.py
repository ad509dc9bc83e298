"""Turns relations with windows into streams: rows of a key meet in one subtask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.partitioners import Global, Hash
from funke.engine.sql.binding.ranks import WindowRank
from funke.engine.sql.binding.relations import Relation
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
from funke.table.state_ids import state_ids

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream

__all__ = ["Windowed", "window_stream"]

Windowed = WindowTable | WindowAggregation | OverAggregation | SortedAggregation | PartitionAggregation | WindowRank
_Create = (
    AddSessions | FireWindows | WindowAggregate | OverAggregate | SortedAggregate | PartitionAggregate | RankWindows
)


def window_stream(upstream: DataStream, relation: Windowed) -> DataStream:
    """The stream of a relation, from that of its input."""
    if isinstance(relation, WindowRank):
        name = "WindowDeduplicate" if relation.is_deduplication else "WindowRank"
        return _by_key(upstream, relation, relation.keys, RankWindows.of(relation), name)
    if isinstance(relation, WindowTable) and relation.windows.kind == "session":
        keys = relation.partition_by or ()
        return _by_key(upstream, relation, keys, AddSessions.of(relation), "WindowTableFunction")
    if isinstance(relation, WindowTable):
        operation = ColumnOperator(AddWindows.of(relation))
        made = upstream._transform(operation, "WindowTableFunction", row_type_of(relation.columns))
        return upstream._keeping_parallelism(made)
    if isinstance(relation, OverAggregation):
        return _by_key(upstream, relation, relation.partition_by, OverAggregate.of(relation), "OverAggregate")
    if isinstance(relation, SortedAggregation):
        return _by_key(upstream, relation, relation.partition_by, SortedAggregate.of(relation), "OverAggregate")
    if isinstance(relation, PartitionAggregation):
        return _by_key(upstream, relation, relation.partition_by, PartitionAggregate.of(relation), "OverAggregate")
    if relation.firing is not None:
        return _by_key(upstream, relation, relation.keys, FireWindows.of(relation), "GroupWindowAggregate")
    if can_be_partial(relation):
        return _in_two_steps(upstream, relation)
    return _by_key(upstream, relation, relation.keys, WindowAggregate.of(relation), "WindowAggregate")


def _in_two_steps(upstream: DataStream, relation: WindowAggregation) -> DataStream:
    """Entries travel instead of rows."""
    entries = partial_columns(relation)
    operation = ColumnOperator(PartialAggregate.of(relation))
    local = upstream._transform(operation, "LocalWindowAggregate", row_type_of(entries))
    names = tuple(column.name for column in entries[: len(relation.keys)])
    create = WindowAggregate.of_entries(relation)
    return _exchanged(upstream._keeping_parallelism(local), names, create, "GlobalWindowAggregate", relation)


def _by_key(upstream: DataStream, relation: Windowed, keys: tuple[int, ...], create: _Create, name: str) -> DataStream:
    """What an operator makes of rows that meet by their keys, or all in one subtask if there are none."""
    names = tuple(relation.input.columns[key].name for key in keys)
    return _exchanged(upstream, names, create, name, relation)


def _exchanged(
    upstream: DataStream, names: tuple[str, ...], create: _Create, name: str, relation: Relation
) -> DataStream:
    exchanged = upstream._partitioned(Hash(ColumnKey(names)) if names else Global())
    # One of two steps keeps the same state, windows by values another one than those by time.
    state_name = f"{name} SortedAggregate" if isinstance(create, SortedAggregate) else name.removeprefix("Global")
    with state_ids(upstream._env, state_name):
        made = exchanged._transform(ColumnOperator(create), name, row_type_of(relation.columns))
    return made if names else made.force_non_parallel()
