"""Ports as options name them: one, a range, or several of both."""

from __future__ import annotations

from funke.engine.errors import ConfigurationError

__all__ = ["parse_ports"]


def parse_ports(key: str, text: str) -> tuple[int, ...]:
    """The ports of an option's value.

    >>> parse_ports("rest.bind-port", "8081, 8090-8092")
    (8081, 8090, 8091, 8092)
    """
    ports: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and int(first) <= int(last or first) < 65_536):
            raise ConfigurationError(f"{key} must be ports like 8081 or 8081-8090, got '{text}'")
        ports.extend(range(int(first), int(last or first) + 1))
    return tuple(ports)
