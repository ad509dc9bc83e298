"""The type that the elements of ``from_collection`` are made to fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    Coercer,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.scalar_coercion import coerce_string
from funke.engine.types.number_text import double_text

__all__ = ["collection_type"]


def collection_type(type_info: TypeInformation) -> TypeInformation:
    """Return the type to coerce the elements of a collection with: like ``type_info``, but numbers pass as text.

    PyFlink turns numbers and bools into text where a collection is declared to hold STRING; the output of a function
    with that type must be a str. And it rejects fields too many, which it leaves out of a function's output.
    """
    if isinstance(type_info, ExternalTypeInfo):
        return ExternalTypeInfo(collection_type(type_info._type_info))
    if isinstance(type_info, BasicTypeInfo):
        return _TextTypeInfo(BasicType.STRING) if type_info.basic_type is BasicType.STRING else type_info
    if isinstance(type_info, RowTypeInfo):
        fields = list(map(collection_type, type_info.get_field_types()))
        return RowTypeInfo(fields, type_info.get_field_names()).with_exact_fields()
    if isinstance(type_info, TupleTypeInfo):
        return TupleTypeInfo(list(map(collection_type, type_info.get_field_types()))).with_exact_fields()
    if isinstance(type_info, MapTypeInfo):
        return MapTypeInfo(collection_type(type_info.key_type), collection_type(type_info.value_type))
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)):
        return type(type_info)(collection_type(type_info.element_type))
    return type_info


class _TextTypeInfo(BasicTypeInfo):
    """STRING that also takes numbers and bools."""

    def _build_coercer(self) -> Coercer:
        return _to_text

    def coerce_list(self, values: list[Any]) -> list[Any]:
        return list(map(_to_text, values))


def _to_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    return str(value) if isinstance(value, (int, Decimal)) else coerce_string(value)
