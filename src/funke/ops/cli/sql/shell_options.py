"""The options of the shell itself, which SET changes: how results are shown, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from funke.engine.config.config_option import ConfigOption, boolean_option, integer_option, string_option
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.ops.cli.sql.result_writers import FORMATS

__all__ = ["SHELL_OPTIONS", "ShellOptions"]

_MODE = string_option(
    "sql-client.execution.result-mode",
    "TABLEAU",
    "TABLEAU and CHANGELOG show changes as they come, TABLE shows the rows that they leave.",
)
_MOST_ROWS = integer_option(
    "sql-client.execution.max-table-result.rows", 1_000_000, "How many rows the mode TABLE keeps."
)
_WIDEST = integer_option(
    "sql-client.display.max-column-width", None, "Characters of the widest column; when not set, what the screen has."
)
_TIME = boolean_option("sql-client.display.print-time-cost", True, "Whether a terminal shows how long a query took.")
_FORMAT = string_option("funke.sql.format", "table", f"How rows are written: {', '.join(FORMATS)}.")
_FILE = string_option("funke.sql.output-file", None, "A file to which results are added, instead of the screen.")
_PAGER = boolean_option("funke.sql.pager", True, "Whether complete results that are longer than the screen are paged.")
SHELL_OPTIONS: tuple[ConfigOption[Any], ...] = (_MODE, _MOST_ROWS, _WIDEST, _TIME, _FORMAT, _FILE, _PAGER)


@dataclass
class ShellOptions:
    """What is set of them."""

    values: dict[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values.update(self.given)

    def set(self, key: str, value: str) -> None:
        """Change one; those of others are passed over."""
        if any(key == each.key for each in SHELL_OPTIONS):
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
            if each in self.given:
                self.values[each] = self.given[each]

    def _get(self, option: ConfigOption[Any]) -> Any:
        return Settings(self.values).get(option)

    @property
    def mode(self) -> str:
        mode = str(self._get(_MODE)).upper()
        if mode not in ("TABLE", "TABLEAU", "CHANGELOG"):
            raise ConfigurationError(f"Could not parse value '{self._get(_MODE)}' for key '{_MODE.key}'.")
        return mode

    @property
    def most_rows(self) -> int:
        return int(self._get(_MOST_ROWS))

    @property
    def widest_column(self) -> int | None:
        found: int | None = self._get(_WIDEST)
        return found

    @property
    def shows_time(self) -> bool:
        return bool(self._get(_TIME))

    @property
    def format(self) -> str:
        name = str(self._get(_FORMAT)).lower()
        if name not in FORMATS:
            raise ConfigurationError(f"'{_FORMAT.key}' must be one of {', '.join(FORMATS)}, got '{name}'")
        return name

    @property
    def output_file(self) -> str | None:
        found: str | None = self._get(_FILE)
        return found

    @property
    def has_pager(self) -> bool:
        return bool(self._get(_PAGER))
