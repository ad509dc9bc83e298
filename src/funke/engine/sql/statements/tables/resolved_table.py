"""The columns of a declared table with all their types: physical ones, those of metadata, and computed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding import BoundExpression, Column, time_of
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.catalog.objects import SchemaDefinition
from funke.engine.sql.parsing import parse_expression
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.statements import ColumnDefinition
from funke.engine.types.logical import DataType, LocalZonedTimestampType, TimestampType, to_sql_text, with_nullable

__all__ = ["ResolvedColumn", "ResolvedTable", "ResolvedWatermark", "resolved", "written_expression"]


@dataclass(frozen=True)
class ResolvedColumn:
    """A column as it was declared, with its type."""

    definition: ColumnDefinition
    type: DataType
    time: TimeAttribute | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def is_computed(self) -> bool:
        return self.definition.expression is not None

    @property
    def is_physical(self) -> bool:
        return not self.is_computed and not self.definition.is_metadata

    @property
    def is_persisted(self) -> bool:
        """True if INSERT writes it."""
        return self.is_physical or (self.definition.is_metadata and not self.definition.is_virtual)

    @property
    def metadata_key(self) -> str:
        return self.definition.metadata_key or self.name

    def as_column(self) -> Column:
        return Column(self.name, self.type, self.time)


@dataclass(frozen=True)
class ResolvedWatermark:
    """The event time column, and the expression of its watermarks."""

    column: str
    expression: syntax.Expression
    type: DataType
    # As it was given.
    declared: syntax.Expression


@dataclass(frozen=True)
class ResolvedTable:
    """All columns in their order."""

    columns: tuple[ResolvedColumn, ...]
    watermark: ResolvedWatermark | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str = ""

    @property
    def physical(self) -> tuple[ResolvedColumn, ...]:
        return tuple(each for each in self.columns if each.is_physical)

    @property
    def metadata(self) -> tuple[ResolvedColumn, ...]:
        return tuple(each for each in self.columns if each.definition.is_metadata)

    @property
    def persisted(self) -> tuple[ResolvedColumn, ...]:
        return tuple(each for each in self.columns if each.is_persisted)

    def scope(self) -> Scope:
        """The names that computed columns may use: those of all columns that are not computed."""
        return Scope(tuple(ScopeColumn(each.name, each.type) for each in self.columns if not each.is_computed))


def resolved(schema: SchemaDefinition, binder: QueryBinder) -> ResolvedTable:
    """The columns of a schema; rejects what cannot be."""
    _reject_twice([each.name for each in schema.columns])
    physical = tuple(_physical(each, schema) for each in schema.columns if each.expression is None)
    # Computed columns see the other columns only, not each other, so their order does not matter.
    table = ResolvedTable(physical)
    expressions = ExpressionBinder(table.scope(), binder.session, binder.find_function)
    by_name = {each.name: each for each in physical}
    columns = [by_name.get(each.name) or _computed(each, expressions) for each in schema.columns]
    # Behind the computed columns: event time may be one of them.
    columns, watermark = _with_watermark(columns, schema, binder)
    _check_key(schema.primary_key, columns)
    name = schema.primary_key_name or "_".join(("PK", *schema.primary_key))
    return ResolvedTable(tuple(columns), watermark, schema.primary_key, name if schema.primary_key else "")


def written_expression(expression: syntax.Expression) -> syntax.Expression:
    """An expression of a schema; one that was given as a text of SQL is parsed."""
    if isinstance(expression, syntax.Call) and expression.name == "call_sql":
        (text,) = expression.arguments
        assert isinstance(text, syntax.Literal)
        return parse_expression(text.value)
    return expression


def _physical(column: ColumnDefinition, schema: SchemaDefinition) -> ResolvedColumn:
    if column.type is None:
        raise ValidationException(f"the column '{column.name}' has no type")
    # A key has no NULLs, whether or not that was said.
    is_key = column.name in schema.primary_key
    return ResolvedColumn(column, with_nullable(column.type, False) if is_key else column.type)


def _computed(column: ColumnDefinition, binder: ExpressionBinder) -> ResolvedColumn:
    assert column.expression is not None
    bound = bound_computed(column, binder)
    return ResolvedColumn(column, bound.type, time_of(bound))


def bound_computed(column: ColumnDefinition, binder: ExpressionBinder) -> BoundExpression:
    """The bound expression of a computed column."""
    assert column.expression is not None
    try:
        return binder.bind(written_expression(column.expression))
    except ValueError as error:
        raise ValidationException(
            f"Invalid expression for computed column '{column.name}'.\nCaused by: {type(error).__name__}: {error}"
        ) from error


def _with_watermark(
    columns: list[ResolvedColumn], schema: SchemaDefinition, binder: QueryBinder
) -> tuple[list[ResolvedColumn], ResolvedWatermark | None]:
    if schema.watermark is None:
        return columns, None
    name = ".".join(schema.watermark.column)
    rowtime_column = next((each for each in columns if each.name == name), None)
    if rowtime_column is None:
        raise ValidationException(
            f"Invalid column name '{name}' for rowtime attribute in watermark declaration. "
            f"Available columns are: [{', '.join(each.name for each in columns)}]"
        )
    _require_rowtime(rowtime_column.type, "time field")
    scope = Scope(tuple(ScopeColumn(each.name, each.type, None, each.time) for each in columns))
    expression = written_expression(schema.watermark.expression)
    # The source brings the watermarks: there is nothing to bind.
    if isinstance(expression, syntax.Call) and expression.name == "source_watermark":
        data_type = rowtime_column.type
    else:
        data_type = ExpressionBinder(scope, binder.session, binder.find_function).bind(expression).type
        _require_rowtime(data_type, "watermark expression")
    rowtime = replace(rowtime_column, time=TimeAttribute.ROWTIME)
    changed = [rowtime if each is rowtime_column else each for each in columns]
    return changed, ResolvedWatermark(name, expression, data_type, schema.watermark.expression)


def _require_rowtime(data_type: DataType, what: str) -> None:
    if not isinstance(data_type, (TimestampType, LocalZonedTimestampType)) or data_type.precision > 3:
        raise ValidationException(
            f"Invalid data type of {what.removeprefix('watermark ')} for watermark definition. The field must be of "
            f"type TIMESTAMP(p) or TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the {what} "
            "type is "
            f"{to_sql_text(data_type)}"
        )


def _check_key(key: Sequence[str], columns: Sequence[ResolvedColumn]) -> None:
    by_name = {each.name: each for each in columns}
    for name in key:
        if name not in by_name:
            raise ValidationException(
                f"Invalid primary key '{'_'.join(('PK', *key))}'. Column '{name}' does not exist."
            )
        if not by_name[name].is_physical:
            raise ValidationException(
                f"Invalid primary key '{'_'.join(('PK', *key))}'. Column '{name}' is not a physical column."
            )


def _reject_twice(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValidationException(
            f"Schema must not contain duplicate column names. Found duplicates: [{', '.join(twice)}]"
        )
