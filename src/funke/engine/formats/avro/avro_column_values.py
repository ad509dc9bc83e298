"""Values of Avro's records as Arrow takes them for its columns, and what Arrow gives back as values of records."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from funke.engine.formats.avro.avro_branches import is_of_type
from funke.engine.formats.avro.avro_schema import branches_of, defined, is_record, kind_of, logical_kind_of

__all__ = ["Converter", "FromArrow", "ToArrow"]

# None instead of a converter means that values stay as they are.
Converter = Callable[[Any], Any]


class _Conversion(ABC):
    """Makes converters for the types of a schema; `names` are the types that it names."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def of(self, schema: Any) -> Converter | None:
        """Return the converter of a type, which may be null."""
        branches = [defined(branch, self._names) for branch in branches_of(schema)]
        convert = self._of_present(branches[0]) if len(branches) == 1 else self._of_union(branches)
        return None if convert is None else _nullable(convert)

    def _of_present(self, schema: Any) -> Converter | None:
        kind = kind_of(schema)
        if kind == "array":
            item = self.of(schema["items"])
            return None if item is None else lambda values: list(map(item, values))
        if kind == "map":
            return self._of_map(self.of(schema["values"]) or _same)
        return self._of_record(schema["fields"]) if is_record(schema) else self._of_leaf(schema)

    def _fields(self, fields: list[Any]) -> list[tuple[Any, Converter]]:
        return [(field, self.of(field["type"]) or _same) for field in fields if kind_of(field["type"]) != "null"]

    @abstractmethod
    def _of_union(self, branches: list[Any]) -> Converter:
        """For a value of one of several types."""

    @abstractmethod
    def _of_record(self, fields: list[Any]) -> Converter:
        """For a record."""

    @abstractmethod
    def _of_map(self, convert: Converter) -> Converter:
        """For a map whose values are converted like this."""

    @abstractmethod
    def _of_leaf(self, schema: Any) -> Converter | None:
        """For a value without parts."""


class ToArrow(_Conversion):
    """What `pyarrow.array` takes."""

    def _of_union(self, branches: list[Any]) -> Converter:
        members = [(f"member{i}", branch, self._of_present(branch) or _same) for i, branch in enumerate(branches)]

        def convert(value: Any) -> dict[str, Any]:
            for name, branch, to_member in members:
                if is_of_type(value, branch):
                    return {name: to_member(value)}
            raise ValueError(f"{value!r} is of no type of the union")

        return convert

    def _of_record(self, fields: list[Any]) -> Converter:
        triples = [(field["name"], field.get("default"), convert) for field, convert in self._fields(fields)]
        return lambda record: {name: convert(record.get(name, default)) for name, default, convert in triples}

    def _of_map(self, convert: Converter) -> Converter:
        return lambda entries: [(key, convert(value)) for key, value in entries.items()]

    def _of_leaf(self, schema: Any) -> Converter | None:
        if kind_of(schema) != "enum":
            return None
        symbols = frozenset(schema["symbols"])

        def convert(value: Any) -> Any:
            if value not in symbols:
                raise ValueError(f"{value!r} is none of {', '.join(schema['symbols'])}")
            return value

        return convert


class FromArrow(_Conversion):
    """What functions see, from what `to_pylist` gives."""

    def _of_union(self, branches: list[Any]) -> Converter:
        members = [(f"member{i}", self._of_present(branch) or _same) for i, branch in enumerate(branches)]

        def convert(struct: dict[str, Any]) -> Any:
            for name, from_member in members:
                if struct[name] is not None:
                    return from_member(struct[name])
            return None

        return convert

    def _of_record(self, fields: list[Any]) -> Converter:
        converters = {field["name"]: convert for field, convert in self._fields(fields)}
        pairs = [(field["name"], converters.get(field["name"])) for field in fields]
        return lambda struct: {name: convert and convert(struct[name]) for name, convert in pairs}

    def _of_map(self, convert: Converter) -> Converter:
        return lambda entries: {key: convert(value) for key, value in entries}

    def _of_leaf(self, schema: Any) -> Converter | None:
        return _with_utc if (logical_kind_of(schema) or "").startswith("timestamp-") else None


def _with_utc(value: datetime.datetime) -> datetime.datetime:
    return value.replace(tzinfo=datetime.UTC)


def _same(value: Any) -> Any:
    return value


def _nullable(convert: Converter) -> Converter:
    return lambda value: None if value is None else convert(value)
