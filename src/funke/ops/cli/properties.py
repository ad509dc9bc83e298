"""Settings of a command: the configuration file, then what the environment says, then `-D key=value`."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.config.job_defaults import job_defaults
from funke.engine.config.secret_keys import named_only
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError

__all__ = ["settings_with"]


def settings_with(properties: Sequence[str]) -> Settings:
    """The settings, those of the command line last."""
    settings = job_defaults()
    for text in properties:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"-D needs key=value, got {named_only(text)}")
        settings.update(Settings({key: value}))
    return settings
