"""The meaning of a table of the catalog in a query: a scan, then computed columns, then event time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding import Calculation, Column, Relation, Scan, time_of
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.catalog.objects import Identifier, SchemaDefinition
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.connectors.watermark_options import ALIGNMENT, EMIT_GAP, EMIT_STRATEGY, IDLE_TIMEOUT
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.statements import ColumnDefinition
from funke.engine.types.logical import DataType, LocalZonedTimestampType, TimestampType, to_sql_text

__all__ = ["BinderFactory", "physical_columns", "scan_relation", "table_relation", "with_computed", "with_event_time"]

# Makes the binder of expressions in a scope.
BinderFactory = Callable[[Scope], ExpressionBinder]


def physical_columns(schema: SchemaDefinition) -> tuple[Column, ...]:
    """Return the columns that a connector reads and writes as the table's own."""
    return tuple(
        Column(each.name, each.type)
        for each in schema.columns
        if each.type is not None and not each.is_metadata and each.expression is None
    )


def table_relation(
    identifier: Identifier,
    schema: SchemaDefinition,
    source: TableSource,
    options: OptionValues,
    make: BinderFactory,
    idle_timeout_ms: int | None = None,
) -> Relation:
    """Return the rows of a table; `idle_timeout_ms` is the session's `table.exec.source.idle-timeout`."""
    metadata = [each for each in schema.columns if each.is_metadata]
    relation = scan_relation(identifier, source, metadata, make, schema.primary_key)
    relation = with_computed(schema, relation, make)
    if schema.watermark is None:
        return relation
    column, expression = ".".join(schema.watermark.column), schema.watermark.expression
    return with_event_time(relation, column, expression, options, make, idle_timeout_ms)


def scan_relation(
    identifier: Identifier,
    source: TableSource,
    metadata: Sequence[ColumnDefinition],
    make: BinderFactory,
    primary_key: tuple[str, ...] = (),
) -> Relation:
    """Return the rows of a source with columns of metadata, cast to their declared types."""
    path = (identifier.catalog, identifier.database, identifier.name)
    if not metadata:
        return Scan(source.columns, source, path, source.kinds, primary_key)
    # A source gives metadata in a type of its own; the declared one is reached by a cast.
    _check_metadata(identifier, metadata, source)
    source = source.with_metadata([(_key_of(each), each.name) for each in metadata])
    scan = Scan(source.columns, source, path, source.kinds, primary_key)
    declared = {each.name: each.type for each in metadata}
    columns = tuple(Column(each.name, declared.get(each.name) or each.type) for each in scan.columns)
    if columns == scan.columns:
        return scan
    bind = make(_scope_of(scan)).bind
    casts = [syntax.Cast(syntax.Name((column.name,)), column.type) for column in columns]
    same = [syntax.Name((column.name,)) for column in columns]
    pairs = zip(columns, scan.columns, casts, same)
    bound = tuple(bind(name if new.type == old.type else cast) for new, old, cast, name in pairs)
    return Calculation(columns, scan, bound)


def _check_metadata(identifier: Identifier, columns: Sequence[ColumnDefinition], source: TableSource) -> None:
    kind = type(source).__name__
    if not source.metadata:
        raise ValidationException(
            f"Table '{kind}' declares metadata columns, but the underlying DynamicTableSource doesn't implement the "
            "SupportsReadingMetadata interface. Therefore, metadata cannot be read from the given source."
        )
    for each in columns:
        if _key_of(each) not in source.metadata:
            keys = "\n".join(source.metadata)
            raise ValidationException(
                f"Invalid metadata key '{_key_of(each)}' in column '{each.name}' of table '{identifier.summary}'. The "
                f"DynamicTableSource class '{kind}' supports the following metadata keys for reading:\n{keys}"
            )


def _key_of(column: ColumnDefinition) -> str:
    return column.metadata_key or column.name


def with_computed(schema: SchemaDefinition, relation: Relation, make: BinderFactory) -> Relation:
    """The columns in the order of their declarations."""
    names = [each.name for each in schema.columns]
    if names == [each.name for each in relation.columns]:
        return relation
    bind = make(_scope_of(relation)).bind
    bound = tuple(bind(each.expression or syntax.Name((each.name,))) for each in schema.columns)
    columns = tuple(Column(name, each.type, time_of(each)) for name, each in zip(names, bound))
    return Calculation(columns, relation, bound)


def with_event_time(
    relation: Relation,
    column: str,
    expression: syntax.Expression,
    options: OptionValues,
    make: BinderFactory,
    idle_timeout_ms: int | None = None,
) -> WatermarkAssigner:
    """Return the rows with the event time of a column, and watermarks that are computed from each row."""
    _reject_alignment(options)
    if isinstance(expression, syntax.Call) and expression.name.lower() == "source_watermark":
        raise UnsupportedFeatureError("SOURCE_WATERMARK()", "no connector here brings watermarks of its own")
    names = [each.name for each in relation.columns]
    if column not in names:
        raise ValidationException(
            f"Invalid column name '{column}' for rowtime attribute in watermark declaration. Available columns are: "
            f"[{', '.join(names)}]"
        )
    rowtime = names.index(column)
    # Computed columns come before: `WATERMARK FOR ts` may be on `ts AS TO_TIMESTAMP(text)`.
    _check_time_type(relation.columns[rowtime].type, "time field")
    relation = _in_milliseconds(relation, rowtime, make)
    bound = make(_scope_of(relation)).bind(expression)
    _check_time_type(bound.type, "expression")
    columns = tuple(
        Column(each.name, each.type, TimeAttribute.ROWTIME) if index == rowtime else each
        for index, each in enumerate(relation.columns)
    )
    timeout = options[IDLE_TIMEOUT]
    return WatermarkAssigner(
        columns,
        relation,
        rowtime,
        bound,
        # 0 means never.
        (timeout.to_millis() if timeout is not None else idle_timeout_ms) or None,
        options[EMIT_GAP] if options[EMIT_STRATEGY] == "on-event" else None,
    )


def _in_milliseconds(relation: Relation, rowtime: int, make: BinderFactory) -> Relation:
    """The relation with an event time of milliseconds, which is the only precision that event time has in Flink."""
    time_column = relation.columns[rowtime]
    if not isinstance(time_column.type, (TimestampType, LocalZonedTimestampType)) or time_column.type.precision == 3:
        return relation
    time_type = type(time_column.type)(3, time_column.type._nullable)
    bind = make(_scope_of(relation)).bind
    names = [syntax.Name((each.name,)) for each in relation.columns]
    bound = tuple(bind(syntax.Cast(name, time_type) if index == rowtime else name) for index, name in enumerate(names))
    columns = [replace(each, type=time_type) if each is time_column else each for each in relation.columns]
    return Calculation(tuple(columns), relation, bound)


def _reject_alignment(options: OptionValues) -> None:
    for option in ALIGNMENT:
        if option in options:
            raise UnsupportedFeatureError(f"the option '{option.key}'", "watermarks of tables are not aligned")


def _check_time_type(data_type: DataType, what: str) -> None:
    if not isinstance(data_type, (TimestampType, LocalZonedTimestampType)) or data_type.precision > 3:
        raise ValidationException(
            f"Invalid data type of {what} for watermark definition. The field must be of type TIMESTAMP(p) or "
            f"TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the {what} type is "
            f"{to_sql_text(data_type)}"
        )


def _scope_of(relation: Relation) -> Scope:
    return Scope(tuple(ScopeColumn(each.name, each.type, None, each.time) for each in relation.columns))
