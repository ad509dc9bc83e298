"""Starts the process that serves pages about this program's jobs, and tells metrics to reporters, when asked to."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

from funke.engine.config import rest_options as options
from funke.engine.config.reporters import reporters_of
from funke.engine.config.settings import Settings
from funke.engine.jobs.notices import notice

__all__ = ["has_rest", "serve_own_pages", "wants_own_pages"]

# A process of its own: requests take nothing of the driver's time, and the engine does not know the interface.
_MODULE = "funke.ops.service.pages"


def wants_own_pages(settings: Settings) -> bool:
    """Whether a program serves pages about its jobs; those of the service are on the service's pages."""
    has_reporters = any(each.kind for each in reporters_of(settings))
    return (has_rest(settings) or has_reporters) and not settings.get(options.SLOT_POOL)


def has_rest(settings: Settings) -> bool:
    """Whether a port is named for the pages themselves; reporters of metrics need none."""
    return settings.is_set(options.REST_PORT) or settings.is_set(options.REST_BIND_PORT)


def serve_own_pages(settings: Settings, home: str) -> None:
    """Starts the process, once; it ends with this one."""
    if wants_own_pages(settings):
        _start(os.getpid(), home, json.dumps(settings.to_text_dict()))


@functools.cache
def _start(pid: int, home: str, settings: str) -> subprocess.Popen[str] | None:
    try:
        child = subprocess.Popen([sys.executable, "-m", _MODULE], stdin=subprocess.PIPE, text=True)
        assert child.stdin is not None
        # Not on the command line, which every user can read. The pipe stays open as long as this process lives.
        child.stdin.write(json.dumps({"home": home, "settings": json.loads(settings)}) + "\n")
        child.stdin.flush()
    except OSError as error:
        notice(f"warning: there are no pages about the job: {error}")
        return None
    return child
