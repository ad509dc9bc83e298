"""Messages for calls whose arguments do not fit, in the words of Flink's validator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from funke.engine.types.logical import (
    CHARACTER,
    NUMERIC,
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    YearMonthIntervalType,
    to_full_sql_text,
    to_sql_text,
    with_nullable,
)

__all__ = ["Signature", "call_rejection", "family_text", "type_text"]

# The parameters of one way to call a function, each with its mark: nothing, `?` or `...`.
Signature = Sequence[tuple[str, str]]

_FAMILIES = {
    "any": "ANY",
    "boolean": "BOOLEAN",
    "text": "CHARACTER",
    "bytes": "BINARY",
    "number": "NUMERIC",
    "integer": "INTEGER",
    "decimal": "DECIMAL",
    "float": "APPROXIMATE_NUMERIC",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "datetime": "DATETIME",
    "interval": "DATETIME_INTERVAL",
    "array": "ARRAY",
    "map": "MAP",
    "multiset": "MULTISET",
    "row": "ROW",
    "symbol": "ANY",
}
_COMPARISONS = frozenset({"=", "<>", "<", ">", "<=", ">="})
_INFIX = frozenset({"+", "-", "*", "/", "%", "and", "or", "||", "is distinct from", "is not distinct from"})
_INFIX |= _COMPARISONS
_TIMESTAMPS = (TimestampType, LocalZonedTimestampType)


def type_text(data_type: DataType) -> str:
    """A type as messages name it: INTEGER, VARCHAR(2147483647), INTEGER ARRAY."""
    if isinstance(data_type, IntType):
        return "INTEGER"
    if isinstance(data_type, ArrayType):
        return f"{type_text(data_type.element_type)} ARRAY"
    if isinstance(data_type, MultisetType):
        return f"{type_text(data_type.element_type)} MULTISET"
    if isinstance(data_type, MapType):
        return f"({type_text(data_type.key_type)}, {type_text(data_type.value_type)}) MAP"
    if isinstance(data_type, RowType):
        fields = ", ".join(f"{type_text(each.data_type)} {each.name}" for each in data_type)
        return f"RecordType:peek_no_expand({fields})"
    if isinstance(data_type, LocalZonedTimestampType):
        return f"TIMESTAMP_WITH_LOCAL_TIME_ZONE({data_type.precision})"
    if isinstance(data_type, DayTimeIntervalType | YearMonthIntervalType):
        return to_sql_text(with_nullable(data_type, True))
    return to_full_sql_text(with_nullable(data_type, True))


def family_text(data_type: DataType) -> str:
    """The family of a type in messages about unknown functions: NUMERIC."""
    if isinstance(data_type, NUMERIC):
        return "NUMERIC"
    if isinstance(data_type, CHARACTER):
        return "CHARACTER"
    if isinstance(data_type, BinaryType | VarBinaryType):
        return "BINARY"
    if isinstance(data_type, DayTimeIntervalType | YearMonthIntervalType):
        kind = "DAY_TIME" if isinstance(data_type, DayTimeIntervalType) else "YEAR_MONTH"
        return f"INTERVAL_{kind}"
    for kinds, name in _NAMED:
        if isinstance(data_type, kinds):
            return name
    return "ANY"


_NAMED: tuple[tuple[tuple[type[DataType], ...], str], ...] = (
    ((BooleanType,), "BOOLEAN"),
    ((DateType,), "DATE"),
    ((TimeType,), "TIME"),
    (_TIMESTAMPS, "TIMESTAMP"),
    ((ArrayType,), "ARRAY"),
    ((MapType,), "MAP"),
    ((MultisetType,), "MULTISET"),
    ((NullType,), "NULL"),
)


def call_rejection(
    name: str, types: Sequence[DataType], strings: Sequence[str], signatures: Sequence[Signature]
) -> str:
    """The message for a call; `strings` are the texts of its arguments, which may be words."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(types, strings)
    counts = [_counts(each) for each in signatures]
    if not any(least <= len(types) <= most for least, most in counts):
        return _wrong_number(name, len(types), counts)
    call_text = _call_text(name, [f"<{each}>" for each in strings])
    forms = "\n".join(f"'{each}'" for each in dict.fromkeys(_forms(name, signatures, len(types))))
    return f"Cannot apply '{name.upper()}' to arguments of type '{call_text}'. Supported form(s): {forms}"


