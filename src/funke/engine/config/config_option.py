"""A configuration option: its key, what its values look like, and what holds when it is not set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from funke.engine.config import option_values as values
from funke.engine.errors import ConfigurationError
from funke.engine.types.time import Duration

__all__ = [
    "ConfigOption",
    "boolean_option",
    "choice_option",
    "duration_option",
    "float_option",
    "integer_option",
    "list_option",
    "map_option",
    "memory_option",
    "string_option",
    "without_effect",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class ConfigOption(Generic[T_co]):
    """One option. ``older_keys`` are names of earlier Flink versions that still count.

    ``no_effect`` says why nothing happens when it is set: it is accepted, and the user is told.

    >>> from funke.common import ConfigOption, ConfigOptions
    >>> option: ConfigOption = ConfigOptions.key("shop.discount").float_type().default_value(0.1)
    >>> option.key, option.default, option.read("0.25")
    ('shop.discount', 0.1, 0.25)
    """

    key: str
    parse: Callable[[Any], T_co]
    default: T_co
    description: str = ""
    older_keys: tuple[str, ...] = ()
    no_effect: str = ""
    # What values are, for people.
    kind: str = "text"

    @property
    def keys(self) -> tuple[str, ...]:
        """All names of the option, the current one first."""
        return (self.key, *self.older_keys)

    def read(self, raw: Any) -> T_co:
        """Turn a stored value into the option's type."""
        try:
            return self.parse(raw)
        except ConfigurationError as error:
            raise ConfigurationError(f"option '{self.key}': {error}") from None


def without_effect(option: ConfigOption[T], reason: str) -> ConfigOption[T]:
    """Define an option that is accepted and changes nothing."""
    return replace(option, no_effect=reason)


def boolean_option(key: str, default: bool, description: str, *older_keys: str) -> ConfigOption[bool]:
    """Define an option that is true or false."""
    return ConfigOption(key, values.parse_boolean, default, description, older_keys, kind="true or false")


def integer_option(key: str, default: int | None, description: str, *older_keys: str) -> ConfigOption[Any]:
    """Define an option that holds an integer."""
    return ConfigOption(key, values.parse_integer, default, description, older_keys, kind="whole number")


def float_option(key: str, default: float | None, description: str, *older_keys: str) -> ConfigOption[Any]:
    """Define an option that holds a number."""
    return ConfigOption(key, values.parse_float, default, description, older_keys, kind="number")


def string_option(key: str, default: str | None, description: str, *older_keys: str) -> ConfigOption[Any]:
    """Define an option that holds text."""
    return ConfigOption(key, values.format_value, default, description, older_keys)


def duration_option(key: str, default_ms: int | None, description: str, *older_keys: str) -> ConfigOption[Any]:
    """Define an option that holds a duration."""
    default = None if default_ms is None else Duration.of_millis(default_ms)
    return ConfigOption(key, values.parse_duration, default, description, older_keys, kind="duration")


def memory_option(key: str, default_bytes: int | None, description: str, *older_keys: str) -> ConfigOption[Any]:
    """Define an option that holds a size in bytes."""
    return ConfigOption(key, values.parse_memory_bytes, default_bytes, description, older_keys, kind="size")


def list_option(key: str, description: str, *older_keys: str) -> ConfigOption[list[str]]:
    """Define an option that holds a list of texts."""
    return ConfigOption(key, values.parse_list, [], description, older_keys, kind="list")


def map_option(key: str, description: str, *older_keys: str) -> ConfigOption[dict[str, str]]:
    """Define an option that holds texts by name."""
    return ConfigOption(key, values.parse_map, {}, description, older_keys, kind="map")


def choice_option(
    key: str, default: str, choices: tuple[str, ...], description: str, *older_keys: str
) -> ConfigOption[str]:
    """Define an option that holds one of a few words, in any case and with - or _ between them."""
    by_word = {_normal(choice): choice for choice in choices}

    def parse(raw: Any) -> str:
        text = values.format_value(raw)
        if _normal(text) not in by_word:
            raise ConfigurationError(f"{text!r} is not one of {', '.join(choices)}")
        return by_word[_normal(text)]

    return ConfigOption(key, parse, default, description, older_keys, kind=" or ".join(choices))


def _normal(word: str) -> str:
    return word.strip().lower().replace("_", "-")
