"""Types of rows and tuples."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from funke.engine.types.information.composite_coercion import CompositeCoercers, row_coercers, tuple_coercers
from funke.engine.types.information.type_information import Coercer, TypeInformation, join_reprs
from funke.engine.types.row import Row, RowKind

__all__ = ["RowTypeInfo", "TupleTypeInfo"]

_T = TypeVar("_T", bound="_CompositeTypeInfo")


class _CompositeTypeInfo(TypeInformation):
    """What rows and tuples share: a list of field types."""

    _coercers_cache: CompositeCoercers | None = None
    _is_exact = False

    def __init__(self, field_types: list[TypeInformation]) -> None:
        self._field_types = field_types

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields."""
        return self._field_types

    def need_conversion(self) -> bool:
        """Composite values are stored as plain tuples."""
        return True

    def with_exact_fields(self: _T) -> _T:
        """Return the same type, which rejects values with more fields than it has."""
        exact = copy.copy(self)
        exact._is_exact = True
        return exact

    def coercer(self) -> Coercer:
        """Return the generated coercer of one value."""
        return self._coercers()[0]

    def coerce_list(self, values: list[Any]) -> list[Any]:
        """Make every value fit; returns the same list when all of them do."""
        return self._coercers()[1](values)

    def _coercers(self) -> CompositeCoercers:
        if self._coercers_cache is None:
            self._coercers_cache = self._generate_coercers()
        return self._coercers_cache

    def _generate_coercers(self) -> CompositeCoercers:
        raise NotImplementedError

    def _to_internal(self, values: Any) -> tuple[Any, ...]:
        return tuple(
            field_type.to_internal_type(value) if field_type.need_conversion() else value
            for field_type, value in zip(self._field_types, values, strict=False)
        )

    def from_internal_type(self, obj: Any) -> Any:
        """Return a tuple of Python objects; tuples and lists count as converted already."""
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return tuple(
            field_type.from_internal_type(value) if field_type.need_conversion() else value
            for field_type, value in zip(self._field_types, obj, strict=False)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_coercers_cache"}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._field_types == other._field_types

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self._field_types)))


class RowTypeInfo(_CompositeTypeInfo):
    """Type of rows; two row types are equal when their field types are, whatever the names."""

    def __init__(self, field_types: list[TypeInformation], field_names: list[str] | None = None) -> None:
        super().__init__(field_types)
        self._field_names = field_names

    def get_field_names(self) -> list[str]:
        """Return the names of the fields: the given ones, or f0, f1 and so on."""
        if not self._field_names:
            return [f"f{i}" for i in range(len(self._field_types))]
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a named field, or -1 when the type has no names."""
        return self._field_names.index(field_name) if self._field_names else -1

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the number of the row's kind followed by its fields."""
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        return (kind.value, *self._to_internal(self._values_of(obj)))

    def _values_of(self, obj: Any) -> Any:
        if isinstance(obj, Row):
            return [obj[name] for name in self.get_field_names()] if hasattr(obj, "_fields") else obj
        if isinstance(obj, (tuple, list)):
            return obj
        by_name = obj if isinstance(obj, dict) else getattr(obj, "__dict__", None)
        if by_name is None:
            raise ValueError(f"{obj!r} is not a row of type {self}")
        return [by_name.get(name) for name in self.get_field_names()]

    def _generate_coercers(self) -> CompositeCoercers:
        return row_coercers(self._field_types, list(self.get_field_names()), repr(self), self._is_exact)

    def __repr__(self) -> str:
        if not self._field_names:
            return f"RowTypeInfo({join_reprs(self._field_types)})"
        fields = zip(self._field_names, self._field_types, strict=False)
        return f"RowTypeInfo({', '.join(f'{name}: {field_type}' for name, field_type in fields)})"


class TupleTypeInfo(_CompositeTypeInfo):
    """Type of tuples."""

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the fields in their internal form."""
        if obj is None:
            return None
        if not isinstance(obj, (tuple, list, Row)):
            raise ValueError(f"{obj!r} is not a tuple of type {self}")
        return self._to_internal(obj)

    def _generate_coercers(self) -> CompositeCoercers:
        return tuple_coercers(self._field_types, repr(self), self._is_exact)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({join_reprs(self._field_types)})"
