"""What a connector's builder was given, kept until the connector is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

__all__ = ["Choice", "KeptSettings"]

Builder = TypeVar("Builder", bound="KeptSettings")


class KeptSettings:
    """A builder whose methods keep what they are given, by name."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.properties: dict[str, Any] = {}

    def _keep(self: Builder, **settings: Any) -> Builder:
        self.settings.update(settings)
        return self

    def _keep_property(self: Builder, key: Any, value: Any) -> Builder:
        self.properties[str(key)] = value
        return self

    def _keep_properties(self: Builder, properties: Mapping[str, Any]) -> Builder:
        self.properties.update(properties)
        return self


class Choice:
    """One of several ready-made behaviours, by name, with its arguments."""

    def __init__(self, kind: str, **arguments: Any) -> None:
        self.kind = kind
        self.arguments = arguments

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), self.kind))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{type(self).__name__}.{self.kind}({arguments})"
