"""Finds fields of records that an Avro schema does not have: Avro itself would leave them out without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.errors import TypeMismatchError
from funke.engine.formats.avro.avro_schema import branches_of, defined, is_record, kind_of, named_types

__all__ = ["field_check"]

# Raises for a value with unknown fields.
FieldCheck = Callable[[Any], None]


def field_check(schema: Any) -> FieldCheck | None:
    """Return the function that checks values of a schema; None when there is nothing to check."""
    return _Checks(named_types(schema)).of(schema)


class _Checks:
    """Makes one check for each record; a record may contain itself."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._checks: dict[int, FieldCheck] = {}

    def of(self, schema: Any) -> FieldCheck | None:
        """Return the check of a type."""
        schema = defined(schema, self._names)
        kind = kind_of(schema)
        if kind == "union":
            return self._of_union(schema)
        if is_record(schema):
            return self._of_record(schema)
        if kind not in ("array", "map"):
            return None
        check = self.of(schema["items" if kind == "array" else "values"])
        return None if check is None else _each(check, is_map=kind == "map")

    def _of_union(self, schema: list[Any]) -> FieldCheck | None:
        branches = branches_of(schema)
        # With several branches it is unknown which one a dict belongs to.
        check = self.of(branches[0]) if len(branches) == 1 else None
        return None if check is None else _if_present(check)

    def _of_record(self, schema: dict[str, Any]) -> FieldCheck:
        if id(schema) in self._checks:
            return self._checks[id(schema)]
        names = frozenset(field["name"] for field in schema["fields"])
        inner: list[tuple[str, FieldCheck]] = []

        def check(record: Any) -> None:
            if not isinstance(record, dict):
                raise TypeMismatchError(f"a record of Avro must be a dict, got {type(record).__name__}: {record!r}")
            if not record.keys() <= names:
                unknown = ", ".join(sorted(record.keys() - names))
                raise TypeMismatchError(f"{record!r} has fields that the Avro schema lacks: {unknown}")
            for name, check_field in inner:
                if name in record:
                    check_field(record[name])

        self._checks[id(schema)] = check
        checks = [(field["name"], self.of(field["type"])) for field in schema["fields"]]
        inner += [(name, each) for name, each in checks if each is not None]
        return check


def _each(check: FieldCheck, is_map: bool) -> FieldCheck:
    def check_each(values: Any) -> None:
        for value in values.values() if is_map else values:
            check(value)

    return check_each


def _if_present(check: FieldCheck) -> FieldCheck:
    def check_present(value: Any) -> None:
        if value is not None:
            check(value)

    return check_present
