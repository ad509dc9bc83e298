"""Plans INSERT: the rows of a query, in the columns and types of the table that they go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    Calculation,
    Column,
    Relation,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder, whole_units
from funke.engine.sql.binding.scope import Scope, ScopeColumn, rejected
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView, Identifier
from funke.engine.sql.connectors.table_factories import create_table_sink
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.statements.outcome import InsertPlan
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.tables.resolved_table import ResolvedColumn, ResolvedTable, resolved
from funke.engine.sql.statements.tables.table_scans import table_context
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.expressions import Call, Cast, Expression, Literal, Name, TypeArgument
from funke.engine.types.logical import (
    INTERVAL,
    BigIntType,
    DataType,
    DecimalType,
    IntType,
    VarCharType,
    to_sql_text,
    with_nullable,
)
from funke.engine.types.logical.casts import can_cast_implicitly

__all__ = ["cast_rows", "plan_insert", "plan_rows"]


def plan_insert(session: TableSession, statement: syntax.Insert) -> InsertPlan:
    """Plan INSERT INTO … query."""
    identifier, table = _target(session, statement.path)
    relation = session.bind(statement.query)
    names = _target_names(session, table, statement, len(relation.columns))
    partition = {name: str(_constant(value)) for name, value in statement.partition}
    plan = plan_rows(
        session, identifier, table, relation, names, partition, statement.is_overwrite, dict(statement.options)
    )
    return replace(plan, text=statement.written, on_conflict=statement.on_conflict)


def plan_rows(
    session: TableSession,
    identifier: Identifier | None,
    table: CatalogTable,
    relation: Relation,
    names: Sequence[str] | None = None,
    partition: Mapping[str, str] | None = None,
    is_overwrite: bool = False,
    options: Mapping[str, str] | None = None,
) -> InsertPlan:
    """Plan rows for a table; `names` are those of the table's columns that they are for, None means all."""
    columns = resolved(table.schema, session.binder())
    target = identifier or Identifier("*anonymous*", "*anonymous*", "*anonymous*")
    sink = create_table_sink(table_context(session, target, table, columns, options or {}))
    sink = _with_metadata(sink, columns)
    if is_overwrite:
        sink = sink.with_overwrite()
    if partition:
        sink = sink.with_partition(partition)
    target_columns = columns.persisted
    filled = _filled(session, relation, target_columns, names, partition or {})
    rows = cast_rows(session, filled, target_columns, target.summary)
    key = tuple(index for index, each in enumerate(target_columns) if each.name in columns.primary_key)
    # A column that is NOT NULL in the table but may be NULL in the query is checked at run time: as
    # table.exec.sink.not-null-enforcer says, such a row is an error, or it is dropped.
    checked = (index for index, each in enumerate(filled.columns) if each.type._nullable)
    not_null = tuple(index for index in checked if not target_columns[index].type._nullable)
    return InsertPlan(identifier, rows, sink, key, not_null)


def _target(session: TableSession, path: tuple[str, ...]) -> tuple[Identifier, CatalogTable]:
    identifier = session.catalogs.qualify(path)
    table = session.catalogs.get(identifier)
    if isinstance(table, CatalogView):
        raise ValidationException(f"the view {identifier} cannot be written to")
    return identifier, table


def _target_names(
    session: TableSession, table: CatalogTable, statement: syntax.Insert, count: int
) -> tuple[str, ...] | None:
    """The columns that the rows are for: those that are listed, or all but those of the partition."""
    persisted = [each.name for each in resolved(table.schema, session.binder()).persisted]
    fixed = dict(statement.partition)
    for index, name in enumerate((*statement.columns, *fixed)):
        if name not in persisted:
            raise rejected(f"Unknown target column '{name}'", statement.position_of(index))
        if name in statement.columns[:index]:
            raise rejected(f"Target column '{name}' is assigned more than once", statement.position_of(index))
    # PARTITION (p = …) fixes columns that the query must not give again.
    if not statement.columns:
        return tuple(name for name in persisted if name not in fixed) if fixed else None
    if len(statement.columns) != count:
        raise rejected(
            "Number of columns must match number of query columns", statement.query.position or statement.position
        )
    return statement.columns


