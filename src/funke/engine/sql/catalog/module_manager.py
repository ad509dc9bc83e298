"""Modules: sets of built-in functions, and the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.syntax.user_function import UserFunction

__all__ = ["ModuleManager"]

CORE = "core"


class ModuleManager:
    """Loaded modules by name; those in use are asked one after the other.

    >>> ModuleManager().list_modules()
    ['core']
    """

    def __init__(self) -> None:
        # The functions of each module. The core has none here: its functions are built in, and the caller asks for them
        # before it asks this object.
        self._loaded: dict[str, Mapping[str, UserFunction] | None] = {CORE: None}
        self._used = [CORE]

    def load(self, name: str, functions: Mapping[str, UserFunction] | None) -> None:
        if not name:
            raise ValidationException("name cannot be null or empty string")
        if name in self._loaded:
            raise ValidationException(f"A module with name '{name}' already exists")
        self._loaded[name] = functions
        self._used.append(name)

    def unload(self, name: str) -> None:
        self._require(name)
        del self._loaded[name]
        self._used = [each for each in self._used if each != name]

    def use(self, names: Sequence[str]) -> None:
        """Ask these modules, in this order, and no others."""
        for position, name in enumerate(names):
            self._require(name)
            if name in names[:position]:
                raise ValidationException(f"Module '{name}' appears more than once")
        self._used = list(names)

    def find(self, name: str) -> UserFunction | None:
        """Return the function of a name in the first module in use that has it; the core's are not asked here."""
        for each in self._used:
            functions = self._loaded[each]
            if functions is not None and name.lower() in functions:
                return functions[name.lower()]
        return None

    def list_modules(self) -> list[str]:
        """Return the modules in use, in their order."""
        return list(self._used)

    def list_full_modules(self) -> list[tuple[str, bool]]:
        """Return all modules and whether they are in use; those that are stand first."""
        unused = [name for name in self._loaded if name not in self._used]
        return [*((name, True) for name in self._used), *((name, False) for name in unused)]

    def _require(self, name: str) -> None:
        if name not in self._loaded:
            raise ValidationException(f"No module with name '{name}' exists")
