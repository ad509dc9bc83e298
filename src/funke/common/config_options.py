"""Definition of configuration options by users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value, parse_boolean, parse_float, parse_integer

__all__ = ["ConfigOptions", "ConfigOption"]

T = TypeVar("T")


class ConfigOptions:
    """Builds a :class:`ConfigOption`.

    >>> from funke.common import ConfigOptions
    >>> option = ConfigOptions.key("shop.name").string_type().default_value("corner shop")
    >>> option.key, option.default
    ('shop.name', 'corner shop')
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Start the definition of an option."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Waits for the type of the option."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """The option is true or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, parse_boolean)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The option is an integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, parse_integer)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The option is an integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, parse_integer)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The option is a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, parse_float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The option is a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, parse_float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """The option is text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, format_value)

    class TypedConfigOptionBuilder(Generic[T]):
        """Waits for the default value of the option."""

        def __init__(self, key: str, parse: Callable[[Any], T]) -> None:
            self._key = key
            self._parse = parse

        def default_value(self, value: T) -> ConfigOption[T]:
            """Finish the definition with a default."""
            return ConfigOption(self._key, self._parse, value)

        def no_default_value(self) -> ConfigOption[Any]:
            """Finish the definition without a default."""
            return ConfigOption(self._key, self._parse, None)
