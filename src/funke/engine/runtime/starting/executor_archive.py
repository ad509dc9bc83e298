"""Lets the executors of a standalone cluster start from an archive of Spark's classes.

An executor begins in `<the worker's work folder>/<application>/<number>`, so one relative path leads from there to a
file beside the applications. Who could put another file there could as well replace what executors run: the folders
below hold the code that Spark has fetched for them. The file comes from the cache of the user as whom the executor
runs, on its own host.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from pathlib import Path

from funke.engine.errors import UntrustedError
from funke.engine.runtime.starting.class_archive import (
    ClassArchive,
    Installation,
    arguments_for,
    find_archive,
    is_due,
    switch,
)
from funke.engine.trust.code_folder import code_folder, make_in_background

__all__ = ["executor_arguments", "make_archive", "provide_archive"]

_NAME = "funke-classes.jsa"
_BUILDER = "funke.engine.runtime.starting.archive_build"
# Of the environment of workers: what is for a program that Spark's own scripts start.
_OF_SPARK = ("SPARK_", "PYSPARK_", "PYTHON")


def executor_arguments() -> list[str]:
    """Options of an executor's JVM; without the file, or with one that does not fit, it starts as ever."""
    return arguments_for(os.path.join("..", "..", _NAME)) if switch() != "off" else []


def provide_archive(executor_pid: int) -> bool:
    """On the host of an executor: puts its archive where the next ones look for it; whether one should be made."""
    with contextlib.suppress(OSError, UntrustedError, ValueError, KeyError):
        process = Path("/proc", str(executor_pid))
        arguments = (process / "cmdline").read_text(errors="replace").split("\0")
        # Other clusters give executors other folders.
        if switch() == "off" or "--worker-url" not in arguments or (folder := code_folder()) is None:
            return False
        installation = Installation.at(os.readlink(process / "exe"), os.path.realpath(os.environ["SPARK_HOME"]))
        archive = find_archive(folder, installation)
        if archive is None:
            return switch() == "on" and _is_makeable(installation) and is_due(folder, installation)
        if archive.class_path == arguments[arguments.index("-cp") + 1]:
            _provide(archive, os.path.dirname(os.path.dirname(os.readlink(process / "cwd"))))
    return False


def make_archive(executor_pid: int) -> None:
    """On the host of an executor: makes the archive for its user, in the background."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_OF_SPARK)}
    with contextlib.suppress(OSError):
        java = os.readlink(f"/proc/{executor_pid}/exe")
        make_in_background(_BUILDER, {**variables, "JAVA_HOME": os.path.dirname(os.path.dirname(java))})


def _is_makeable(installation: Installation) -> bool:
    """Whether Spark is the package of this interpreter, from which the builder starts it."""
    origin = getattr(sys.modules.get("pyspark"), "__file__", None)
    return origin is not None and os.path.dirname(os.path.realpath(origin)) == installation.spark_home


def _provide(archive: ClassArchive, work_folder: str) -> None:
    status = os.lstat(work_folder)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
        raise UntrustedError(f"others may change what is in '{work_folder}'")
    target = os.path.join(work_folder, _NAME)
    if _is_same(archive.path, target):
        return
    temporary = f"{target}.{os.getpid()}"
    try:
        try:
            os.link(archive.path, temporary)
        except OSError:  # on another disk
            shutil.copy2(archive.path, temporary)
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _is_same(archive: str, target: str) -> bool:
    """Whether this is a link to the archive, or a copy, which has its time."""
    with contextlib.suppress(FileNotFoundError):
        of_cache, of_worker = os.stat(archive), os.lstat(target)
        return (of_cache.st_size, of_cache.st_mtime_ns) == (of_worker.st_size, of_worker.st_mtime_ns)
    return False