def _filled(
    session: TableSession,
    relation: Relation,
    target_columns: Sequence[ResolvedColumn],
    names: Sequence[str] | None,
    partition: Mapping[str, str],
) -> Relation:
    """Rows with all columns of the table: NULL where the query gives nothing, the values of the PARTITION clause."""
    if names is None:
        return relation
    binder = ExpressionBinder(_scope(relation), session.binder().session)
    expressions: list[BoundExpression] = []
    columns: list[Column] = []
    for column in target_columns:
        if column.name in names:
            bound: BoundExpression = binder.bind(Name((f"c{list(names).index(column.name)}",)))
        elif column.name in partition:
            # Values of PARTITION are texts in Flink, cast to the type of the column.
            text = partition[column.name]
            bound = binder.bind(Cast(Literal(text, VarCharType(len(text), False)), column.type))
        else:
            if not column.type._nullable:
                raise ValidationException(f"Column '{column.name}' has no default value and does not allow NULLs")
            bound = BoundConstant(with_nullable(column.type, True), None)
        expressions.append(bound)
        columns.append(Column(column.name, bound.type))
    return Calculation(tuple(columns), relation, tuple(expressions))


def cast_rows(
    session: TableSession, relation: Relation, target_columns: Sequence[ResolvedColumn], name: str
) -> Relation:
    """Rows in the columns of a table; rejects types that are not taken for them."""
    query_columns = relation.columns
    if len(query_columns) != len(target_columns):
        raise _mismatch(name, "Different number of columns.", query_columns, target_columns)
    for index, (one, other) in enumerate(zip(query_columns, target_columns), 1):
        # NOT NULL is looked after when rows are written.
        if not can_cast_implicitly(one.type, with_nullable(other.type, True)) and not _is_interval_number(one, other):
            cause = f"Incompatible types for sink column '{other.name}' at position {index}."
            raise _mismatch(name, cause, query_columns, target_columns)
    columns = tuple(Column(each.name, each.type) for each in target_columns)
    if all(_is_same(one.type, other.type) for one, other in zip(query_columns, columns)):
        # Only the NOT NULL differs: no operator is needed for that.
        if [each.name for each in query_columns] == [each.name for each in columns]:
            return replace(relation, columns=columns)
        same = (BoundColumn(each.type, index, each.name) for index, each in enumerate(query_columns))
        return Calculation(columns, relation, tuple(same))
    binder = ExpressionBinder(_scope(relation), session.binder().session)
    casts = []
    for index, column in enumerate(columns):
        own = binder.bind(Name((f"c{index}",)))
        is_same = _is_same(own.type, column.type)
        value = (
            _interval_units(relation, index)
            if _is_interval_number(query_columns[index], column)
            else Name((f"c{index}",))
        )
        casts.append(own if is_same else binder.bind(Cast(value, with_nullable(column.type, True))))
    return Calculation(columns, relation, tuple(casts))


def _is_interval_number(source: Column, target: Column | ResolvedColumn) -> bool:
    return isinstance(source.type, INTERVAL) and isinstance(target.type, (IntType, BigIntType, DecimalType))


def _interval_units(relation: Relation, index: int) -> Expression:
    """The number of units of an interval: that of a constant is rounded, others are cut, as in Flink."""
    value = relation.expressions[index] if isinstance(relation, Calculation) else None
    if isinstance(value, BoundConstant):
        units = whole_units(value)
        return Literal(units.value, units.type)
    # The type of (end - start) DAY does not keep the unit.
    is_between = isinstance(value, BoundFunction) and value.call.function.name == "interval between"
    unit = (TypeArgument(value.call.arguments[2].value),) if isinstance(value, BoundFunction) and is_between else ()
    return Call("interval units", (Name((f"c{index}",)), *unit))


def _is_same(one: DataType, other: DataType) -> bool:
    return with_nullable(one, True) == with_nullable(other, True)


def _scope(relation: Relation) -> Scope:
    return Scope(tuple(ScopeColumn(f"c{index}", each.type) for index, each in enumerate(relation.columns)))


def _mismatch(
    name: str, cause: str, query_columns: Sequence[Column], target_columns: Sequence[ResolvedColumn]
) -> ValidationException:
    query = ", ".join(f"{each.name}: {to_sql_text(each.type)}" for each in query_columns)
    sink = ", ".join(f"{each.name}: {to_sql_text(each.type)}" for each in target_columns)
    return ValidationException(
        f"Column types of query result and sink for '{name}' do not match.\nCause: {cause}\n\n"
        f"Query schema: [{query}]\nSink schema:  [{sink}]"
    )


def _with_metadata(sink: TableSink, columns: ResolvedTable) -> TableSink:
    keys = [each.metadata_key for each in columns.metadata if each.is_persisted]
    return sink.with_metadata(keys) if keys else sink


def _constant(value: object) -> object:
    if not isinstance(value, Literal):
        raise ValidationException("a partition is given by constants")
    return value.value
