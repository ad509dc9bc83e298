"""Every option that is known here: the table from which validation, the documentation and the dashboard's page come."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from funke.engine.config import flink_options, memory_options, rest_options, rocksdb_options, sql_client_options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.memory_model import size_text
from funke.engine.config.option_values import format_value

__all__ = ["all_options", "default_text", "option_sections"]

_SECTIONS: dict[str, tuple[ModuleType, tuple[ConfigOption[Any], ...]]] = {
    "Jobs": (flink_options, ()),
    "Memory": (memory_options, ()),
    "RocksDB": (rocksdb_options, rocksdb_options.TUNING),
    "The service": (rest_options, ()),
    "The SQL shell": (sql_client_options, ()),
}


def option_sections() -> Iterator[tuple[str, list[ConfigOption[Any]]]]:
    """The options by what they are about, each part by key."""
    for title, (module, further) in _SECTIONS.items():
        own = [each for each in vars(module).values() if isinstance(each, ConfigOption)]
        yield title, sorted([*own, *further], key=lambda each: each.key)


def all_options() -> Iterator[ConfigOption[Any]]:
    """The options, one after the other."""
    for _, options in option_sections():
        yield from options


def default_text(option: ConfigOption[Any]) -> str:
    """What holds when an option is not set; empty where nothing does."""
    if option.default is None or option.default in ([], {}):
        return ""
    return size_text(option.default) if option.kind == "size" else format_value(option.default)
