"""Columns, watermark and key of a table after ALTER TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, SchemaDefinition
from funke.engine.sql.syntax.expressions import Expression, Name
from funke.engine.sql.syntax.statements import AlterTable, ColumnDefinition

__all__ = ["changed_schema", "merged_columns"]


def changed_schema(table: CatalogTable, change: AlterTable) -> SchemaDefinition:
    """The schema of a table after one change of it."""
    schema = table.schema
    if change.action == "rename column":
        return _renamed(table, change.column, change.new_column)
    if change.action == "drop":
        return _dropped(table, change)
    if change.distribution is not None:
        raise UnsupportedFeatureError("DISTRIBUTED in ALTER TABLE")
    is_new = change.action == "add"
    columns = list(schema.columns)
    for column in change.columns:
        columns = _added(columns, column) if is_new else _modified(columns, column)
    changed = replace(schema, columns=tuple(columns))
    if change.watermark is not None:
        _require(schema.watermark is None, is_new, "watermark strategy")
        changed = replace(changed, watermark=change.watermark)
    if change.primary_key:
        _require(not schema.primary_key, is_new, "primary key")
        changed = replace(changed, primary_key=change.primary_key, primary_key_name=change.primary_key_name)
    return changed


def merged_columns(
    declared: Sequence[ColumnDefinition], of_query: Sequence[ColumnDefinition]
) -> tuple[ColumnDefinition, ...]:
    """The columns of CREATE TABLE … AS: names alone put those of the query in an order, others stand before them."""
    if declared and all(each.type is None and each.expression is None for each in declared):
        by_name = {each.name: each for each in of_query}
        unknown = next((each.name for each in declared if each.name not in by_name), None)
        if unknown is not None:
            raise ValidationException(f"Column '{unknown}' not found in the source schema. ")
        return tuple(by_name[each.name] for each in declared)
    own = {each.name: each for each in declared}
    extra = [each for each in declared if each.name not in {other.name for other in of_query}]
    return (*extra, *(own.get(each.name, each) for each in of_query))


def _added(columns: list[ColumnDefinition], column: ColumnDefinition) -> list[ColumnDefinition]:
    if any(each.name == column.name for each in columns):
        raise _rejected(f"Column `{column.name}` already exists in the table.")
    return _placed(columns, column, len(columns))


def _modified(columns: list[ColumnDefinition], column: ColumnDefinition) -> list[ColumnDefinition]:
    index = _index(columns, column.name)
    if index is None:
        raise _rejected(f"Column `{column.name}` does not exist in the table.")
    others = [each for each in columns if each.name != column.name]
    return _placed(others, column, index)


def _placed(columns: list[ColumnDefinition], column: ColumnDefinition, index: int) -> list[ColumnDefinition]:
    if column.is_first:
        index = 0
    elif column.after is not None:
        before = _index(columns, column.after)
        if before is None:
            raise _rejected(f"Referenced column `{column.after}` by 'AFTER' does not exist in the table.")
        index = before + 1
    # FIRST and AFTER belong to the statement, not to the stored column.
    plain = replace(column, is_first=False, after=None)
    return [*columns[:index], plain, *columns[index:]]


def _dropped(table: CatalogTable, change: AlterTable) -> SchemaDefinition:
    schema = table.schema
    if change.what == "watermark":
        _require_given(schema.watermark is not None, "watermark strategy")
        return replace(schema, watermark=None)
    if change.what in ("primary key", "constraint"):
        _require_given(bool(schema.primary_key), "primary key")
        # The name that Flink gives to a key declared without one.
        name = schema.primary_key_name or "_".join(("PK", *schema.primary_key))
        if change.what == "constraint" and change.keys[0] != name:
            raise _rejected(
                f"The base table does not define a primary key constraint named '{change.keys[0]}'. Available "
                f"constraint name: ['{name}']."
            )
        return replace(schema, primary_key=(), primary_key_name="")
    if change.what != "columns":
        raise UnsupportedFeatureError(f"ALTER TABLE … DROP {change.what.upper()}")
    for name in change.keys:
        _reject_used(table, name, set(change.keys), "drop")
    return replace(schema, columns=tuple(each for each in schema.columns if each.name not in change.keys))


def _renamed(table: CatalogTable, name: str, new_name: str) -> SchemaDefinition:
    schema = table.schema
    _reject_used(table, name, {name}, "rename")
    if any(each.name == new_name for each in schema.columns):
        raise _rejected(f"The column `{new_name}` already existed in table schema.")
    columns = tuple(replace(each, name=new_name) if each.name == name else each for each in schema.columns)
    key = tuple(new_name if each == name else each for each in schema.primary_key)
    return replace(schema, columns=columns, primary_key=key)


def _reject_used(table: CatalogTable, name: str, going: set[str], action: str) -> None:
    """Refuses to take away what something else is made of."""
    schema = table.schema
    if not any(each.name == name for each in schema.columns):
        raise _rejected(f"The column `{name}` does not exist in the base table.")
    # A computed column that is dropped by the same statement does not hold its inputs.
    users = [each.name for each in schema.columns if each.name not in going and name in _names_in(each.expression)]
    if users:
        listed = ", ".join(f"`{each}`" for each in sorted(users))
        raise _rejected(f"The column `{name}` is referenced by computed column {listed}.")
    if schema.watermark is not None and (
        name in schema.watermark.column or name in _names_in(schema.watermark.expression)
    ):
        raise _rejected(f"The column `{name}` is referenced by watermark expression.")
    if action == "drop" and name in schema.primary_key:
        raise _rejected(f"The column `{name}` is used as the primary key.")
    if name in table.partition_keys:
        raise _rejected(f"The column `{name}` is used as the partition keys.")


def _names_in(expression: Expression | None) -> set[str]:
    names: set[str] = set()

    def walk(part: object) -> None:
        if isinstance(part, Name):
            names.add(part.parts[0])
        elif isinstance(part, tuple):
            for each in part:
                walk(each)
        elif isinstance(part, Expression):
            for each in vars(part).values():
                walk(each)

    walk(expression)
    return names


def _index(columns: list[ColumnDefinition], name: str) -> int | None:
    return next((index for index, each in enumerate(columns) if each.name == name), None)


def _require(is_missing: bool, is_new: bool, what: str) -> None:
    if is_new and not is_missing:
        raise _rejected(
            f"The base table has already defined the {what}. You might want to drop it before adding a new one."
        )
    if not is_new and is_missing:
        raise _rejected(f"The base table does not define any {what}. You might want to add a new one.")


def _require_given(is_given: bool, what: str) -> None:
    if not is_given:
        raise _rejected(f"The base table does not define any {what}.")


def _rejected(message: str) -> ValidationException:
    return ValidationException(f"Failed to execute ALTER TABLE statement.\n{message}")
