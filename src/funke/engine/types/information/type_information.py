"""The description of what a stream carries, and how a Python value is made to fit it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Coercer", "PickledBytesTypeInfo", "TypeInformation"]

Coercer = Callable[[Any], Any]

_UNBUILT = object()


class TypeInformation:
    """Describes the type of the elements of a stream.

    A *coercer* turns a Python value into the value that leaves a typed edge: integers wrap as in Java, 32-bit floats
    lose precision, sequences become rows or tuples. ``None`` instead of a coercer means that values pass unchanged.

    >>> from funke.common import TypeInformation, Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> pair: TypeInformation = Types.TUPLE([Types.STRING(), Types.INT()])
    >>> orders = StreamExecutionEnvironment.get_execution_environment().from_collection([("tea", 3)], pair)
    >>> orders.get_type() == pair
    True
    """

    _coercer_cache: Any = _UNBUILT

    def need_conversion(self) -> bool:
        """Whether :meth:`to_internal_type` changes values."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Convert a Python object into Flink's internal form."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Convert Flink's internal form into a Python object."""
        return obj

    def coercer(self) -> Coercer | None:
        """Return the function that makes a value fit this type, or None when every value fits."""
        if self._coercer_cache is _UNBUILT:
            self._coercer_cache = self._build_coercer()
        built: Coercer | None = self._coercer_cache
        return built

    def coerce_list(self, values: list[Any]) -> list[Any]:
        """Make every value of a list fit this type; the list itself is returned when nothing needs a check."""
        coerce = self.coercer()
        return values if coerce is None else list(map(coerce, values))

    def _build_coercer(self) -> Coercer | None:
        return None

    def __getstate__(self) -> dict[str, Any]:
        # A built coercer holds generated code, which does not pickle; the receiver builds its own.
        return {name: value for name, value in self.__dict__.items() if name != "_coercer_cache"}

    def __hash__(self) -> int:
        return hash(repr(self))


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object; it travels pickled and keeps its type."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledBytesTypeInfo)

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


class ExternalTypeInfo(TypeInformation):
    """A type as the Table API hands it out; it behaves like the type it wraps."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info

    def coercer(self) -> Coercer | None:
        """Return the coercer of the wrapped type."""
        return self._type_info.coercer()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExternalTypeInfo) and self._type_info == other._type_info

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"


def join_reprs(types: Iterable[TypeInformation]) -> str:
    """Return the type names separated by commas, as composite types show their fields."""
    return ", ".join(map(str, types))
