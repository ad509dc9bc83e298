"""Key selectors and partitioners as plain callables, whatever form the program gave them in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from funke.engine.operators.shared_functions import FunctionOpener, SharedFunction, is_to_be_opened
from funke.engine.types import BasicType, BasicTypeInfo, Coercer, Row, TypeInformation
from funke.engine.types.functions import KeySelector, MapFunction, Partitioner

__all__ = ["KeyFunction", "TypedKey", "key_function", "keyed_row", "opener_of", "partition_function"]

KeyFunction = Callable[[Any], Any]
# A key of such a type is what the selector returned: nothing to coerce, and nothing to pay per record.
_PLAIN_KEYS = (BasicType.STRING, BasicType.BOOLEAN, BasicType.DOUBLE)


def key_function(selector: Any, key_type: TypeInformation | None = None) -> KeyFunction:
    """Return the callable that computes the key of an element, coerced to the key type if one was declared."""
    if not isinstance(selector, KeySelector) and not callable(selector):
        raise TypeError(f"key_by() needs a KeySelector or a callable, got {type(selector).__name__}")
    if is_to_be_opened(selector):
        return SharedFunction(selector, "get_key", partial(_typed, key_type=key_type))
    return _typed(selector.get_key if isinstance(selector, KeySelector) else selector, key_type)


def _typed(select: KeyFunction, key_type: TypeInformation | None) -> KeyFunction:
    return select if _key_coercer(key_type) is None else TypedKey(select, key_type)


def partition_function(partitioner: Any) -> Callable[[Any, int], int]:
    """Return the callable that computes the receiver of a key."""
    if not isinstance(partitioner, Partitioner) and not callable(partitioner):
        raise TypeError(f"partition_custom() needs a Partitioner or a callable, got {type(partitioner).__name__}")
    if is_to_be_opened(partitioner):
        return SharedFunction(partitioner, "partition", _as_it_is)
    partition: Callable[[Any, int], int] = (
        partitioner.partition if isinstance(partitioner, Partitioner) else partitioner
    )
    return partition


def _as_it_is(call: Callable[..., Any]) -> Callable[..., Any]:
    return call


def opener_of(*functions: Any) -> FunctionOpener | None:
    """Return the function to run in front of a router that calls these; None if none of them must be opened."""
    shared = [function for function in functions if isinstance(function, SharedFunction)]
    return FunctionOpener(*shared) if shared else None


def keyed_row(select: KeyFunction) -> Callable[[Any], Row] | MapFunction:
    """Return the function that pairs an element with its key, as Flink hands out the elements of a keyed stream."""
    if isinstance(select, SharedFunction):
        return _OpenedKeyedRow(select)

    def to_row(value: Any) -> Row:
        return Row(select(value), value)

    return to_row


class _OpenedKeyedRow(FunctionOpener):
    def map(self, value: Any) -> Row:
        return Row(self._functions[0](value), value)


def _key_coercer(key_type: TypeInformation | None) -> Coercer | None:
    if key_type is None or (isinstance(key_type, BasicTypeInfo) and key_type.basic_type in _PLAIN_KEYS):
        return None
    return key_type.coercer()


class TypedKey:
    """A key selector whose result is made to fit the declared key type."""

    def __init__(self, select: KeyFunction, key_type: TypeInformation | None) -> None:
        self.select = select
        self._key_type = key_type
        self.coerce = _key_coercer(key_type)

    def __call__(self, value: Any) -> Any:
        key = self.select(value)
        return key if self.coerce is None else self.coerce(key)

    def __getstate__(self) -> dict[str, Any]:
        return {"select": self.select, "_key_type": self._key_type}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.coerce = _key_coercer(self._key_type)
