"""Starts Spark's process from an archive of its classes, before a program runs that will need Spark.

It loads while the driver imports, plans and packs. Without an archive PySpark starts Spark, and one is made later.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from funke.engine.runtime.starting.background import build_at_exit
from funke.engine.runtime.starting.class_archive import (
    ClassArchive,
    Installation,
    find_archive,
    is_due,
    note_of,
    remember,
    switch,
)
from funke.engine.runtime.starting.spark_process import SparkProcess, is_startable
from funke.engine.trust.code_folder import code_folder

__all__ = ["end_early", "start_early", "take_gateway"]

# A context has the name of its job, whatever its process was started with.
_NAME = "spark.app.name"


@dataclass(frozen=True)
class _Conditions:
    """What a process is started with: a program may change all of it before it needs Spark."""

    options: dict[str, str]
    environ: dict[str, str]
    folder: str

    @staticmethod
    def of_now(options: Mapping[str, str]) -> _Conditions:
        return _Conditions(
            {key: value for key, value in options.items() if key != _NAME}, dict(os.environ), os.path.abspath("")
        )


@dataclass
class _Start:
    """A process that was started from an archive, and where that comes from."""

    conditions: _Conditions
    process: SparkProcess
    folder: str
    installation: Installation
    archive: ClassArchive


_lock = threading.Lock()
# As PySpark has one gateway for a process, there is one on its way at most.
_waiting: list[_Start] = []


def start_early(options: Mapping[str, str]) -> None:
    """Starts Spark's process if an archive allows it; the user of the gateway waits less then."""
    with _lock:
        if not _fitting(options):
            _waiting.extend(_started(options))


def end_early() -> None:
    """Spark's process is there already, from elsewhere: one that was started early is not needed."""
    with _lock:
        _end_waiting()


def take_gateway(options: Mapping[str, str]) -> Any | None:
    """The gateway to Spark's process, started now if it was not before; None when PySpark is to start it."""
    with _lock:
        waiting = _fitting(options)
        _waiting.clear()
    for start in waiting or _started(options):
        return _connect(start)
    return None


def _fitting(options: Mapping[str, str]) -> list[_Start]:
    """The process that was started as one would be now; another one ends."""
    if any(start.conditions != _Conditions.of_now(options) for start in _waiting):
        _end_waiting()
    return list(_waiting)


def _end_waiting() -> None:
    while _waiting:
        _waiting.pop().process.end()


def _started(options: Mapping[str, str]) -> list[_Start]:
    # YARN's client needs folders on the class path, which rule an archive out.
    is_possible = options.get("spark.master", "").startswith(("local", "spark:"))
    folder = code_folder() if is_possible and switch() != "off" and is_startable(options) else None
    installation = Installation.of_this_process() if folder is not None else None
    if folder is None or installation is None:
        return []
    archive = find_archive(folder, installation)
    if archive is None:
        _want_archive(folder, installation)
        return []
    try:
        process = SparkProcess(installation.java, archive.java_arguments, options)
    except OSError:
        return []
    return [_Start(_Conditions.of_now(options), process, folder, installation, archive)]


def _connect(start: _Start) -> Any | None:
    gateway = start.process.connect()
    if gateway is None and not start.process.was_killed:
        # Whatever was wrong with it: this archive is not used again.
        with contextlib.suppress(OSError):
            remember(note_of(start.folder, start.installation), None)
    elif gateway is not None and not start.archive.is_mapped_by(gateway.proc.pid):
        _want_archive(start.folder, start.installation)
    return gateway


def _want_archive(folder: str, installation: Installation) -> None:
    if switch() == "on" and is_due(folder, installation):
        build_at_exit()
