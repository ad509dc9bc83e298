"""Streams as tables: the rows of a DataStream, with the columns of its type, some of them, or those of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.graph.builder import OF_INPUT, GraphBuilder, StreamRef
from funke.engine.graph.operations import BuiltInMap, ColumnOperator
from funke.engine.sql.binding import BoundColumn, Calculation, Column, Relation, Scan
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.catalog.objects import SchemaDefinition
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.sql.connectors.table_scan import with_computed, with_event_time
from funke.engine.sql.operators.stream_columns import StreamColumns
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.tables.resolved_table import ResolvedWatermark, resolved
from funke.engine.sql.statements.tables.table_scans import binder_factory, idle_timeout_ms, written_schema
from funke.engine.sql.stream_types import data_type_of, row_type_of, value_type_of
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.statements import ColumnDefinition
from funke.engine.sql.syntax.text_form import summary
from funke.engine.types import Row, RowKind, RowTypeInfo, TupleTypeInfo, Types
from funke.engine.types.logical import DataTypes, with_nullable

__all__ = ["changelog_relation", "stream_relation"]

_ROWTIME = "rowtime"


@dataclass(frozen=True, eq=False)
class StreamTable:
    """A stream as the table of a scan; `fields` are the indexes of its columns, None is event time."""

    source: StreamRef
    fields: tuple[int | None, ...]

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        return builder.add(
            ColumnOperator(StreamColumns(tuple(columns), self.fields)),
            [self.source],
            name="StreamToTable",
            type_info=row_type_of(columns),
            uid=builder.new_uid(uid_prefix),
            parallelism=OF_INPUT,
        )


def stream_relation(
    session: TableSession,
    builder: GraphBuilder,
    stream: StreamRef,
    fields: Sequence[syntax.Expression] = (),
    schema: SchemaDefinition | None = None,
) -> Relation:
    """The rows of a stream: with all fields, with some of them, or with the columns of a schema."""
    source, names, types = _fields_of(builder, stream)
    if schema is not None:
        return _with_schema(session, source, names, types, schema, INSERTS)
    if fields:
        return _with_fields(session, source, names, types, fields)
    columns = tuple(map(Column, names, types))
    return Scan(columns, StreamTable(source, tuple(range(len(columns)))))


def changelog_relation(
    session: TableSession,
    builder: GraphBuilder,
    stream: StreamRef,
    schema: SchemaDefinition | None,
    declared_kinds: frozenset[RowKind] | None,
) -> Relation:
    """The rows of a stream of changes."""
    source, names, types = _fields_of(builder, stream)
    # As in PyFlink the mode counts beside a schema only.
    kinds = ALL_KINDS if declared_kinds is None or schema is None else declared_kinds
    declared_schema = schema or SchemaDefinition(())
    if RowKind.UPDATE_AFTER in kinds and RowKind.UPDATE_BEFORE not in kinds and not declared_schema.primary_key:
        raise TableException(
            "Table '*anonymous_datastream_source$1*' produces a changelog stream that contains UPDATE_AFTER but no "
            "UPDATE_BEFORE. This requires defining a primary key constraint on the table."
        )
    return _with_schema(session, source, names, types, declared_schema, kinds)


def _fields_of(builder: GraphBuilder, stream: StreamRef) -> tuple[StreamRef, list[str], list[Any]]:
    """A stream of rows with the names and types of their fields; single values become rows of one field."""
    value_type = value_type_of(stream.type_info)
    if isinstance(value_type, RowTypeInfo):
        return stream, list(value_type.get_field_names()), [data_type_of(e) for e in value_type.get_field_types()]
    if isinstance(value_type, TupleTypeInfo):
        types = value_type.get_field_types()
        return stream, [f"f{index}" for index in range(len(types))], [data_type_of(each, True) for each in types]
    if value_type is None:
        raise UnsupportedFeatureError(
            "a table of a stream without a type", "declare it, such as output_type=Types.ROW_NAMED([…], […])"
        )
    row_type = Types.ROW_NAMED(["f0"], [value_type])
    rows = builder.add(BuiltInMap(Row), [stream], name="Row", type_info=row_type, parallelism=OF_INPUT)
    return rows, ["f0"], [data_type_of(value_type, True)]


def _with_schema(
    session: TableSession,
    source: StreamRef,
    names: list[str],
    types: list[Any],
    schema: SchemaDefinition,
    kinds: frozenset[RowKind],
) -> Relation:
    """The columns of a schema; one without physical columns adds to those of the stream.

    What it computes may be of fields that it does not name.
    """
    definition, visible_count = _with_stream_columns(schema, names, types)
    columns = resolved(definition, session.binder())
    scanned: list[Column] = []
    fields: list[int | None] = []
    for column in columns.columns:
        if column.is_computed:
            continue
        if column.definition.is_metadata:
            if column.metadata_key != _ROWTIME:
                raise ValidationException(
                    f"Invalid metadata key '{column.metadata_key}' in column '{column.name}' of table. The "
                    "DynamicTableSource class 'ExternalDynamicSource' supports the following metadata keys for "
                    "reading:\nrowtime"
                )
            fields.append(None)
        else:
            fields.append(_field_index(column.name, names, len(scanned)))
        scanned.append(Column(column.name, column.type))
    scan = Scan(tuple(scanned), StreamTable(source, tuple(fields)), kinds=kinds, primary_key=columns.primary_key)
    written = written_schema(definition, columns)
    relation = with_computed(written, scan, binder_factory(session))
    if columns.watermark is not None:
        relation = _with_event_time(session, relation, columns.watermark)
    return relation if visible_count == len(relation.columns) else _first_columns(relation, visible_count)


def _first_columns(relation: Relation, count: int) -> Relation:
    columns = relation.columns[:count]
    return Calculation(columns, relation, tuple(BoundColumn(c.type, index, c.name) for index, c in enumerate(columns)))


def _with_event_time(session: TableSession, relation: Relation, watermark: ResolvedWatermark) -> Relation:
    expression = watermark.expression
    if isinstance(expression, syntax.Call) and expression.name == "source_watermark":
        # The stream's own watermarks pass on; the column must be its event time.
        return replace(
            relation,
            columns=tuple(
                replace(each, time=TimeAttribute.ROWTIME) if each.name == watermark.column else each
                for each in relation.columns
            ),
        )
    make = binder_factory(session)
    return with_event_time(relation, watermark.column, expression, OptionValues({}), make, idle_timeout_ms(session))


def _field_index(name: str, names: list[str], index: int) -> int:
    if name in names:
        return names.index(name)
    raise ValidationException(
        f"Unable to find a field named '{name}' in the physical data type derived from the given type information for "
        "schema declaration. Make sure that the type information is not a generic raw type. Currently available "
        f"fields are: [{', '.join(names)}]"
    )


def _with_stream_columns(
    definition: SchemaDefinition, names: list[str], types: list[Any]
) -> tuple[SchemaDefinition, int]:
    """A schema with the columns of the stream that it does not name, and how many columns are seen."""
    declared = definition.columns
    is_derived = all(each.expression is not None or each.is_metadata for each in declared)
    if not is_derived and all(each.expression is None for each in declared) and definition.watermark is None:
        return definition, len(declared)
    # A schema of computed columns alone adds them to the fields of the stream. One that names columns gets the other
    # fields behind these, for its expressions to use, and they are cut off at the end.
    missing = [index for index, name in enumerate(names) if is_derived or name not in {each.name for each in declared}]
    physical = tuple(ColumnDefinition(names[each], types[each]) for each in missing)
    columns = (*physical, *declared) if is_derived else (*declared, *physical)
    return replace(definition, columns=columns), len(columns) if is_derived else len(declared)


def _with_fields(
    session: TableSession, source: StreamRef, names: list[str], types: list[Any], fields: Sequence[syntax.Expression]
) -> Relation:
    """Fields by their names, in any order and renamed; by their indexes if none of them is known."""
    plain = [each for each in fields if not _is_time(each)]
    by_name = any(_field_name(each) in names for each in plain) or (
        isinstance(value_type_of(source.type_info), RowTypeInfo)
        and any(isinstance(each, syntax.Alias) for each in plain)
    )
    columns: list[Column] = []
    indexes: list[int | None] = []
    proctimes: list[tuple[int, str]] = []
    number = 0
    for position, field in enumerate(fields):
        if _is_time(field):
            name, kind = _time_name(field)
            if kind == "proctime":
                proctimes.append((position, name))
                continue
            # As in Flink 1.x: a column of that name is replaced by the stream's event time.
            columns.append(Column(name, DataTypes.TIMESTAMP(3), TimeAttribute.ROWTIME))
            indexes.append(None)
            continue
        index = _index_by_name(field, names) if by_name else number
        if index >= len(names):
            raise ValidationException(
                f"Table field list exceeds the number of fields of the stream: [{', '.join(names)}]"
            )
        number += 1
        # Unlike columns of a schema they may be NULL, also where numbers of the stream may not.
        columns.append(Column(_new_name(field), with_nullable(types[index], True)))
        indexes.append(index)
    scan = Scan(tuple(columns), StreamTable(source, tuple(indexes)))
    return _with_proctimes(session, scan, proctimes)


def _with_proctimes(session: TableSession, scan: Scan, proctimes: list[tuple[int, str]]) -> Relation:
    if not proctimes:
        return scan
    items: list[syntax.Expression] = [syntax.Name((each.name,)) for each in scan.columns]
    for position, name in proctimes:
        items.insert(position, syntax.Alias(syntax.Call("proctime"), (name,)))
    return session.bind(queries.Select(tuple(items), queries.InlineTable(scan)))


def _is_time(field: syntax.Expression) -> bool:
    inner = field.operand if isinstance(field, syntax.Alias) else field
    return isinstance(inner, syntax.Call) and inner.name in ("rowtime", "proctime")


def _time_name(field: syntax.Expression) -> tuple[str, str]:
    inner = field.operand if isinstance(field, syntax.Alias) else field
    assert isinstance(inner, syntax.Call)
    (column,) = inner.arguments
    assert isinstance(column, syntax.Name)
    return (field.names[0] if isinstance(field, syntax.Alias) else column.parts[-1]), inner.name


def _field_name(field: syntax.Expression) -> str | None:
    inner = field.operand if isinstance(field, syntax.Alias) else field
    return inner.parts[-1] if isinstance(inner, syntax.Name) else None


def _new_name(field: syntax.Expression) -> str:
    name = field.names[0] if isinstance(field, syntax.Alias) else _field_name(field)
    if name is None:
        raise ValidationException(f"a field of a stream is given by its name, got {summary(field)}")
    return name


def _index_by_name(field: syntax.Expression, names: list[str]) -> int:
    name = _field_name(field)
    if name not in names:
        raise ValidationException(f"{name} is not a field of the stream; its fields are [{', '.join(names)}]")
    return names.index(name)
