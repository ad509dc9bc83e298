"""Columns of tables as the types of streams, by which rows and columns become each other."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.formats.column_types import to_type_info
from funke.engine.sql.binding.relations import Column
from funke.engine.types.composite_types import RowTypeInfo
from funke.engine.types.logical.collection_types import MultisetType
from funke.engine.types.logical.data_type import DataType, NullType, RawType
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.type_catalog import Types
from funke.engine.types.type_information import TypeInformation

__all__ = ["row_type_of"]


def row_type_of(columns: Sequence[Column]) -> RowTypeInfo:
    """The type of rows with these columns in streams."""
    made = Types.ROW_NAMED([each.name for each in columns], [_type_info(each.type) for each in columns])
    assert isinstance(made, RowTypeInfo)
    return made


def _type_info(data_type: DataType) -> TypeInformation:
    """What streams do not know travels as what columns hold: counts, months, milliseconds, bytes."""
    if isinstance(data_type, MultisetType):
        return Types.MAP(_type_info(data_type.element_type), Types.INT())
    if isinstance(data_type, YearMonthIntervalType):
        return Types.INT()
    if isinstance(data_type, DayTimeIntervalType):
        return Types.LONG()
    if isinstance(data_type, RawType):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return Types.STRING() if isinstance(data_type, NullType) else to_type_info(data_type)
