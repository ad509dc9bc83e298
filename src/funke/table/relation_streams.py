"""Turns what a query means into streams of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Calculation, Constants, Relation, Scan, UnionAll
from funke.engine.sql.binding.window_relations import WindowAggregation, WindowTable
from funke.engine.sql.operators.calculate import Calculate
from funke.engine.types.composite_types import RowTypeInfo
from funke.engine.types.row import Row
from funke.engine.types.type_catalog import Types
from funke.table.window_streams import window_stream

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["row_type_of", "stream_of"]


def stream_of(env: StreamExecutionEnvironment, relation: Relation) -> DataStream:
    """The stream of a relation's rows; the table of a scan is a stream whose rows have its columns."""
    row_type = row_type_of(relation)
    if isinstance(relation, Scan):
        stream: DataStream = relation.table
        return stream
    if isinstance(relation, Constants):
        return env.from_collection([Row(*values) for values in relation.rows], row_type)
    if isinstance(relation, Calculation):
        upstream = stream_of(env, relation.input)
        return upstream._transform(ColumnOperator(Calculate.of(relation)), "Calc", row_type)
    if isinstance(relation, UnionAll):
        first, *others = (stream_of(env, each) for each in relation.inputs)
        return first.union(*others)
    if isinstance(relation, (WindowTable, WindowAggregation)):
        return window_stream(stream_of(env, relation.input), relation, row_type)
    raise UnsupportedFeatureError(f"{type(relation).__name__} in a query")


def row_type_of(relation: Relation) -> RowTypeInfo:
    """The type of a relation's rows in streams."""
    types = [to_type_info(column.type) for column in relation.columns]
    made = Types.ROW_NAMED([column.name for column in relation.columns], types)
    assert isinstance(made, RowTypeInfo)
    return made
