"""What an environment starts with: the cluster's configuration file, then what the command line said.

The command line hands its options to the program through an environment variable, so that they reach every environment
the program makes, in whichever thread or child process. What the program sets itself wins over both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from funke.engine.config.config_file import read_config_file
from funke.engine.config.secret_keys import secret_options, without_secrets
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError

__all__ = [
    "COMMAND_LINE_VARIABLE",
    "hidden_options",
    "job_defaults",
    "put_command_line_options",
    "take_hidden_options",
]

COMMAND_LINE_VARIABLE = "FUNKE_COMMAND_LINE_OPTIONS"
# Every user can read the command line of a process, but only its owner can read the environment.
_HIDDEN_VARIABLE = "FUNKE_HIDDEN_OPTIONS"
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
    environ[COMMAND_LINE_VARIABLE] = json.dumps({**take_hidden_options(environ), **options})


def hidden_options(command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """A command line of Funke's for a new process without its secrets, and the environment that they go with."""
    secrets = secret_options(command)
    return list(without_secrets(command)), {_HIDDEN_VARIABLE: json.dumps(secrets)} if secrets else {}


def take_hidden_options(environ: MutableMapping[str, str] | None = None) -> dict[str, str]:
    """The secrets that this process was started with; further processes do not inherit them."""
    text = (os.environ if environ is None else environ).pop(_HIDDEN_VARIABLE, None)
    return dict(json.loads(text)) if text else {}


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
