"""Columns of tables as the types of streams, by which rows and columns become each other."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.formats.column_types import to_type_info
from funke.engine.sql.binding.relations import Column
from funke.engine.types import ExternalTypeInfo, InstantTypeInfo, RowTypeInfo, TypeInformation, Types
from funke.engine.types.information.arrow_types import to_arrow
from funke.engine.types.logical import (
    NUMERIC,
    BooleanType,
    DataType,
    DataTypes,
    DayTimeIntervalType,
    MultisetType,
    NullType,
    RawType,
    RowField,
    RowType,
    TimestampType,
    YearMonthIntervalType,
    from_column_type,
)

__all__ = ["data_type_of", "row_type_of", "value_type_of"]


def row_type_of(columns: Sequence[Column]) -> RowTypeInfo:
    """The type of rows with these columns in streams."""
    row_type = Types.ROW_NAMED([each.name for each in columns], [_type_info(each.type) for each in columns])
    assert isinstance(row_type, RowTypeInfo)
    return row_type


def _type_info(data_type: DataType) -> TypeInformation:
    """Types that streams do not have travel as columns hold them: counts, months, milliseconds, bytes."""
    if isinstance(data_type, MultisetType):
        return Types.MAP(_type_info(data_type.element_type), Types.INT())
    if isinstance(data_type, YearMonthIntervalType):
        return Types.INT()
    if isinstance(data_type, DayTimeIntervalType):
        return Types.LONG()
    if isinstance(data_type, RawType):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return Types.STRING() if isinstance(data_type, NullType) else to_type_info(data_type)


def data_type_of(type_info: TypeInformation, is_primitive: bool = False) -> DataType:
    """The type of a column whose values are of a stream's type; as Java's primitives, numbers are never NULL."""
    data_type = _nullable_type_of(type_info)
    return data_type.not_null() if is_primitive and isinstance(data_type, (BooleanType, *NUMERIC)) else data_type


def _nullable_type_of(type_info: TypeInformation) -> DataType:
    if isinstance(type_info, RowTypeInfo):
        names, types = type_info.get_field_names(), type_info.get_field_types()
        return RowType([RowField(name, data_type_of(each)) for name, each in zip(names, types)])
    if isinstance(type_info, InstantTypeInfo):
        return DataTypes.TIMESTAMP_LTZ(9)
    data_type = from_column_type(to_arrow(type_info))
    if isinstance(data_type, TimestampType):
        # Streams count nanoseconds.
        return DataTypes.TIMESTAMP(9)
    return data_type


def value_type_of(type_info: TypeInformation | None) -> TypeInformation | None:
    """The type of a stream's elements without the wrapper of types that come from tables."""
    return value_type_of(type_info._type_info) if isinstance(type_info, ExternalTypeInfo) else type_info
