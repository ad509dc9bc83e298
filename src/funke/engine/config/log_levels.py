"""From which level on log lines of user code are wanted, by `python.logging.*`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError

__all__ = ["LogLevels"]

# Flink's words for levels, and Python's.
_LEVELS = {
    "OFF": logging.CRITICAL + 1,
    "FATAL": logging.CRITICAL,
    "CRITICAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
}


@dataclass(frozen=True)
class LogLevels:
    """The level of the root logger in workers, and those of named loggers."""

    default: int = logging.INFO
    overrides: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(settings: Settings) -> LogLevels:
        """What a configuration asks for; an unknown level is reported and left out, as in PyFlink."""
        default = _level(options.PYTHON_LOG_LEVEL.key, settings.get(options.PYTHON_LOG_LEVEL))
        named = settings.get(options.PYTHON_LOG_LEVELS).items()
        levels = [(name, _level(options.PYTHON_LOG_LEVELS.key, level)) for name, level in named]
        overrides = tuple((name, level) for name, level in levels if level is not None)
        return LogLevels(logging.INFO if default is None else default, overrides)

    @staticmethod
    def require(default: str, overrides: Mapping[str, str]) -> None:
        """Rejects a level that there is not."""
        unknown = next((each for each in (default, *overrides.values()) if _number_of(each) is None), None)
        if unknown is not None:
            raise ConfigurationError(f"there is no log level '{unknown}'; expected {', '.join(_LEVELS)} or a number")


def _number_of(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() else _LEVELS.get(text.upper())


def _level(key: str, text: str) -> int | None:
    level = _number_of(text)
    if level is None:
        sys.stderr.write(f"warning: {key} knows no level '{text.strip()}': {', '.join(_LEVELS)} or a number\n")
    return level
