"""Rows with a kind: the record type that typed streams and tables share with Flink."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from funke.engine.types.enum_members import require_member

__all__ = ["Row", "RowKind"]

_SLOTS = frozenset(("_fields", "_values", "_from_dict", "_row_kind"))


class RowKind(Enum):
    """What a row does to the result it belongs to.

    >>> from funke.common import Row, RowKind
    >>> row = Row.of_kind(RowKind.UPDATE_AFTER, "tea", 7)
    >>> row.get_row_kind().name, [str(kind) for kind in RowKind]
    ('UPDATE_AFTER', ['+I', '-U', '+U', '-D'])
    """

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _KIND_TEXT[self._value_]


_KIND_TEXT = ("+I", "-U", "+U", "-D")
_KINDS = tuple(RowKind)
_INSERT = RowKind.INSERT


def _create_row(fields: list[str] | None, values: Any, row_kind: RowKind | None = None) -> Row:
    row = Row.__new__(Row)
    state = row.__dict__
    if fields is not None:
        state["_fields"] = fields
    state["_values"] = list(values)
    state["_from_dict"] = False
    state["_row_kind"] = row_kind if row_kind is not None else _INSERT
    return row


def _restore_row(fields: list[str] | None, values: list[Any], kind: int = 0) -> Row:
    return _create_row(fields, values, _KINDS[kind])


class Row:
    """Values by position and, when names are known, by name.

    >>> from funke.common import Row
    >>> row = Row(name="Alice", age=11)
    >>> row.name, row["age"], row[0]
    ('Alice', 11, 'Alice')
    >>> Person = Row("name", "age")
    >>> Person("Bob", 7)
    Row(name='Bob', age=7)
    """

    _fields: list[str]
    _values: list[Any]
    _from_dict: bool
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Row takes either positional values or named values, not both")
        state = self.__dict__
        if kwargs:
            state["_fields"] = list(kwargs)
            state["_values"] = list(kwargs.values())
        else:
            state["_values"] = list(args)
        state["_from_dict"] = bool(kwargs)
        state["_row_kind"] = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Create a row of the given kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return the values by name; with ``recursive``, nested rows (also in lists and dicts) become dicts too."""
        if "_fields" not in self.__dict__:
            raise TypeError("a Row without field names cannot become a dict")
        values = [_to_plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Return the kind of this row."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Change the kind of this row."""
        self._row_kind = require_member(RowKind, row_kind, "set_row_kind()")

    def set_field_names(self, field_names: list[str]) -> None:
        """Name the fields."""
        self._fields = field_names

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """Return the values of the named fields, in the order of ``names``."""
        fields = self.__dict__.get("_fields")
        if fields is None or names == fields:
            return self._values
        unknown = sorted(set(names).difference(fields))
        if unknown:
            raise Exception(f"Field names {unknown} not exist in {fields}.")
        return [self._values[fields.index(name)] for name in names]

    def _is_retract_msg(self) -> bool:
        return self._row_kind is RowKind.UPDATE_BEFORE or self._row_kind is RowKind.DELETE

    def _is_accumulate_msg(self) -> bool:
        return not self._is_retract_msg()

    def __contains__(self, item: Any) -> bool:
        fields = self.__dict__.get("_fields")
        return item in (self._values if fields is None else fields)

    def __call__(self, *args: Any) -> Row:
        """Create a row whose field names are the values of this one."""
        if len(args) > len(self._values):
            raise ValueError(f"Row with fields {self!r} takes at most {len(self._values)} values, got {args!r}")
        return _create_row(self._values, args, self._row_kind)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._position(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        elif "_fields" not in self.__dict__:
            raise KeyError(key)
        else:
            self._values[self._position(key)] = value

    def _position(self, name: Any) -> int:
        try:
            return self._fields.index(name)
        except ValueError:
            raise ValueError(name) from None

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_"):
            raise AttributeError(item)
        try:
            return self._values[self._fields.index(item)]
        except (IndexError, ValueError):
            raise AttributeError(item) from None

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in _SLOTS:
            raise AttributeError(key)
        self.__dict__[key] = value

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.__dict__
        # The kind travels as a number, and not at all for the common case: an Enum member pickles to 55 bytes.
        kind = state["_row_kind"]
        if kind is _INSERT:
            return _restore_row, (state.get("_fields"), state["_values"])
        return _restore_row, (state.get("_fields"), state["_values"], kind.value)

    def __repr__(self) -> str:
        fields = self.__dict__.get("_fields")
        if fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        named = zip(fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in named)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self.__class__ is not other.__class__:
            return False
        if self._row_kind is not other._row_kind:
            return False
        mine, theirs = self.__dict__.get("_fields"), other.__dict__.get("_fields")
        if mine == theirs:
            return self._values == other._values
        return mine is not None and theirs is not None and _equal_by_name(self, other)

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _equal_by_name(left: Row, right: Row) -> bool:
    names = sorted(left._fields)
    return names == sorted(right._fields) and [left[name] for name in names] == [right[name] for name in names]


def _to_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_plain(item) for key, item in value.items()}
    return value
