"""An option of a table: its key, the type of its values, its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.config import option_values as values
from funke.engine.errors import ConfigurationError
from funke.engine.flink_exceptions import ValidationException

__all__ = ["OptionValues", "TableOption"]

_PARSERS: dict[str, Callable[[Any], Any]] = {
    "String": str,
    "Boolean": values.parse_boolean,
    "Integer": values.parse_integer,
    "Long": values.parse_integer,
    "Double": values.parse_float,
    "Duration": values.parse_duration,
    "MemorySize": values.parse_memory_bytes,
    "List<String>": values.parse_list,
    "Map": values.parse_map,
}


@dataclass(frozen=True)
class TableOption:
    """One option; `type` is the name that Flink's documents give its type. A `#` in its key stands for any name."""

    key: str
    type: str = "String"
    # As it is written in a table's options.
    default: str | None = None
    description: str = ""
    choices: tuple[str, ...] = ()
    # Names of earlier versions that still count.
    older_keys: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key, *self.older_keys)

    def with_prefix(self, prefix: str) -> TableOption:
        """Return the option as a format's table has it: csv.field-delimiter."""
        return replace(self, key=f"{prefix}.{self.key}", older_keys=tuple(f"{prefix}.{key}" for key in self.older_keys))

    def read(self, text: str) -> Any:
        """Return the value that a text means; choices are found in any case."""
        if self.choices:
            spelled = {choice.lower(): choice for choice in self.choices}.get(text.strip().lower())
            if spelled is None:
                raise ConfigurationError(f"{text!r} is not one of {', '.join(self.choices)}")
            return spelled
        return _PARSERS[self.type](text)


@dataclass(frozen=True)
class OptionValues:
    """The options of a table, read as their declarations say."""

    strings: Mapping[str, str]

    def __contains__(self, option: TableOption) -> bool:
        return any(key in self.strings for key in option.keys)

    def __getitem__(self, option: TableOption) -> Any:
        key = next((key for key in option.keys if key in self.strings), None)
        text = option.default if key is None else self.strings[key]
        if text is None:
            return None
        try:
            return option.read(text)
        except (ConfigurationError, ValueError) as error:
            raise ValidationException(
                f"Could not parse value '{text}' for key '{key or option.key}'.\nCaused by: {error}"
            ) from error

    def behind(self, prefix: str) -> OptionValues:
        """Return the options whose keys begin with a prefix and a dot, without it."""
        start = f"{prefix}."
        return OptionValues({key[len(start) :]: text for key, text in self.strings.items() if key.startswith(start)})
