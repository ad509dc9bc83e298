"""The types of PostgreSQL's columns as those of tables, as Flink maps them."""

from __future__ import annotations

from collections.abc import Callable

from funke.engine.flink_exceptions import CatalogException
from funke.engine.types.logical import DataType, DataTypes

__all__ = ["table_type"]

# PostgreSQL adds this to the length or the digits in a column's modifier.
_HEADER = 4
_MOST_DIGITS, _DEFAULT_SCALE = 38, 18


def table_type(name: str, modifier: int, is_nullable: bool = True) -> DataType:
    """The type of a column, by the name of its type and the modifier (length, digits) that PostgreSQL stores.

    >>> from funke.engine.types.logical.sql_text import to_sql_text
    >>> to_sql_text(table_type("numeric", (10 << 16 | 2) + 4)), to_sql_text(table_type("_int4", -1, False))
    ('DECIMAL(10, 2)', 'ARRAY<INT> NOT NULL')
    """
    data_type = DataTypes.ARRAY(_element(name[1:], modifier)) if name.startswith("_") else _element(name, modifier)
    return data_type if is_nullable else data_type.not_null()


def _element(name: str, modifier: int) -> DataType:
    make = _TYPES.get(name)
    if make is None:
        raise CatalogException(f"Doesn't support Postgres type '{name}' yet")
    return make(modifier)


def _decimal(modifier: int) -> DataType:
    # A NUMERIC without digits may hold any: Flink takes DECIMAL(38, 18) for it.
    if modifier < _HEADER:
        return DataTypes.DECIMAL(_MOST_DIGITS, _DEFAULT_SCALE)
    precision, scale = (modifier - _HEADER) >> 16 & 0xFFFF, (modifier - _HEADER) & 0x7FF
    # Eleven bits with a sign: digits before the point may be zeros.
    scale = scale - 0x800 if scale & 0x400 else scale
    if precision > _MOST_DIGITS or not 0 <= scale <= precision:
        raise CatalogException(f"Doesn't support Postgres type 'numeric({precision}, {scale})' yet")
    return DataTypes.DECIMAL(precision, scale)


def _text(modifier: int) -> DataType:
    return DataTypes.STRING() if modifier < _HEADER else DataTypes.VARCHAR(modifier - _HEADER)


def _digits(make: Callable[[int], DataType]) -> Callable[[int], DataType]:
    return lambda modifier: make(6 if modifier < 0 else modifier)


_TYPES: dict[str, Callable[[int], DataType]] = {
    "bool": lambda _: DataTypes.BOOLEAN(),
    "bytea": lambda _: DataTypes.BYTES(),
    "int2": lambda _: DataTypes.SMALLINT(),
    "int4": lambda _: DataTypes.INT(),
    "int8": lambda _: DataTypes.BIGINT(),
    "float4": lambda _: DataTypes.FLOAT(),
    "float8": lambda _: DataTypes.DOUBLE(),
    "numeric": _decimal,
    "varchar": _text,
    "bpchar": lambda modifier: DataTypes.CHAR(max(1, modifier - _HEADER)),
    "text": lambda _: DataTypes.STRING(),
    "date": lambda _: DataTypes.DATE(),
    "time": _digits(DataTypes.TIME),
    "timestamp": _digits(DataTypes.TIMESTAMP),
    "timestamptz": _digits(DataTypes.TIMESTAMP_LTZ),
    # More than Flink has. They are read as texts.
    "uuid": lambda _: DataTypes.STRING(),
    "json": lambda _: DataTypes.STRING(),
    "jsonb": lambda _: DataTypes.STRING(),
}
