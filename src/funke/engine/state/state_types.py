"""The types that states are declared with: noted in snapshots, and compared when a state is asked for again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from funke.engine.errors import StateError
from funke.engine.types.information.type_information import TypeInformation

__all__ = ["StateTypes"]

_ANYTHING = "PickledByteArrayTypeInfo"
# Values of a type are values of those behind it: Python has one kind of integers, and one of floating numbers.
_WIDER = (("Byte", "Short", "Integer", "Long", "BigInteger"), ("Float", "Double"))


class StateTypes:
    """The types of an operator's states by name, as this job declares them and as snapshots have them."""

    def __init__(self) -> None:
        self._restored: dict[str, str] = {}
        self._declared: dict[str, str] = {}

    def restore(self, types: Mapping[str, str]) -> None:
        """Takes in the types of a snapshot."""
        self._restored.update(types)

    def all(self) -> dict[str, str]:
        """Those of all states, also of those not registered yet."""
        return {**self._restored, **self._declared}

    def declare(self, name: str, type_info: TypeInformation) -> None:
        """A state is asked for; StateError if it was written with a type whose values are not of this one."""
        now, before = str(type_info), self._restored.get(name)
        self._declared[name] = now
        if before is not None and not _holds(before, now):
            raise StateError(
                f"the state '{name}' was written as {before}, and this job declares it as {now}: its values cannot be "
                "taken for that; declare the type it was written with, or give the state another name"
            )


def _holds(before: str, now: str) -> bool:
    """Whether every value of the type before is one of the type now."""
    if now in (before, _ANYTHING):
        return True
    return any(_is_wider(before, now, kinds) for kinds in _WIDER)


def _is_wider(before: str, now: str, kinds: Iterable[str]) -> bool:
    indexes = {kind: index for index, kind in enumerate(kinds)}
    return before in indexes and now in indexes and indexes[before] <= indexes[now]
