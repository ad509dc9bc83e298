"""The options of the shell itself, which SET changes: how results are shown, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from funke.engine.config import sql_client_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.ops.cli.sql.result_writers import FORMATS

__all__ = ["ShellOptions"]

_KEYS = frozenset(each.key for each in vars(options).values() if isinstance(each, ConfigOption))


@dataclass
class ShellOptions:
    """What is set of them."""

    values: dict[str, str] = field(default_factory=dict)
    initial: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values.update(self.initial)

    def set(self, key: str, value: str) -> None:
        """Change one; those of others are passed over."""
        if key in _KEYS:
            before = dict(self.values)
            self.values[key] = value
            try:
                _ = (self.mode, self.most_rows, self.widest_column, self.shows_time, self.format, self.has_pager)
            except ConfigurationError:
                self.values = before
                raise

    def reset(self, key: str | None) -> None:
        """Take changes back."""
        for each in [key] if key is not None else list(self.values):
            self.values.pop(each, None)
            if each in self.initial:
                self.values[each] = self.initial[each]

    def _get(self, option: ConfigOption[Any]) -> Any:
        return Settings(self.values).get(option)

    @property
    def mode(self) -> str:
        mode = str(self._get(options.RESULT_MODE)).upper()
        if mode not in ("TABLE", "TABLEAU", "CHANGELOG"):
            raise ConfigurationError(
                f"Could not parse value '{self._get(options.RESULT_MODE)}' for key '{options.RESULT_MODE.key}'."
            )
        return mode

    @property
    def most_rows(self) -> int:
        return int(self._get(options.MOST_ROWS))

    @property
    def widest_column(self) -> int | None:
        width: int | None = self._get(options.WIDEST_COLUMN)
        return width

    @property
    def shows_time(self) -> bool:
        return bool(self._get(options.SHOWS_TIME))

    @property
    def format(self) -> str:
        name = str(self._get(options.FORMAT)).lower()
        if name not in FORMATS:
            raise ConfigurationError(f"'{options.FORMAT.key}' must be one of {', '.join(FORMATS)}, got '{name}'")
        return name

    @property
    def output_file(self) -> str | None:
        path: str | None = self._get(options.OUTPUT_FILE)
        return path

    @property
    def has_pager(self) -> bool:
        return bool(self._get(options.HAS_PAGER))
