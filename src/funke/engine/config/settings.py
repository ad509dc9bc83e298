"""The key/value store behind every configuration object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value

__all__ = ["Settings"]

T = TypeVar("T")


class Settings:
    """Values by key. Values keep the type they were set with, and are read through typed options.

    >>> from funke.engine.config import flink_options as options
    >>> Settings({"pipeline.auto-watermark-interval": "1 s"}).get(options.AUTO_WATERMARK_INTERVAL).to_millis()
    1000
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = dict(values or {})

    def get(self, option: ConfigOption[T], default: T | None = None) -> T:
        """Return the value of an option: as set, else ``default``, else the option's own default."""
        for key in option.keys:
            if key in self._values:
                return option.read(self._values[key])
        return option.default if default is None else default

    def set(self, option: ConfigOption[T], value: T) -> None:
        """Set an option; a value under an older name of it is dropped."""
        self.unset(option)
        self._values[option.key] = value

    def unset(self, option: ConfigOption[Any]) -> None:
        """Make an option fall back to its default."""
        for key in option.keys:
            self._values.pop(key, None)

    def is_set(self, option: ConfigOption[Any]) -> bool:
        """Whether the option has a value of its own."""
        return any(key in self._values for key in option.keys)

    def raw(self, key: str, default: Any = None) -> Any:
        """Return what is stored under a key."""
        return self._values.get(key, default)

    def set_raw(self, key: str, value: Any) -> None:
        """Store a value under a key."""
        self._values[key] = value

    def remove(self, key: str) -> bool:
        """Remove a key; returns whether it was there."""
        return self._values.pop(key, _MISSING) is not _MISSING

    def update(self, other: Settings, prefix: str = "") -> None:
        """Take over all values of another store, with ``prefix`` before their keys."""
        self._values.update({prefix + key: value for key, value in other._values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the stored values by key."""
        return dict(self._values)

    def to_text_dict(self) -> dict[str, str]:
        """Return the values as a configuration file would hold them."""
        return {key: format_value(value) for key, value in self._values.items()}

    def copy(self) -> Settings:
        """Return an independent store with the same values."""
        return Settings(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.to_text_dict() == other.to_text_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_text_dict().items()))

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key}={format_value(value)}" for key, value in self._values.items()) + "}"


_MISSING = object()