def _counts(signature: Signature) -> tuple[int, int]:
    least = sum(mark != "?" for _, mark in signature)
    return least, 1_000_000 if any(mark == "..." for _, mark in signature) else len(signature)


def _wrong_number(name: str, count: int, counts: Sequence[tuple[int, int]]) -> str:
    least, most = min(each for each, _ in counts), max(each for _, each in counts)
    expected_count = least if count < least else most
    return f"Invalid number of arguments to function '{name.upper()}'. Was expecting {expected_count} arguments"


def _forms(name: str, signatures: Sequence[Signature], count: int) -> list[str]:
    if name in ("like", "not like"):
        return [_call_text(name.removeprefix("not "), ["<STRING>"] * 3)]
    forms = []
    for signature in signatures:
        least, most = _counts(signature)
        if name in _INFIX and not least <= count <= most:
            continue
        for length in range(least, min(most, len(signature)) + 1):
            parts = [_families(name, text) for text, _ in signature[:length]]
            forms += [_call_text(name, [f"<{each}>" for each in one]) for one in product(*parts)]
    return forms


def _families(name: str, parameter: str) -> list[str]:
    if name in _COMPARISONS:
        return ["COMPARABLE_TYPE"]
    if name == "||" and parameter == "text":
        return ["STRING"]
    return [_FAMILIES.get(each, each.upper()) for each in parameter.split("/")]


def _call_text(name: str, arguments: Sequence[str]) -> str:
    """A call as SQL writes it, of types."""
    if name in _INFIX and len(arguments) > 1:
        return f" {name.upper()} ".join(arguments)
    if name in ("-", "+", "not"):
        return f"{name.upper()}{''.join(arguments)}"
    if name.startswith("is ") and len(arguments) == 1:
        return f"{arguments[0]} {name.upper()}"
    return f"{name.upper()}({', '.join(arguments)})"


def _cast(types: Sequence[DataType], strings: Sequence[str]) -> str:
    source, target = types[0], strings[-1]
    is_number = target.split("(")[0] in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")
    if isinstance(source, _TIMESTAMPS) and is_number:
        return (
            "The cast from TIMESTAMP type to NUMERIC type is not allowed. It's recommended to use "
            "UNIX_TIMESTAMP(CAST(timestamp_col AS STRING)) instead."
        )
    if isinstance(source, NUMERIC) and target.startswith("TIMESTAMP"):
        return (
            "The cast from NUMERIC type to TIMESTAMP type is not allowed. It's recommended to use "
            "TO_TIMESTAMP(FROM_UNIXTIME(numeric_col)) instead, note the numeric is in seconds."
        )
    return f"Cast function cannot convert value of type {type_text(source)} to type {target}"


def _case(types: Sequence[DataType], strings: Sequence[str]) -> str:
    if any(not isinstance(each, BooleanType | NullType) for each in types[:-1:2]):
        return "Expected a boolean type"
    return "Illegal mixing of types in CASE or COALESCE statement"


def _array(types: Sequence[DataType], strings: Sequence[str]) -> str:
    return "Parameters must be of the same type" if types else "Require at least 1 argument"


def _map(types: Sequence[DataType], strings: Sequence[str]) -> str:
    if not types:
        return "Map requires at least 2 arguments"
    return "Map requires an even number of arguments" if len(types) % 2 else "Parameters must be of the same type"


def _item(types: Sequence[DataType], strings: Sequence[str]) -> str:
    type_list = ", ".join(f"<{each}>" for each in strings)
    forms = "<ARRAY>[<INTEGER>]\n<MAP>[<ANY>]\n<ROW>[<CHARACTER>|<INTEGER>]\n<VARIANT>[<CHARACTER>|<INTEGER>]"
    return f"Cannot apply 'ITEM' to arguments of type 'ITEM({type_list})'. Supported form(s): {forms}"


def _in(types: Sequence[DataType], strings: Sequence[str]) -> str:
    return "Values passed to IN operator must have compatible types"


_SPECIAL: dict[str, Callable[[Sequence[DataType], Sequence[str]], str]] = {
    "cast": _cast,
    "try_cast": _cast,
    "case": _case,
    "array": _array,
    "map": _map,
    "at": _item,
    "in": _in,
    "not in": _in,
}
