"""Types of arrays, lists and maps."""

from __future__ import annotations

from typing import Any

from funke.engine.types.information.basic_types import BasicType, BasicTypeInfo
from funke.engine.types.information.scalar_coercion import mismatch
from funke.engine.types.information.type_information import Coercer, TypeInformation

__all__ = ["BasicArrayTypeInfo", "ListTypeInfo", "MapTypeInfo", "ObjectArrayTypeInfo", "PrimitiveArrayTypeInfo"]


def _to_list(type_name: str, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if hasattr(value, "tolist"):  # numpy.ndarray and array.array
        return list(value.tolist())
    mismatch(type_name, "a list", value)


def _list_coercer(type_info: TypeInformation, element_type: TypeInformation) -> Coercer:
    name = repr(type_info)
    coerce_elements = element_type.coerce_list

    def coerce(value: Any) -> Any:
        if value is None:
            return None
        return coerce_elements(value if type(value) is list else _to_list(name, value))

    return coerce


def _coerce_bytes(value: Any) -> Any:
    if type(value) is bytes or value is None:
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value):
        return bytes(item & 0xFF for item in value)
    mismatch("PrimitiveArrayTypeInfo<Byte>", "bytes", value)


def is_byte_array(type_info: TypeInformation) -> bool:
    """Whether values of this type are bytes on the Python side."""
    return (
        isinstance(type_info, PrimitiveArrayTypeInfo)
        and isinstance(type_info.element_type, BasicTypeInfo)
        and type_info.element_type.basic_type is BasicType.BYTE
    )


class _ArrayTypeInfo(TypeInformation):
    """What all arrays share."""

    def __init__(self, element_type: TypeInformation) -> None:
        self._element_type = element_type

    @property
    def element_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._element_type

    def _build_coercer(self) -> Coercer:
        return _list_coercer(self, self._element_type)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._element_type == other._element_type

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


class PrimitiveArrayTypeInfo(_ArrayTypeInfo):
    """Type of arrays of numbers or bools without nulls; an array of BYTE is a bytes object."""

    def _build_coercer(self) -> Coercer:
        return _coerce_bytes if is_byte_array(self) else super()._build_coercer()


class BasicArrayTypeInfo(_ArrayTypeInfo):
    """Type of arrays of numbers, bools or strings that may hold None."""


class ObjectArrayTypeInfo(_ArrayTypeInfo):
    """Type of arrays of anything else."""


class ListTypeInfo(TypeInformation):
    """Type of lists."""

    def __init__(self, element_type: TypeInformation) -> None:
        self.elem_type = element_type

    @property
    def element_type(self) -> TypeInformation:
        """The type of the elements."""
        return self.elem_type

    def _build_coercer(self) -> Coercer:
        return _list_coercer(self, self.elem_type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListTypeInfo) and self.elem_type == other.elem_type

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"ListTypeInfo<{self.elem_type}>"


class MapTypeInfo(TypeInformation):
    """Type of dicts with one type of key and one type of value."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    @property
    def key_type(self) -> TypeInformation:
        """The type of the keys."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation:
        """The type of the values."""
        return self._value_type_info

    def _build_coercer(self) -> Coercer:
        name = repr(self)
        coerce_keys, coerce_values = self._key_type_info.coerce_list, self._value_type_info.coerce_list

        def coerce(value: Any) -> Any:
            if isinstance(value, dict):
                return dict(zip(coerce_keys(list(value)), coerce_values(list(value.values())), strict=True))
            return None if value is None else mismatch(name, "a dict", value)

        return coerce

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MapTypeInfo)
            and self._key_type_info == other._key_type_info
            and self._value_type_info == other._value_type_info
        )

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"
