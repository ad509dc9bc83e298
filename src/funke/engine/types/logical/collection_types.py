"""Arrays, maps and multisets in tables."""

from __future__ import annotations

from typing import Any, NoReturn

from funke.engine.types.logical.data_type import DataType, flag_text, require

__all__ = ["ArrayType", "ListViewType", "MapType", "MapViewType", "MultisetType", "require_type"]


class _ElementsType(DataType):
    """A type of several elements of one type."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        require_type("element_type", element_type)
        super().__init__(nullable)
        self.element_type = element_type

    def need_conversion(self) -> bool:
        """Tell whether the elements are converted."""
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """Return the list of converted elements."""
        return [self.element_type.to_sql_type(each) for each in obj] if obj and self.need_conversion() else obj

    def from_sql_type(self, obj: Any) -> Any:
        """Return the list of elements."""
        return [self.element_type.from_sql_type(each) for each in obj] if obj and self.need_conversion() else obj

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element_type!r}, {flag_text(self._nullable)})"


class ArrayType(_ElementsType):
    """Lists of elements of one type."""


class MultisetType(_ElementsType):
    """Bags of elements of one type, where an element may stand several times."""


class MapType(DataType):
    """Maps from keys of one type to values of one type."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        require_type("key_type", key_type)
        require_type("value_type", value_type)
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def need_conversion(self) -> bool:
        """Tell whether keys or values are converted."""
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """Return the map of converted keys and values."""
        if not obj or not self.need_conversion():
            return obj
        return {self.key_type.to_sql_type(key): self.value_type.to_sql_type(value) for key, value in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """Return the map of keys and values."""
        if not obj or not self.need_conversion():
            return obj
        return {self.key_type.from_sql_type(key): self.value_type.from_sql_type(value) for key, value in obj.items()}

    def __repr__(self) -> str:
        return f"MapType({self.key_type!r}, {self.value_type!r}, {flag_text(self._nullable)})"


class _ViewType(DataType):
    """A type that stands in the accumulator of an aggregate function, and nowhere else."""

    def __init__(self) -> None:
        super().__init__(False)

    def to_sql_type(self, obj: Any) -> NoReturn:
        """Raises: a view is not a value."""
        raise Exception(f"{type(self).__name__} is a type of accumulators of aggregate functions only")

    def from_sql_type(self, obj: Any) -> NoReturn:
        """Raises: a view is not a value."""
        self.to_sql_type(obj)


class ListViewType(_ViewType):
    """Lists in accumulators."""

    def __init__(self, element_type: DataType) -> None:
        require_type("element_type", element_type)
        super().__init__()
        self._element_type = element_type

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"


class MapViewType(_ViewType):
    """Maps in accumulators."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        require_type("key_type", key_type)
        require_type("value_type", value_type)
        super().__init__()
        self._key_type = key_type
        self._value_type = value_type

    def __repr__(self) -> str:
        return f"MapViewType({self._key_type!r}, {self._value_type!r})"


def require_type(parameter: str, value: Any) -> None:
    """Reject values that are not data types."""
    require(isinstance(value, DataType), f"{parameter} must be a DataType, got {value!r}")
