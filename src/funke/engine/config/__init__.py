"""Configuration: the store, typed options, and the options of Flink that mean something here."""

from __future__ import annotations

from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings

__all__ = ["ConfigOption", "Settings"]
