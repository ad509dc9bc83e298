"""Settings that Flink has and Funke accepts without acting on them: the user is told, once per job."""

from __future__ import annotations

import sys
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings

__all__ = ["warn_of_ignored"]

_IGNORED: tuple[tuple[ConfigOption[Any], str], ...] = (
    (options.STATE_CHANGELOG, "checkpoints are written beside the work in any case"),
    (options.LATENCY_INTERVAL, "there are no latency marks; records travel in epochs"),
)


def warn_of_ignored(settings: Settings) -> None:
    """Warns of settings that have no effect."""
    for option, instead in _IGNORED:
        if settings.is_set(option) and settings.get(option) != option.default:
            _warn(option, instead)
    is_rocksdb = str(settings.get(options.STATE_BACKEND)).lower() == "rocksdb"
    if settings.get(options.INCREMENTAL_CHECKPOINTS) and not is_rocksdb:
        _warn(options.INCREMENTAL_CHECKPOINTS, "state in memory is written completely; use rocksdb")


def _warn(option: ConfigOption[Any], instead: str) -> None:
    sys.stderr.write(f"warning: {option.key} has no effect: {instead}\n")
