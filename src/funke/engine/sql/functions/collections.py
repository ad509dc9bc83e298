"""Arrays, maps, multisets and rows: making them, looking into them, and the functions ARRAY_… and MAP_…"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from funke.engine.sql.functions.casts.value_casts import value_cast
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.sql.functions.type_rules import like_argument
from funke.engine.types.logical import (
    CHARACTER,
    INTEGRAL,
    LONGEST,
    ArrayType,
    BooleanType,
    DataType,
    IntType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    VarCharType,
    VariantType,
    any_nullable,
    common_type,
    is_nullable,
    with_nullable,
)
from funke.engine.types.logical.casts import can_cast_implicitly
from funke.engine.types.variant_text import element_of, member_of

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.logical import SqlValue

__all__ = ["COLLECTIONS"]

_INT, _BOOLEAN, _STRING = IntType(), BooleanType(), VarCharType(LONGEST)


def _types(arguments: Sequence[Argument]) -> list[DataType]:
    return [each.type for each in arguments]


def _array_type(arguments: Sequence[Argument]) -> DataType | None:
    element = common_type(_types(arguments))
    return None if element is None else ArrayType(element, False)


def _parts_cast(call: BoundCall, targets: Sequence[DataType]) -> list[Callable[[SqlValue], SqlValue]]:
    """Return the casts of arguments to their target types; NULL stays NULL."""

    def or_null(cast: Callable[[SqlValue], SqlValue]) -> Callable[[SqlValue], SqlValue]:
        return lambda value: None if value is None else cast(value)

    return [or_null(value_cast(source, target, call.session)) for source, target in zip(call.types, targets)]


def _array_body(call: BoundCall) -> Body:
    element = call.result.element_type  # type: ignore[attr-defined]
    casts = _parts_cast(call, [element] * len(call.types))
    return lambda *values: [cast(each) for cast, each in zip(casts, values)]


def _map_type(arguments: Sequence[Argument]) -> DataType | None:
    types = _types(arguments)
    key, value = common_type(types[::2]), common_type(types[1::2])
    return None if len(types) % 2 or key is None or value is None else MapType(key, value, False)


def _map_body(call: BoundCall) -> Body:
    result: Any = call.result
    casts = _parts_cast(call, [result.key_type, result.value_type] * (len(call.types) // 2))

    def make_map(*values: SqlValue) -> dict[SqlValue, SqlValue]:
        parts = [cast(each) for cast, each in zip(casts, values)]
        return _keyed("MAP", parts[::2], parts[1::2])

    return make_map


def _keyed(name: str, keys: Sequence[SqlValue], values: Sequence[SqlValue]) -> dict[SqlValue, SqlValue]:
    if None in keys:
        raise ValueError(f"Invalid function {name} call: a key is NULL")
    # Of equal keys the last one counts.
    return dict(zip(keys, values))


def _row_type(arguments: Sequence[Argument]) -> DataType:
    return RowType([RowField(f"EXPR${index}", each.type) for index, each in enumerate(arguments)], False)


def _at_type(arguments: Sequence[Argument]) -> DataType | None:
    """An element of an array, by its index from 1, or the value of a key; both may be missing."""
    whole: Any = arguments[0].type
    if isinstance(whole, ArrayType):
        return with_nullable(whole.element_type, True) if isinstance(arguments[1].type, (*INTEGRAL, NullType)) else None
    if isinstance(whole, VariantType):
        return VariantType() if isinstance(arguments[1].type, (*INTEGRAL, *CHARACTER, NullType)) else None
    if isinstance(whole, MapType) and common_type([whole.key_type, arguments[1].type]) is not None:
        return with_nullable(whole.value_type, True)
    return None


def _at(whole: SqlValue, key: SqlValue) -> SqlValue:
    if isinstance(whole, dict):
        return whole.get(key)
    if isinstance(whole, str):
        return member_of(whole, key) if isinstance(key, str) else element_of(whole, key)
    return whole[key - 1] if 1 <= key <= len(whole) else None


def _field_index(arguments: Sequence[Argument]) -> int | None:
    row, name = arguments[0].type, arguments[1].value
    if not isinstance(row, RowType):
        return None
    if isinstance(name, int):
        return name if 0 <= name < len(row) else None
    return row.field_names().index(name) if name in row.field_names() else None


def _get_type(arguments: Sequence[Argument]) -> DataType | None:
    index, row = _field_index(arguments), arguments[0].type
    if index is None or not isinstance(row, RowType):
        return None
    field_type = row.field_types()[index]
    return with_nullable(field_type, is_nullable(field_type) or is_nullable(row))


def _get_body(call: BoundCall) -> Body:
    index = _field_index(call.arguments)
    assert index is not None
    return lambda row, _: row[index]


def _get_kernel(call: BoundCall) -> Kernel | None:
    index = _field_index(call.arguments)
    return lambda column, _: pc.struct_field(column, [index])


def _cardinality_body(call: BoundCall) -> Body:
    return (lambda bag: sum(bag.values())) if isinstance(call.types[0], MultisetType) else len


def _element_type(arguments: Sequence[Argument]) -> DataType:
    array: Any = arguments[0].type
    element: DataType = array.element_type
    return with_nullable(element, is_nullable(element) or is_nullable(array))


def _element(items: list[SqlValue]) -> SqlValue:
    if len(items) > 1:
        raise ValueError("Array has more than one element.")
    return items[0] if items else None


def _same_elements(arguments: Sequence[Argument]) -> DataType | None:
    """The common type of two arrays."""
    element_type = common_type(_types(arguments))
    return None if element_type is None else with_nullable(element_type, any_nullable(_types(arguments)))


def _with_element(arguments: Sequence[Argument]) -> DataType | None:
    """The type of an array that an element is added to."""
    array: Any = arguments[0].type
    element, added_type = array.element_type, arguments[1].type
    if not can_cast_implicitly(added_type, with_nullable(element, True)):
        return None
    # Flink says that the array may be NULL if the element may be.
    return ArrayType(with_nullable(element, any_nullable([element, added_type])), any_nullable([array, added_type]))


def _same_array(arguments: Sequence[Argument]) -> DataType | None:
    array: Any = arguments[0].type
    if len(arguments) > 1 and common_type([array.element_type, arguments[1].type]) is None:
        return None
    return array  # type: ignore[no-any-return]


def _distinct(items: Sequence[SqlValue]) -> list[SqlValue]:
    # Not a set: elements may be arrays, maps or rows with these.
    kept: list[Any] = []
    for each in items:
        if each not in kept:
            kept.append(each)
    return kept


def _except(left: list[SqlValue], right: list[SqlValue]) -> list[SqlValue]:
    return [each for each in _distinct(left) if each not in right]


def _intersect(left: list[SqlValue], right: list[SqlValue]) -> list[SqlValue]:
    return [each for each in _distinct(left) if each in right]


def _slice(items: list[SqlValue], start: int, end: int | None = None) -> list[SqlValue]:
    """From one index to another, both counted from 1, or from the end if negative."""
    first = start if start > 0 else len(items) + start + 1 if start < 0 else 1
    last = len(items) if end is None else end if end >= 0 else len(items) + end + 1
    return items[max(first, 1) - 1 : max(last or 1, 0)]


def _sort(items: list[SqlValue], is_ascending: bool = True, nulls_first: bool | None = None) -> list[SqlValue]:
    present = sorted((each for each in items if each is not None), reverse=not is_ascending)
    nulls = [None] * (len(items) - len(present))
    comes_first = is_ascending if nulls_first is None else nulls_first
    return nulls + present if comes_first else present + nulls


def _extreme(choose: Body) -> Callable[[list[SqlValue]], SqlValue]:
    return lambda items: choose((each for each in items if each is not None), default=None)


def _join(items: list[str | None], separator: str, null_text: str | None = None) -> str:
    strings = (null_text if each is None else each for each in items)
    return separator.join(each for each in strings if each is not None)


def _contains_type(arguments: Sequence[Argument]) -> DataType | None:
    array: Any = arguments[0].type
    if common_type([array.element_type, arguments[1].type]) is None and not isinstance(arguments[1].type, NullType):
        return None
    return with_nullable(_BOOLEAN, is_nullable(array))


def _keys_type(arguments: Sequence[Argument]) -> DataType:
    map_type: Any = arguments[0].type
    return ArrayType(map_type.key_type, is_nullable(map_type))


def _values_type(arguments: Sequence[Argument]) -> DataType:
    map_type: Any = arguments[0].type
    return ArrayType(map_type.value_type, is_nullable(map_type))


def _entries_type(arguments: Sequence[Argument]) -> DataType:
    map_type: Any = arguments[0].type
    row = RowType([RowField("key", map_type.key_type), RowField("value", map_type.value_type)])
    return ArrayType(row, is_nullable(map_type))


def _from_arrays_type(arguments: Sequence[Argument]) -> DataType:
    keys, values = (each.type for each in arguments)
    result = MapType(keys.element_type, values.element_type)  # type: ignore[attr-defined]
    return with_nullable(result, any_nullable([keys, values]))


def _from_arrays(keys: list[SqlValue], values: list[SqlValue]) -> dict[SqlValue, SqlValue]:
    if len(keys) != len(values):
        raise ValueError(
            "Invalid function MAP_FROM_ARRAYS call: "
            f"The length of the keys array {len(keys)} is not equal to the length of the values array {len(values)}"
        )
    return _keyed("MAP_FROM_ARRAYS", keys, values)


def _union(*maps: dict[SqlValue, SqlValue]) -> dict[SqlValue, SqlValue]:
    return {key: value for each in maps for key, value in each.items()}


def _function(name: str, forms: str, result: Any, body: Body, purpose: str) -> Function:
    return Function((name,), forms, result, body, purpose=purpose)


def _null_aware(name: str, forms: str, result: Any, body: Body, purpose: str) -> Function:
    """A function that is strict in its first argument, the array, and takes NULL for an element."""

    def aware(items: SqlValue, *others: SqlValue) -> SqlValue:
        return None if items is None else body(items, *others)

    return Function((name,), forms, result, aware, is_strict=False, purpose=purpose)


def _maybe_element(name: str, choose: Body, purpose: str) -> Function:
    """An element of an array that may be empty."""
    return Function((name,), "array", _element_type, _extreme(choose), may_give_null=True, purpose=purpose)


COLLECTIONS: tuple[Function, ...] = (
    Function(
        ("array",), "any...", _array_type, body_for=_array_body, is_strict=False, purpose="The array of some values."
    ),
    Function(
        ("map",),
        "any, any...",
        _map_type,
        body_for=_map_body,
        is_strict=False,
        purpose="The map of keys and values in turn.",
    ),
    Function(("row",), "any...", _row_type, lambda *values: values, is_strict=False, purpose="The row of some values."),
    _function(
        "at",
        "array/map/variant, any",
        _at_type,
        _at,
        "An element of an array, by its index from 1, or the value of a key: `a[1]`; the same of a VARIANT.",
    ),
    Function(
        ("get",),
        "row, any",
        _get_type,
        body_for=_get_body,
        kernel_for=_get_kernel,
        purpose="A field of a row, by its name, or by its index from 0.",
    ),
    Function(
        ("cardinality",),
        "array/map/multiset",
        _INT,
        body_for=_cardinality_body,
        purpose="The number of elements.",
    ),
    _function("element", "array", _element_type, _element, "The only element of an array; fails if there are more."),
    _null_aware(
        "array_contains", "array, any", _contains_type, lambda a, v: v in a, "Whether an element is in an array."
    ),
    _null_aware(
        "array_append", "array, any", _with_element, lambda a, v: [*a, v], "The array with an element at its end."
    ),
    _null_aware(
        "array_prepend", "array, any", _with_element, lambda a, v: [v, *a], "The array with an element at its start."
    ),
    _null_aware(
        "array_remove",
        "array, any",
        _same_array,
        lambda a, v: [e for e in a if e != v],
        "The array without an element.",
    ),
    _null_aware(
        "array_position",
        "array, any",
        lambda arguments: with_nullable(_INT, any_nullable(_types(arguments))),
        lambda a, v: None if v is None else a.index(v) + 1 if v in a else 0,
        "Where an element stands first, from 1; 0 if nowhere.",
    ),
    _function(
        "array_concat",
        "array, array...",
        _same_elements,
        lambda *a: [e for each in a for e in each],
        "Arrays one after the other.",
    ),
    _function("array_distinct", "array", _same_array, _distinct, "The array without repetitions."),
    _function(
        "array_union",
        "array, array",
        _same_elements,
        lambda a, b: _distinct([*a, *b]),
        "The elements of both, each once.",
    ),
    _function("array_except", "array, array", _same_elements, _except, "The elements of the first alone, each once."),
    _function("array_intersect", "array, array", _same_elements, _intersect, "The elements of both, each once."),
    _function("array_reverse", "array", _same_array, lambda a: a[::-1], "The array backwards."),
    _function(
        "array_slice",
        "array, integer, integer?",
        like_argument(),
        _slice,
        "The elements from one index to another.",
    ),
    _function(
        "array_sort",
        "array, boolean?, boolean?",
        like_argument(),
        _sort,
        "The array sorted, ascending by default; NULLs come first then, else last.",
    ),
    _maybe_element("array_max", max, "The greatest element."),
    _maybe_element("array_min", min, "The least element."),
    _function(
        "array_join", "array, text, text?", _STRING, _join, "The texts of an array with a separator between them."
    ),
    _function("map_keys", "map", _keys_type, list, "The keys."),
    _function("map_values", "map", _values_type, lambda items: list(items.values()), "The values."),
    _function("map_entries", "map", _entries_type, lambda items: list(items.items()), "The keys and values as rows."),
    _function(
        "map_from_arrays",
        "array, array",
        _from_arrays_type,
        _from_arrays,
        "The map of an array of keys and one of values.",
    ),
    _function("map_union", "map, map...", _same_elements, _union, "Several maps as one; later values win."),
)
