"""Key selectors and partitioners as plain callables, whatever form the program gave them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types.basic_types import BasicType, BasicTypeInfo
from funke.engine.types.functions import Function, KeySelector, Partitioner
from funke.engine.types.row import Row
from funke.engine.types.type_information import Coercer, TypeInformation

__all__ = ["key_function", "keyed_row", "partition_function"]

KeyFunction = Callable[[Any], Any]
# A key of such a type is what the selector returned: nothing to coerce, and nothing to pay per record.
_PLAIN_KEYS = (BasicType.STRING, BasicType.BOOLEAN, BasicType.DOUBLE)


def key_function(selector: Any, key_type: TypeInformation | None = None) -> KeyFunction:
    """Return the callable that computes the key of an element, coerced to the key type if one was declared."""
    if not isinstance(selector, KeySelector) and not callable(selector):
        raise TypeError(f"key_by() needs a KeySelector or a callable, got {type(selector).__name__}")
    select = _method(selector, "get_key") if isinstance(selector, KeySelector) else selector
    coerce = _key_coercer(key_type)
    return select if coerce is None else _TypedKey(select, key_type)


def partition_function(partitioner: Any) -> Callable[[Any, int], int]:
    """Return the callable that computes the receiver of a key."""
    if not isinstance(partitioner, Partitioner) and not callable(partitioner):
        raise TypeError(f"partition_custom() needs a Partitioner or a callable, got {type(partitioner).__name__}")
    found: Callable[[Any, int], int]
    found = _method(partitioner, "partition") if isinstance(partitioner, Partitioner) else partitioner
    return found


def keyed_row(select: KeyFunction) -> Callable[[Any], Row]:
    """Return the function that pairs an element with its key, as Flink hands out the elements of a keyed stream."""

    def to_row(value: Any) -> Row:
        return Row(select(value), value)

    return to_row


def _key_coercer(key_type: TypeInformation | None) -> Coercer | None:
    if key_type is None or (isinstance(key_type, BasicTypeInfo) and key_type.basic_type in _PLAIN_KEYS):
        return None
    return key_type.coercer()


class _TypedKey:
    """A key selector whose result is made to fit the declared key type."""

    def __init__(self, select: KeyFunction, key_type: TypeInformation | None) -> None:
        self._select = select
        self._key_type = key_type
        self._coerce = _key_coercer(key_type)

    def __call__(self, value: Any) -> Any:
        key = self._select(value)
        return key if self._coerce is None else self._coerce(key)

    def __getstate__(self) -> dict[str, Any]:
        return {"_select": self._select, "_key_type": self._key_type}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._coerce = _key_coercer(self._key_type)


def _method(function: Function, name: str) -> Any:
    """The method itself; one that must be opened first is opened by its first call."""
    if type(function).open is Function.open:
        return getattr(function, name)
    return _OpenedOnFirstCall(function, name)


class _OpenedOnFirstCall:
    """Selectors run wherever records are routed, where there is no subtask to open and close them."""

    def __init__(self, function: Function, name: str) -> None:
        self._function = function
        self._name = name
        self._call: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._call is None:
            self._function.open(_NoRuntimeContext())
            self._call = getattr(self._function, self._name)
        return self._call(*arguments)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_call": None}


class _NoRuntimeContext:
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedFeatureError(f"{name}() of the runtime context in a key selector or partitioner")
