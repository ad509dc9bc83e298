"""Rows in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, overload

from funke.engine.types.logical.collection_types import require_type
from funke.engine.types.logical.data_type import DataType, require
from funke.engine.types.row import Row, RowKind, _create_row

__all__ = ["RowField", "RowType", "StructuredType", "repeated_names"]


class RowField:
    """A field of a row: its name, its type and what it means."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        require_type("data_type", data_type)
        require(isinstance(name, str), f"the name of a field must be a str, got {name!r}")
        require(description is None or isinstance(description, str), f"a description is a str, got {description!r}")
        self.name = name
        self.data_type = data_type
        self.description = "..." if description is None else description

    def need_conversion(self) -> bool:
        """Tell whether values of the field are converted."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """Return the value inside a table."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """Return the Python value."""
        return self.data_type.from_sql_type(obj)

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))


def repeated_names(fields: Iterable[RowField]) -> list[str]:
    """Return the names that several of some fields have."""
    return [name for name, count in Counter(each.name for each in fields).items() if count > 1]


class RowType(DataType):
    """The type of rows; its fields are found by name, by position or by slice.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> row_type = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT())]).add("name", DataTypes.STRING())
    >>> row_type.field_names(), row_type["id"]
    (['id', 'name'], RowField(id, IntType(true), ...))
    """

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())
        require(all(isinstance(each, RowField) for each in self.fields), "the fields of a row type must be RowFields")
        self.names = [each.name for each in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Append a field, given as such or by name and type, and return this type."""
        if not isinstance(field, RowField):
            if data_type is None:
                raise ValueError(f"the field {field!r} has no data type")
            field = RowField(field, data_type)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def field_names(self) -> list[str]:
        """Return the names of the fields."""
        return list(self.names)

    def field_types(self) -> list[DataType]:
        """Return the types of the fields."""
        return [each.data_type for each in self.fields]

    def need_conversion(self) -> bool:
        """Tell that rows become tuples."""
        return True

    def to_sql_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the number of the row's kind, followed by the values."""
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        values = self._values(obj)
        if self._converts_fields():
            values = [each.to_sql_type(v) if each.need_conversion() else v for each, v in zip(self.fields, values)]
        return (kind.value, *values)

    def from_sql_type(self, obj: Any) -> Row | None:
        """Return the row of some values."""
        if obj is None or isinstance(obj, Row):
            return obj
        values = obj
        if self._converts_fields():
            values = [each.from_sql_type(v) if each.need_conversion() else v for each, v in zip(self.fields, obj)]
        return _create_row(self.names, values)

    def _converts_fields(self) -> bool:
        return any(each.need_conversion() for each in self.fields)

    def _values(self, obj: Any) -> list[Any]:
        """Return the values of a row, by name if it has names."""
        if isinstance(obj, dict):
            return [obj.get(name) for name in self.names]
        if isinstance(obj, Row) and hasattr(obj, "_fields"):
            return [obj[name] for name in self.names]
        if isinstance(obj, (Row, tuple, list)):
            return list(obj)
        if hasattr(obj, "__dict__"):
            return [obj.__dict__.get(name) for name in self.names]
        raise ValueError(f"{obj!r} is not a row of the type {self!r}")

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @overload
    def __getitem__(self, key: str | int) -> RowField: ...

    @overload
    def __getitem__(self, key: slice) -> RowType: ...

    def __getitem__(self, key: str | int | slice) -> RowField | RowType:
        if isinstance(key, slice):
            return RowType(self.fields[key])
        if isinstance(key, int):
            return self._field_at(key)
        if isinstance(key, str):
            return self._field_named(key)
        raise TypeError(f"a field of a row type is found by name, position or slice, got {key!r}")

    def _field_at(self, position: int) -> RowField:
        try:
            return self.fields[position]
        except IndexError:
            raise IndexError(f"a row type with {len(self)} fields has none at position {position}") from None

    def _field_named(self, name: str) -> RowField:
        if name not in self.names:
            raise KeyError(f"a row type with the fields {', '.join(self.names)} has none named {name}")
        return self.fields[self.names.index(name)]

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"


class StructuredType(RowType):
    """The type of rows that bear the name of a class, which distinguishes types with the same fields."""

    def __init__(self, class_name: str, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(fields, nullable)
        self.class_name = class_name

    def __repr__(self) -> str:
        return f"StructuredType({self.class_name},{','.join(map(repr, self.fields))})"
