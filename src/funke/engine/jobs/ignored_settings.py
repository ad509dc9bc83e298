"""Settings that Flink has and Funke accepts without acting on them: the user is told, once per job."""

from __future__ import annotations

import sys
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings

__all__ = ["warn_of_ignored"]

_IGNORED: tuple[tuple[ConfigOption[Any], str], ...] = (
    (options.CHECKPOINTING_TIMEOUT, "a checkpoint ends with its epoch"),
    (options.TOLERABLE_FAILED_CHECKPOINTS, "a checkpoint that fails counts as a failure of the job"),
    (options.SNAPSHOT_COMPRESSION, "snapshots are not compressed"),
    (options.INCREMENTAL_CHECKPOINTS, "every checkpoint is complete"),
)


def warn_of_ignored(settings: Settings) -> None:
    """Warns of settings that have no effect yet."""
    backend = str(settings.get(options.STATE_BACKEND)).lower()
    if backend not in ("hashmap", "filesystem", "jobmanager", "memory"):
        _warn(options.STATE_BACKEND, f"'{backend}' is not there yet; state is kept in memory")
    for option, instead in _IGNORED:
        if settings.is_set(option) and settings.get(option) != option.default:
            _warn(option, instead)


def _warn(option: ConfigOption[Any], instead: str) -> None:
    sys.stderr.write(f"warning: {option.key} has no effect: {instead}\n")
