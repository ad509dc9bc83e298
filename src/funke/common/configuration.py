"""Key/value pairs that configure an environment and its jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from funke.common.java_handles import JavaConfiguration
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value, parse_boolean, parse_float, parse_integer, parse_yaml_list
from funke.engine.config.settings import Settings

__all__ = ["Configuration"]

T = TypeVar("T")


class Configuration:
    """Stores values by key.

    >>> from funke.common import Configuration
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> configuration = Configuration().set_string("parallelism.default", "4")
    >>> configuration.get_integer("parallelism.default", 1)
    4
    >>> StreamExecutionEnvironment.get_execution_environment(configuration).get_parallelism()
    4
    """

    def __init__(self, other: Configuration | None = None, j_configuration: JavaConfiguration | None = None) -> None:
        """Create a copy of ``other``, a view of what `get_j_env_configuration` gave, or an empty configuration."""
        if j_configuration is not None:
            self._settings = j_configuration.settings
        else:
            self._settings = Settings() if other is None else other._settings.copy()

    @property
    def _j_configuration(self) -> JavaConfiguration:
        return JavaConfiguration(self._settings)

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """Create a configuration with the entries of a dict."""
        return cls(j_configuration=JavaConfiguration(Settings(map)))

    def get_string(self, key: str, default_value: str) -> str:
        """Return the value of a key as text."""
        return self._get(key, format_value, default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Store text under a key."""
        return self._set(key, value)

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Split a list of YAML, ``[a, b]`` or lines of ``- a``, or one written as ``a;b``."""
        items = parse_yaml_list(value) if value else []
        return value.split(";") if items is None else items

    @staticmethod
    def parse_jars_value(value: str, jvm: Any = None) -> list[str]:
        """Split a list of jars; the name :meth:`parse_list_value` had in Flink 1.x."""
        return Configuration.parse_list_value(value)

    def get_integer(self, key: str, default_value: int) -> int:
        """Return the value of a key as an integer."""
        return self._get(key, parse_integer, default_value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Store an integer under a key."""
        return self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Return the value of a key as a bool."""
        return self._get(key, parse_boolean, default_value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Store a bool under a key."""
        return self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """Return the value of a key as a number."""
        return self._get(key, parse_float, default_value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Store a number under a key."""
        return self._set(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """Return the bytes stored under a key."""
        return bytearray(self._settings.raw(key, default_value))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Store bytes under a key."""
        return self._set(key, bytes(value))

    def key_set(self) -> set[str]:
        """Return all keys."""
        return set(self._settings)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all entries into a dict, with the types they were stored with."""
        target_dict.update(self._settings.to_dict())

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all entries of another configuration, with a prefix before their keys."""
        self._settings.update(other._settings, prefix or "")
        return self

    def contains_key(self, key: str) -> bool:
        """Whether a key has a value."""
        return key in self._settings

    def to_dict(self) -> dict[str, str]:
        """Return all entries as text."""
        return self._settings.to_text_dict()

    def remove_config(self, key: str) -> bool:
        """Remove a key; returns whether it had a value."""
        return self._settings.remove(key)

    def _get(self, key: str, parse: Callable[[Any], T], default: T) -> T:
        if key not in self._settings:
            return default
        return ConfigOption(key, parse, default).read(self._settings.raw(key))

    def _set(self, key: str, value: Any) -> Configuration:
        self._settings.set_raw(key, value)
        return self

    def __deepcopy__(self, memodict: Any = None) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings)

    def __str__(self) -> str:
        return repr(self._settings)
