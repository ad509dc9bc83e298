"""What an environment starts with: the cluster's configuration file, then what the command line said.

The command line hands its options to the program through an environment variable, so that they reach every environment
the program makes, in whichever thread or child process. What the program sets itself wins over both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from funke.engine.config.config_file import read_config_file
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError

__all__ = ["COMMAND_LINE_VARIABLE", "job_defaults", "put_command_line_options"]

COMMAND_LINE_VARIABLE = "FUNKE_COMMAND_LINE_OPTIONS"
_DIRECTORY_VARIABLES = ("FUNKE_CONF_DIR", "FLINK_CONF_DIR")
_FILE_NAMES = ("config.yaml", "flink-conf.yaml")


def job_defaults(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a new environment, before the program sets anything."""
    environ = os.environ if environ is None else environ
    settings = Settings(_from_file(environ))
    settings.update(Settings(_from_command_line(environ)))
    return settings


def put_command_line_options(options: Mapping[str, str], environ: MutableMapping[str, str] | None = None) -> None:
    """Make options of the command line the defaults of every environment that follows."""
    environ = os.environ if environ is None else environ
    environ[COMMAND_LINE_VARIABLE] = json.dumps(dict(options))


def _from_command_line(environ: Mapping[str, str]) -> dict[str, Any]:
    text = environ.get(COMMAND_LINE_VARIABLE)
    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError:
        raise ConfigurationError(f"{COMMAND_LINE_VARIABLE} must hold a JSON object, got {text!r}") from None
    return dict(options)


def _from_file(environ: Mapping[str, str]) -> dict[str, Any]:
    directory = next((environ[name] for name in _DIRECTORY_VARIABLES if environ.get(name)), None)
    if directory is None:
        return {}
    for name in _FILE_NAMES:
        path = Path(directory) / name
        if path.is_file():
            return read_config_file(path.read_text(encoding="utf-8"), str(path))
    return {}
