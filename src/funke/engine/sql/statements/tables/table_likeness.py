"""CREATE TABLE … LIKE: the parts that a new table takes over from another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, SchemaDefinition
from funke.engine.sql.syntax.statements import ColumnDefinition

__all__ = ["with_likeness"]

_FEATURES = ("options", "generated", "metadata", "watermarks", "constraints", "partitions", "distribution")


def with_likeness(source: CatalogTable, table: CatalogTable, features: Sequence[tuple[str, str]]) -> CatalogTable:
    """A table with what it takes over; physical columns are always taken, before its own ones."""
    how = _strategies(features)
    columns = _columns(source.schema.columns, table.schema.columns, how)
    schema = _schema(source.schema, table.schema, columns, how)
    partitions = table.partition_keys
    if not partitions and how["partitions"] == "including":
        partitions = source.partition_keys
    elif partitions and source.partition_keys and how["partitions"] == "including":
        raise ValidationException(
            "The base table already has partitions defined. You might want to specify EXCLUDING PARTITIONS."
        )
    return replace(table, schema=schema, options=_options(source, table, how["options"]), partition_keys=partitions)


def _strategies(features: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Everything is taken over, and options may be set anew, unless it is said otherwise."""
    how = {each: "including" for each in _FEATURES} | {"options": "overwriting"}
    for word, feature in features:
        # ALL first, whatever its place: the features that are named override it.
        if feature == "all":
            how = {each: word for each in _FEATURES}
    for word, feature in features:
        if feature != "all":
            how[feature] = word
    return how


def _columns(
    base: Sequence[ColumnDefinition], own: Sequence[ColumnDefinition], how: dict[str, str]
) -> tuple[ColumnDefinition, ...]:
    inherited = [each for each in base if how.get(_feature(each), "including") != "excluding"]
    names = {each.name: each for each in inherited}
    replaced: dict[str, ColumnDefinition] = {}
    for column in own:
        older = names.get(column.name)
        if older is None:
            continue
        feature = _feature(column)
        is_same_kind = _feature(older) == feature
        # As in Flink only computed and metadata columns may be overwritten, each by one of its own kind.
        if feature == "physical" or not is_same_kind or how[feature] != "overwriting":
            raise ValidationException(_deprecation_of(column.name, feature))
        replaced[column.name] = column
    return (
        *(replaced.get(each.name, each) for each in inherited),
        *(each for each in own if each.name not in replaced),
    )


def _deprecation_of(name: str, feature: str) -> str:
    if feature == "generated":
        return (
            f"A generated column named '{name}' already exists in the base table. You might want to specify EXCLUDING "
            "GENERATED or OVERWRITING GENERATED."
        )
    if feature == "metadata":
        return (
            f"A metadata column named '{name}' already exists in the base table. You might want to specify EXCLUDING "
            "METADATA or OVERWRITING METADATA."
        )
    return f"A column named '{name}' already exists in the base table."


def _feature(column: ColumnDefinition) -> str:
    if column.expression is not None:
        return "generated"
    return "metadata" if column.is_metadata else "physical"


def _schema(
    base: SchemaDefinition, own: SchemaDefinition, columns: tuple[ColumnDefinition, ...], how: dict[str, str]
) -> SchemaDefinition:
    watermark, key, key_name = own.watermark, own.primary_key, own.primary_key_name
    if base.watermark is not None and how["watermarks"] != "excluding":
        if watermark is not None and how["watermarks"] != "overwriting":
            raise ValidationException(
                "There already exists a watermark spec for column "
                f"'{'.'.join(base.watermark.column)}' in the base table. You might want to specify EXCLUDING "
                "WATERMARKS or OVERWRITING WATERMARKS."
            )
        watermark = watermark or base.watermark
    if base.primary_key and how["constraints"] != "excluding":
        if key:
            raise ValidationException(
                "The base table already has a primary key. You might want to specify EXCLUDING CONSTRAINTS."
            )
        key, key_name = base.primary_key, base.primary_key_name
    return SchemaDefinition(columns, watermark, key, key_name)


def _options(source: CatalogTable, table: CatalogTable, how: str) -> dict[str, str]:
    if how == "excluding":
        return dict(table.options)
    twice = next((key for key in table.options if key in source.options), None)
    if how == "including" and twice is not None:
        raise ValidationException(
            f"There already exists an option ['{twice}' -> '{source.options[twice]}'] in the base table. You might "
            "want to specify EXCLUDING OPTIONS or OVERWRITING OPTIONS."
        )
    return {**source.options, **table.options}
