"""Modules: sets of functions that Flink has beside its own."""

from __future__ import annotations

from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.syntax.user_function import UserFunction

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A set of functions, by name.

    >>> from funke.table import DataTypes, EnvironmentSettings, Module, TableEnvironment
    >>> from funke.table.udf import udf
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.load_module("shop", Module({"double": udf(lambda x: 2 * x, result_type=DataTypes.BIGINT())}))
    >>> t_env.list_modules()
    ['core', 'shop']
    """

    def __init__(self, functions: dict[str, Any] | None = None) -> None:
        self._functions = {name.lower(): function for name, function in (functions or {}).items()}

    def _user_functions(self) -> dict[str, UserFunction]:
        return {name: function._to_user_function() for name, function in self._functions.items()}


class HiveModule(Module):
    """Hive's functions."""

    def __init__(self, hive_version: str | None = None) -> None:
        raise UnsupportedFeatureError("HiveModule", "Hive's functions are Java classes, and Funke runs no Flink JVM")


class ModuleEntry:
    """A module, and whether it is in use.

    >>> from funke.table import EnvironmentSettings, ModuleEntry, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.list_full_modules() == [ModuleEntry("core", True)]
    True
    """

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """Return the name of the module."""
        return self._name

    def used(self) -> bool:
        """Tell whether the module is in use."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (self._name, self._used) == (other._name, other._used)

    def __hash__(self) -> int:
        return hash((self._name, self._used))

    def __lt__(self, other: ModuleEntry) -> bool:
        return (self._name, self._used) < (other._name, other._used)
