"""What a PyFlink program finds where PyFlink keeps its handles of Java objects: the environment, its configuration."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value, parse_boolean, parse_float, parse_integer
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError, at_user_line

__all__ = ["JavaConfiguration", "JavaEnvironment"]

NO_GATEWAY = "there is no gateway to Flink's JVM classes"


class _JavaHandle:
    """Rejects the methods that are not here, by Java's name for them."""

    java_name = ""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedFeatureError(f"{self.java_name}.{name} of Flink's Java API", NO_GATEWAY)


class JavaEnvironment(_JavaHandle):
    """Stands for the Java environment; `get_j_env_configuration` takes it."""

    java_name = "StreamExecutionEnvironment"


def _reader(parse: Callable[[Any], Any]) -> Callable[..., Any]:
    def read(self: JavaConfiguration, key: str | ConfigOption[Any], default: Any = None) -> Any:
        option = key if isinstance(key, ConfigOption) else ConfigOption(key, parse, None)
        return self.settings.get(option, default)

    return read


def _write(self: JavaConfiguration, key: str | ConfigOption[Any], value: Any) -> JavaConfiguration:
    self.settings.set_raw(_key_of(key), value)
    return self


def _key_of(option: str | ConfigOption[Any]) -> str:
    key = option.key if isinstance(option, ConfigOption) else option
    if not isinstance(key, str):
        raise ConfigurationError(at_user_line(f"an option is a ConfigOption or its key, got {option!r}"))
    return key


class JavaConfiguration(_JavaHandle):
    """A configuration by the method names of Flink's Java class: it reads and sets the settings it was made of."""

    java_name = "Configuration"

    get = _reader(lambda value: value)
    getString = getValue = _reader(format_value)
    getInteger = getLong = _reader(parse_integer)
    getBoolean = _reader(parse_boolean)
    getFloat = getDouble = _reader(parse_float)
    getBytes = _reader(bytes)
    set = setString = setInteger = setLong = setBoolean = setFloat = setDouble = setBytes = _write

    def contains(self, option: str | ConfigOption[Any]) -> bool:
        """Whether an option has a value."""
        return _key_of(option) in self.settings

    containsKey = contains

    def removeKey(self, key: str | ConfigOption[Any]) -> bool:
        """Remove an option; returns whether it had a value."""
        return self.settings.remove(_key_of(key))

    removeConfig = removeKey

    def keySet(self) -> AbstractSet[str]:
        """Return all keys."""
        return {*self.settings}

    def toMap(self) -> dict[str, str]:
        """Return all entries as text."""
        return self.settings.to_text_dict()

    def addAll(self, other: JavaConfiguration, prefix: str = "") -> None:
        """Take over all entries of another configuration, with a prefix before their keys."""
        self.settings.update(other.settings, prefix)

    def toString(self) -> str:
        """Return all entries as one text."""
        return str(self.settings)

    __str__ = toString
