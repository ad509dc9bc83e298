"""Output types as programs declare them, and as streams report them."""

from __future__ import annotations

from funke.engine.types import RowTypeInfo, TypeInformation, Types

OutputType = TypeInformation | list[TypeInformation] | None


def declared_type(output_type: OutputType) -> TypeInformation | None:
    """The declared type: a list of types means a row, None means any Python object."""
    if output_type is None or isinstance(output_type, TypeInformation):
        return output_type
    if isinstance(output_type, list):
        return RowTypeInfo(output_type)
    raise TypeError(f"output_type must be a TypeInformation, a list of them or None, got {output_type!r}")


def reported_type(type_info: TypeInformation | None) -> TypeInformation:
    """The type as `get_type()` returns it: fields of a row always have names."""
    if type_info is None:
        return Types.PICKLED_BYTE_ARRAY()
    if isinstance(type_info, RowTypeInfo):
        return RowTypeInfo(type_info.get_field_types(), type_info.get_field_names())
    return type_info


def keyed_type(key_type: TypeInformation | None, value_type: TypeInformation | None) -> RowTypeInfo:
    """The type of a keyed stream: rows of a key and an element."""
    return RowTypeInfo([reported_type(key_type), reported_type(value_type)], ["f0", "f1"])
