"""Files and folders that a program registers by name: every slot's functions find a copy through their context."""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.errors import ConfigurationError
from funke.engine.runtime.job_files.archives import unpack

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["CachedFile", "placed_files", "ship_cached_file", "staged_files"]

_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


@dataclass(frozen=True)
class CachedFile:
    """A registered file: the driver's copy of it, or the address that Spark fetches it from."""

    name: str
    path: str
    is_executable: bool = False
    is_folder: bool = False
    # What Spark knows it by: file names need not differ, but Spark has one folder for all jobs.
    shipped_as: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether only Spark can read it."""
        return "://" in self.path


def staged_files(files: Mapping[str, tuple[str, bool]], folder: str) -> tuple[CachedFile, ...]:
    """Copies what is registered, as name -> (path, executable), below a folder of the driver."""
    return tuple(_staged(name, path, is_executable, folder) for name, (path, is_executable) in files.items())


def _staged(name: str, path: str, is_executable: bool, folder: str) -> CachedFile:
    plain = without_file_scheme(path) or path
    if "://" in plain:
        return CachedFile(name, plain, is_executable, shipped_as=os.path.basename(plain))
    if not os.path.exists(plain):
        raise ConfigurationError(f"the file '{path}', registered as '{name}', does not exist")
    unique = uuid.uuid4().hex
    copy = os.path.join(folder, "cached", unique, os.path.basename(os.path.normpath(plain)))
    is_folder = os.path.isdir(plain)
    os.makedirs(os.path.dirname(copy))
    (shutil.copytree if is_folder else shutil.copy)(plain, copy)
    if is_executable:
        _make_executable(copy)
    shipped_as = f"{unique}-{os.path.basename(copy)}" + (".zip" if is_folder else "")
    return CachedFile(name, copy, is_executable, is_folder, shipped_as)


def ship_cached_file(context: SparkContext, file: CachedFile, folder: str | None) -> None:
    """Gives a file to Spark; `folder` keeps what Spark hands out, and is None when slots can read the driver's copy."""
    if file.is_remote:
        context.addFile(file.path)
    elif folder is not None:
        shipped = os.path.join(folder, file.shipped_as)
        if file.is_folder:
            shutil.make_archive(shipped.removesuffix(".zip"), "zip", file.path)
        else:
            shutil.copy(file.path, shipped)
        context.addFile(shipped)


def placed_files(files: tuple[CachedFile, ...], folder: str) -> tuple[tuple[str, str], ...]:
    """Names and paths on this host: the driver's own copies when they are here, else copies below a slot's folder."""
    return tuple((file.name, _placed(file, folder)) for file in files)


def _placed(file: CachedFile, folder: str) -> str:
    if not file.is_remote and os.path.exists(file.path):
        return file.path
    from pyspark import SparkFiles

    target = os.path.join(folder, "cached", file.shipped_as, os.path.basename(file.path))
    os.makedirs(os.path.dirname(target))
    source = str(SparkFiles.get(file.shipped_as))
    if file.is_folder:
        unpack(source, "zip", Path(target))
    else:
        shutil.copy(source, target)
    if file.is_executable:
        _make_executable(target)
    return target


def _make_executable(path: str) -> None:
    """Programs can be run: the file, or all files of a folder."""
    files = (
        [path] if os.path.isfile(path) else [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
    )
    for file in files:
        os.chmod(file, os.stat(file).st_mode | _EXECUTABLE)
