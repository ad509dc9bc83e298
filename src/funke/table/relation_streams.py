"""Turns what a query means into streams of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Calculation, Constants, Relation, Scan, UnionAll
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.operators.assign_watermarks import AssignWatermarks
from funke.engine.sql.operators.calculate import Calculate
from funke.engine.types.composite_types import RowTypeInfo
from funke.engine.types.row import Row
from funke.engine.types.type_catalog import Types

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["row_type_of", "stream_of"]


def stream_of(env: StreamExecutionEnvironment, relation: Relation) -> DataStream:
    """The stream of a relation's rows; the table of a scan is a stream whose rows have its columns."""
    row_type = row_type_of(relation)
    if isinstance(relation, Scan):
        if isinstance(relation.table, TableSource):
            return cast("DataStream", relation.table.stream(env, relation.columns))
        stream: DataStream = relation.table
        return stream
    if isinstance(relation, WatermarkAssigner):
        upstream = stream_of(env, relation.input)
        operation = ColumnOperator(AssignWatermarks.of(relation))
        return upstream._keeping_parallelism(upstream._transform(operation, "WatermarkAssigner", row_type))
    if isinstance(relation, Constants):
        return env.from_collection([Row(*values) for values in relation.rows], row_type)
    if isinstance(relation, Calculation):
        upstream = stream_of(env, relation.input)
        return upstream._transform(ColumnOperator(Calculate.of(relation)), "Calc", row_type)
    if isinstance(relation, UnionAll):
        first, *others = (stream_of(env, each) for each in relation.inputs)
        return first.union(*others)
    raise UnsupportedFeatureError(f"{type(relation).__name__} in a query")


def row_type_of(relation: Relation) -> RowTypeInfo:
    """The type of a relation's rows in streams."""
    types = [to_type_info(column.type) for column in relation.columns]
    made = Types.ROW_NAMED([column.name for column in relation.columns], types)
    assert isinstance(made, RowTypeInfo)
    return made
