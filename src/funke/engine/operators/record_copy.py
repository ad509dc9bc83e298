"""Keeps records that were sent apart from what the sender goes on changing.

In Flink a record leaves an operator serialised, the moment it is emitted. Here whole batches leave, so a function that
emits an object it holds on to (an accumulator in state, a field of its own, the record it was given) and changes it for
the next record would change what it emitted before. Such results are copied when they are emitted.
"""

from __future__ import annotations

import copy
import datetime
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import chain
from sys import getrefcount
from types import FunctionType, ModuleType
from typing import Any

from funke.engine.types import Instant, Row

__all__ = ["ATOMS", "ResultGuard", "are_plain", "copies_of", "detached", "keeps_nothing"]

# Values that cannot change.
ATOMS = frozenset(
    {
        int, str, float, bool, type(None), bytes, complex, Decimal, uuid.UUID, Instant,
        datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
    }
)  # fmt: skip
_ATOMS_AND_TUPLES = ATOMS | {tuple}


def detached(value: Any) -> Any:
    """The value itself if it is immutable or not shared, else a copy."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple:
        for item in value:
            if type(item) not in ATOMS:
                return _copy(value)
        return value
    # A result that only the caller refers to is new: if its parts cannot change either, it needs no copy.
    if getrefcount(value) <= _REFERENCES_OF_NEW:
        if kind is Row:
            parts: Any = value._values
        elif kind is list:
            parts = value
        elif kind is dict:
            parts = value.values()
        elif _is_plain_class(kind):
            parts = value.__dict__.values()
        else:
            return _copy(value)
        for item in parts:
            if type(item) not in ATOMS:
                return _copy(value)
        return value
    return _copy(value)


def _copy(value: Any) -> Any:
    try:
        return _copied(value)
    except RecursionError:  # a value that refers to itself
        return copy.deepcopy(value)


def _detached_tuple(value: tuple[Any, ...]) -> Any:
    items = [_copied(item) for item in value]
    return tuple(items) if any(map(_is_other, items, value)) else value


def _is_other(left: Any, right: Any) -> bool:
    return left is not right


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in ATOMS:
        return value
    copier = _COPIERS.get(kind)
    if copier is not None:
        return copier(value)
    if isinstance(value, (tuple, frozenset)) and all(type(item) in ATOMS for item in value):
        return value
    if _is_plain_class(kind):
        return _copied_object(value)
    try:
        return copy.deepcopy(value)
    except Exception:
        # Locks, connections and the like cannot be copied; nor could they be sent to another process.
        return value


def _is_plain_class(kind: Any) -> bool:
    """Whether an object of a user's class is nothing but its fields: copying them (1 µs) spares deepcopy (8 µs)."""
    is_plain = _PLAIN_CLASSES.get(kind)
    if is_plain is None:
        has_own_form = any(getattr(kind, name) is not getattr(object, name) for name in _OBJECT_FORM)
        has_hooks = any(hasattr(kind, name) for name in _COPY_HOOKS)
        is_plain = _PLAIN_CLASSES[kind] = bool(kind.__dictoffset__) and not has_own_form and not has_hooks
    return is_plain


# Classes that were looked at before.
_PLAIN_CLASSES: dict[type, bool] = {}
_OBJECT_FORM = ("__new__", "__reduce__", "__reduce_ex__")
_COPY_HOOKS = ("__slots__", "__deepcopy__", "__copy__", "__setstate__")


def _copied_object(value: Any) -> Any:
    copied = object.__new__(type(value))
    copied.__dict__.update((name, _copied(item)) for name, item in value.__dict__.items())
    return copied


def _copied_row(row: Row) -> Row:
    fields = row.__dict__.get("_fields")
    copied = Row(*map(_copied, row._values))
    if fields is not None:
        copied.set_field_names(list(fields))
        copied.__dict__["_from_dict"] = row.__dict__.get("_from_dict", True)
    copied.set_row_kind(row.get_row_kind())
    return copied


_COPIERS: dict[type, Callable[[Any], Any]] = {
    tuple: _detached_tuple,
    list: lambda value: [_copied(item) for item in value],
    dict: lambda value: {_copied(key): _copied(item) for key, item in value.items()},
    Row: _copied_row,
}


def _references_inside_detached(value: Any) -> int:
    return getrefcount(value)


def _references_of_new() -> int:
    # The same steps as in the operators' loops: a result in a loop variable, handed to a function.
    fresh: Iterator[Any] = ([] for _ in range(1))
    for result in fresh:
        return _references_inside_detached(result)
    return 0


_REFERENCES_OF_NEW = _references_of_new()


def copies_of(values: list[Any]) -> list[Any]:
    """Records for a second receiver, which may change them as it likes."""
    return values if are_plain(values) else [_copy(value) for value in values]


def are_plain(values: list[Any]) -> bool:
    """Whether all values are atoms, or tuples of atoms (20 to 80 ns per value)."""
    kinds = set(map(type, values))
    if kinds <= ATOMS:
        return True
    if not kinds <= _ATOMS_AND_TUPLES:
        return False
    tuples = values if len(kinds) == 1 else [value for value in values if type(value) is tuple]
    return set(map(type, chain.from_iterable(tuples))) <= ATOMS


def keeps_nothing(function: Any) -> bool:
    """Whether a plain callable has no place to keep an object from one call to the next."""
    if isinstance(function, FunctionType):
        seen = [function.__globals__.get(name) for name in function.__code__.co_names]
        try:
            own = [*(cell.cell_contents for cell in function.__closure__ or ()), *(function.__defaults__ or ())]
        except ValueError:  # a cell that is still empty
            return False
        return not any(map(_is_container, seen)) and all(type(value) in ATOMS for value in own)
    return isinstance(function, type) or isinstance(getattr(function, "__self__", None), ModuleType)


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, dict, set, Row))


class ResultGuard:
    """Decides whether an operator has to look at its results one by one.

    It does until a thousand results were all plain. From then on each batch is only checked after the fact, by the
    types of its results and a closer look at some of them; a result that is not plain brings the close look back.
    """

    __slots__ = ("_is_trusted", "_plain_results", "is_careful")

    TRIAL = 1024
    SAMPLE = 64

    def __init__(self, has_side_outputs: bool = False) -> None:
        self.is_careful = True
        # Tags of side outputs are found by looking at every result.
        self._is_trusted = not has_side_outputs
        self._plain_results = 0

    def check(self, results: list[Any]) -> None:
        """Takes note of the results of a batch."""
        if not self._is_trusted or not results:
            return
        if self.is_careful:
            self._extend_trial(results)
        elif not (set(map(type, results)) <= _ATOMS_AND_TUPLES and are_plain(results[: self.SAMPLE])):
            self.is_careful, self._is_trusted = True, False

    def _extend_trial(self, results: list[Any]) -> None:
        if not are_plain(results):
            self._is_trusted = False
            return
        self._plain_results += len(results)
        self.is_careful = self._plain_results < self.TRIAL
