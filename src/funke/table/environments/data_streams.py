"""Tables as streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.builder import OF_INPUT, GraphBuilder, StreamRef
from funke.engine.graph.operations import BuiltInMap, ColumnOperator
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.catalog.objects import SchemaDefinition
from funke.engine.sql.operators.stream_columns import TimestampedRows
from funke.engine.sql.plan import EVERY_WATERMARK, INSERTS
from funke.engine.sql.plan.to_graph import stream_of
from funke.engine.sql.statements.plans.conflicts import Target
from funke.engine.sql.statements.plans.insert_plans import cast_rows
from funke.engine.sql.statements.plans.job_plans import planned_rows, planned_stream
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.tables.resolved_table import ResolvedColumn, resolved
from funke.engine.sql.stream_types import data_type_of, row_type_of, value_type_of
from funke.engine.sql.syntax.statements import ColumnDefinition
from funke.engine.types import Row, RowKind, RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from funke.table.schema import Schema

if TYPE_CHECKING:
    from funke.table.changelog_mode import ChangelogMode

__all__ = [
    "append_stream",
    "plain_stream",
    "retract_stream",
    "typed_stream",
]

_ROWTIME = "rowtime"
_STREAM_SINK = "*anonymous_datastream_sink$1*"


def plain_stream(session: TableSession, builder: GraphBuilder, relation: Relation) -> StreamRef:
    """The stream of a table whose rows are only added."""
    consumer = f"Table sink '{_STREAM_SINK}'"
    return stream_of(builder, planned_rows(session, relation, INSERTS, consumer, EVERY_WATERMARK))


def append_stream(
    session: TableSession, builder: GraphBuilder, relation: Relation, type_info: TypeInformation
) -> StreamRef:
    """The same with elements of a type."""
    rows = stream_of(builder, planned_rows(session, relation, INSERTS, "toAppendStream", EVERY_WATERMARK))
    return _typed(session, builder, rows, relation, type_info)


def typed_stream(
    session: TableSession,
    builder: GraphBuilder,
    relation: Relation,
    schema: Schema | None,
    mode: ChangelogMode | None,
) -> StreamRef:
    """The stream of a table's changes, with the columns of a schema if one is given."""
    key: tuple[int, ...] = ()
    rowtime: int | None = None
    if schema is not None:
        columns = resolved(schema._definition, session.binder())
        if columns.columns:
            relation = cast_rows(session, relation, columns.persisted, _STREAM_SINK)
            rowtime = _written_rowtime(columns.persisted)
        key = tuple(index for index, each in enumerate(relation.columns) if each.name in columns.primary_key)
    target = Target(_STREAM_SINK, key, lambda kinds: kinds if mode is None else mode._kinds)
    rows = stream_of(builder, planned_stream(session, relation, target))
    return rows if rowtime is None else _timestamped(builder, rows, relation.columns, rowtime)


def _written_rowtime(columns: Sequence[ResolvedColumn]) -> int | None:
    """The place of the column that becomes the timestamp of records: the only metadata that streams have."""
    for index, column in enumerate(columns):
        if column.definition.is_metadata:
            if column.metadata_key == _ROWTIME:
                return index
            raise ValidationException(
                f"Invalid metadata key '{column.metadata_key}' in column '{column.name}' of table '{_STREAM_SINK}'. "
                "The DynamicTableSink class 'ExternalDynamicSink' supports the following metadata keys for "
                "writing:\nrowtime"
            )
    return None


def _timestamped(builder: GraphBuilder, rows: StreamRef, columns: Sequence[Column], rowtime: int) -> StreamRef:
    operation = ColumnOperator(TimestampedRows(tuple(columns), rowtime))
    left = [each for index, each in enumerate(columns) if index != rowtime]
    name, type_info = "StreamRecordTimestampInserter", row_type_of(left)
    return builder.add(operation, [rows], name=name, type_info=type_info, parallelism=OF_INPUT)


def retract_stream(
    session: TableSession, builder: GraphBuilder, relation: Relation, type_info: TypeInformation
) -> StreamRef:
    """The stream of pairs: whether a row is added or taken back, and the row."""
    changes = stream_of(builder, planned_rows(session, relation, step=EVERY_WATERMARK))
    rows = _typed(session, builder, changes, relation, type_info)
    pair_type = Types.TUPLE([Types.BOOLEAN(), type_info])
    return builder.add(BuiltInMap(_as_pair), [rows], name="Retract", type_info=pair_type, parallelism=OF_INPUT)


def _as_pair(row: Row) -> tuple[bool, Row]:
    is_added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    row.set_row_kind(RowKind.INSERT)
    return is_added, row


def _typed(
    session: TableSession, builder: GraphBuilder, stream: StreamRef, relation: Relation, type_info: TypeInformation
) -> StreamRef:
    """The elements that a type describes: rows with its names, tuples, or the only value."""
    value_type = value_type_of(type_info)
    assert value_type is not None
    is_row = isinstance(value_type, RowTypeInfo)
    types = value_type.get_field_types() if isinstance(value_type, (RowTypeInfo, TupleTypeInfo)) else [value_type]
    names = (
        value_type.get_field_names()
        if isinstance(value_type, RowTypeInfo)
        else [f"f{each}" for each in range(len(types))]
    )
    sink = [ColumnDefinition(name, data_type_of(each)) for name, each in zip(names, types) if each is not None]
    cast_rows(session, relation, resolved(SchemaDefinition(tuple(sink)), session.binder()).persisted, "null")
    convert = _as_row if is_row else _as_tuple if isinstance(value_type, TupleTypeInfo) else _only_value
    operation, name = BuiltInMap(convert), "SinkConversion"
    return builder.add(operation, [stream], name=name, type_info=type_info, parallelism=OF_INPUT)


def _as_row(row: Row) -> Row:
    """The same values without names: those of the type hold."""
    return Row.of_kind(row.get_row_kind(), *row)


def _as_tuple(row: Row) -> tuple[Any, ...]:
    return tuple(row)


def _only_value(row: Row) -> Any:
    return row[0]
