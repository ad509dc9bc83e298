"""Every option that is known here, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funke.engine.config import flink_options, memory_options, rest_options, rocksdb_options
from funke.engine.config.config_option import ConfigOption

__all__ = ["all_options"]


def all_options() -> Iterator[ConfigOption[Any]]:
    """The options, by the file that defines them and in its order."""
    for module in (flink_options, memory_options, rocksdb_options, rest_options):
        yield from (each for each in vars(module).values() if isinstance(each, ConfigOption))
    yield from rocksdb_options.TUNING
