"""Aggregates that gather values: LISTAGG, ARRAY_AGG, COLLECT, JSON_ARRAYAGG, JSON_OBJECTAGG."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from funke.engine.errors import TypeMismatchError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import Argument, bind, symbol
from funke.engine.sql.functions.type_rules import always
from funke.engine.state.storage_keys import original_key, storage_key
from funke.engine.types.logical import LONGEST, ArrayType, DataType, MultisetType, VarCharType

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["ARRAY_AGG", "COLLECT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "LISTAGG"]


class _ListBody(AggregateBody):
    """Values in the order of arrival; a retraction removes the oldest of equal ones."""

    def create(self) -> list[SqlValue]:
        return []

    def accumulate(self, accumulator: list[SqlValue], *arguments: SqlValue) -> None:
        if self.counts(arguments):
            accumulator.append(self.element(arguments))

    def retract(self, accumulator: list[SqlValue], *arguments: SqlValue) -> None:
        if self.counts(arguments):
            element = self.element(arguments)
            # A row that expired by its TTL may be retracted later; what is not there cannot be removed.
            if element in accumulator:
                accumulator.remove(element)

    def merge(self, accumulator: list[SqlValue], other: list[SqlValue]) -> None:
        accumulator.extend(other)

    def counts(self, arguments: tuple[SqlValue, ...]) -> bool:
        """Whether a row has an element."""
        return True

    def element(self, arguments: tuple[SqlValue, ...]) -> SqlValue:
        """The element of a row."""
        return arguments[0]

    def value(self, accumulator: list[SqlValue]) -> SqlValue:
        return list(accumulator) if accumulator else None


class _TextListBody(_ListBody):
    def __init__(self, call: AggregateCall) -> None:
        self._separator = call.arguments[1].value if len(call.arguments) > 1 else ","

    def counts(self, arguments: tuple[SqlValue, ...]) -> bool:
        return arguments[0] is not None

    def value(self, accumulator: list[SqlValue]) -> SqlValue:
        return self._separator.join(accumulator) if accumulator else None


class _MultisetBody(AggregateBody):
    """The count of each value; NULLs are left out."""

    def create(self) -> dict[SqlValue, int]:
        return {}

    def accumulate(self, accumulator: dict[SqlValue, int], *arguments: SqlValue) -> None:
        self._add(accumulator, arguments[0], 1)

    def retract(self, accumulator: dict[SqlValue, int], *arguments: SqlValue) -> None:
        self._add(accumulator, arguments[0], -1)

    def merge(self, accumulator: dict[SqlValue, int], other: dict[SqlValue, int]) -> None:
        for key, count in other.items():
            self._count(accumulator, key, count)

    def value(self, accumulator: dict[SqlValue, int]) -> SqlValue:
        # The accumulator has stand-ins for values that a dict cannot tell apart, such as 1 and 1.0.
        return {original_key(key): count for key, count in accumulator.items()}

    def _add(self, counts: dict[SqlValue, int], value: SqlValue, count: int) -> None:
        if value is not None:
            self._count(counts, storage_key(value), count)

    @staticmethod
    def _count(counts: dict[SqlValue, int], key: SqlValue, count: int) -> None:
        total = counts.get(key, 0) + count
        if total:
            counts[key] = total
        else:
            # Counts below 0 stay: a retraction may come before its row, when two inputs are joined.
            counts.pop(key, None)


def _json_text(data_type: DataType, call: AggregateCall) -> Callable[[SqlValue], str]:
    """The function that writes a value as JSON: the only element of an array without its brackets."""
    body = bind(FUNCTIONS["json_array"], [symbol("NULL"), Argument(data_type)], call.session).body()
    return lambda value: body("NULL", value)[1:-1]


class _JsonArrayBody(_ListBody):
    def __init__(self, call: AggregateCall) -> None:
        self._keeps_nulls = call.arguments[0].value == "NULL"
        self._text = _json_text(call.types[1], call)

    def counts(self, arguments: tuple[SqlValue, ...]) -> bool:
        return self._keeps_nulls or arguments[1] is not None

    def element(self, arguments: tuple[SqlValue, ...]) -> str:
        return self._text(arguments[1])

    def value(self, accumulator: list[str]) -> str:
        return f"[{','.join(accumulator)}]"


class _JsonObjectBody(AggregateBody):
    """The value of each key; they are sorted when they are shown."""

    def __init__(self, call: AggregateCall) -> None:
        self._keeps_nulls = call.arguments[0].value == "NULL"
        self._key = _json_text(call.types[1], call)
        self._text = _json_text(call.types[2], call)

    def create(self) -> dict[str, str]:
        return {}

    def accumulate(self, accumulator: dict[str, str], *arguments: SqlValue) -> None:
        _, key, value = arguments
        # Flink keeps the pairs in a MapView, hence its words.
        if key is None:
            raise TableException("Map views don't support null keys.")
        if self._keeps_nulls or value is not None:
            self._require_new(accumulator, self._key(key), key)
            accumulator[self._key(key)] = self._text(value)

    @staticmethod
    def _require_new(accumulator: dict[str, str], written: str, key: str) -> None:
        if written in accumulator:
            raise TableException(
                f"Key '{key}' is already present. Duplicate keys are not allowed in JSON_OBJECTAGG. "
                "Please ensure that keys are unique."
            )

    def retract(self, accumulator: dict[str, str], *arguments: SqlValue) -> None:
        _, key, value = arguments
        if self._keeps_nulls or value is not None:
            accumulator.pop(self._key(key), None)

    def merge(self, accumulator: dict[str, str], other: dict[str, str]) -> None:
        accumulator.update(other)

    def value(self, accumulator: dict[str, str]) -> str:
        return "{" + ",".join(f"{key}:{accumulator[key]}" for key in sorted(accumulator, key=json.loads)) + "}"


def _array_type(arguments: Sequence[Argument]) -> DataType:
    return ArrayType(arguments[0].type)


def _multiset_type(arguments: Sequence[Argument]) -> DataType:
    return MultisetType(arguments[0].type, False)


def _joined_type(arguments: Sequence[Argument]) -> DataType:
    if len(arguments) > 1 and not arguments[1].is_constant:
        raise TypeMismatchError("Argument to function 'LISTAGG' must be a literal")
    return _TEXT


_TEXT = VarCharType(LONGEST)
LISTAGG = AggregateFunction(
    ("listagg",),
    "text | text, text",
    _joined_type,
    _TextListBody,
    purpose="All texts, with a separator between them, a comma unless it is given.",
)
ARRAY_AGG = AggregateFunction(
    ("array_agg",), "any", _array_type, lambda call: _ListBody(), purpose="All values as an array, NULLs too."
)
COLLECT = AggregateFunction(
    ("collect",),
    "any",
    _multiset_type,
    lambda call: _MultisetBody(),
    has_value_when_empty=True,
    purpose="All values as a multiset.",
)
JSON_ARRAYAGG = AggregateFunction(
    ("json_arrayagg",),
    "symbol, any",
    always(VarCharType(2000, False)),
    _JsonArrayBody,
    has_value_when_empty=True,
    purpose="All values as a JSON array.",
)
JSON_OBJECTAGG = AggregateFunction(
    ("json_objectagg",),
    "symbol, text, any",
    always(VarCharType(2000, False)),
    _JsonObjectBody,
    has_value_when_empty=True,
    purpose="All pairs of a key and a value as a JSON object.",
)
