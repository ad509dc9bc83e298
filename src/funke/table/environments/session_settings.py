"""The settings of a table environment as its statements see them."""

from __future__ import annotations

from funke.table.table_config import TableConfig

__all__ = ["ConfigSettings"]


class ConfigSettings:
    """Reads and changes a TableConfig; RESET takes back what was changed since it was made."""

    def __init__(self, config: TableConfig) -> None:
        self._config = config
        self._first = config.to_map()

    def get(self, key: str, default_value: str) -> str:
        return self._config.get(key, default_value)

    def set(self, key: str, value: str) -> None:
        self._config.set(key, value)

    def reset(self, key: str | None) -> None:
        changed = [key] if key is not None else list(self._config.to_map())
        for each in changed:
            self._config.get_configuration().remove_config(each)
            if each in self._first:
                self._config.set(each, self._first[each])

    def to_map(self) -> dict[str, str]:
        return self._config.to_map()

    def get_local_timezone(self) -> str:
        return self._config.get_local_timezone()
