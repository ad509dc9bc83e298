"""Access to the files that a program has registered with `register_cached_file`."""

from __future__ import annotations

from collections.abc import Mapping

from funke.engine.errors import ConfigurationError

__all__ = ["DistributedCache"]


class DistributedCache:
    """Files and folders by the names they were registered under; goes beyond PyFlink, named as in Flink's Java API."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def get_file(self, name: str) -> str:
        """Return the path of the copy on this machine; it must not be changed."""
        if name not in self._files:
            names = ", ".join(sorted(self._files)) or "none"
            raise ConfigurationError(
                f"there is no cached file '{name}'; call register_cached_file() before execute() (registered: {names})"
            )
        return self._files[name]
