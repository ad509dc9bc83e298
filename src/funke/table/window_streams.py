"""Turns relations with windows into streams: rows of a key meet in one subtask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.window_relations import WindowAggregation, WindowTable
from funke.engine.sql.operators.windows.window_aggregate import WindowAggregate
from funke.engine.sql.operators.windows.window_table import AddWindows
from funke.engine.sql.stream_types import row_type_of

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream
    from funke.engine.types.composite_types import RowTypeInfo

__all__ = ["keyed_stream", "window_stream"]


def window_stream(upstream: DataStream, relation: WindowTable | WindowAggregation) -> DataStream:
    """The stream of a relation, from that of its input."""
    row_type = row_type_of(relation.columns)
    if isinstance(relation, WindowTable):
        return upstream._transform(ColumnOperator(AddWindows.of(relation)), "WindowTableFunction", row_type)
    operation = ColumnOperator(WindowAggregate.of(relation))
    names = tuple(relation.input.columns[key].name for key in relation.keys)
    return keyed_stream(upstream, names, operation, "WindowAggregate", row_type)


def keyed_stream(
    upstream: DataStream, keys: tuple[str, ...], operation: ColumnOperator, name: str, row_type: RowTypeInfo
) -> DataStream:
    """What an operator makes of a stream whose rows meet by their keys, or all in one subtask if there are none."""
    if keys:
        return upstream.key_by(ColumnKey(keys))._transform(operation, name, row_type)
    return upstream.global_()._transform(operation, name, row_type).force_non_parallel()
