"""The job's own files on the workers: Python files, archives, requirements and jars."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.errors import ConfigurationError
from funke.engine.runtime.job_files.archives import archive_format, unpack
from funke.engine.runtime.job_files.cached_files import CachedFile, ship_cached_file, staged_files
from funke.engine.runtime.spark.spark_session import OnSpark, is_embedded
from funke.engine.trust.private_files import make_private_folder
from funke.engine.trust.run_folders import run_folder

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass(frozen=True)
class Dependencies:
    """Where a worker finds the job's files: folders and archives for `sys.path`, and archives to unpack.

    Each archive is (file, folder name): functions in slots see its content below that name in their working folder.
    """

    python_paths: tuple[str, ...] = ()
    archives: tuple[tuple[str, str], ...] = ()
    folder: str | None = None
    cached_files: tuple[CachedFile, ...] = ()

    def remove(self) -> None:
        """Deletes what was staged."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def stage(
    python_files: tuple[str, ...],
    archives: tuple[tuple[str, str | None], ...],
    requirements: tuple[str, str | None] | None,
    cached_files: Mapping[str, tuple[str, bool]] | None = None,
) -> Dependencies:
    """Gathers a job's files in one folder of the driver's machine; of two files with one name the first counts."""
    if not (python_files or archives or requirements or cached_files):
        return Dependencies()
    named = [(_existing_archive(path), target or os.path.basename(path)) for path, target in archives]
    folder = make_private_folder("files-", run_folder())
    try:
        targets = tuple((_uniquely_named(path, folder), target) for path, target in named)
        paths = [_staged_file(file, folder) for file in python_files]
        if requirements is not None:
            paths.append(_installed(requirements, folder))
        cached = staged_files(cached_files or {}, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Dependencies(tuple(dict.fromkeys(paths)), targets, folder, cached)


def _existing(path: str) -> str:
    plain = without_file_scheme(path) or path
    if not os.path.exists(plain):
        raise ConfigurationError(f"the file '{path}' does not exist")
    return os.path.abspath(plain)


def _existing_archive(path: str) -> str:
    archive_format(path)
    return _existing(path)


def _uniquely_named(path: str, folder: str) -> str:
    """A link to a file; on a cluster it is shipped under this name, by which alone Spark knows it."""
    link = os.path.join(folder, f"{uuid.uuid4().hex}-{os.path.basename(path)}")
    os.symlink(path, link)
    return link


def _staged_file(path: str, folder: str) -> str:
    """What to put on `sys.path` for a file: its copy's folder for a module, the file itself for a zip or a folder."""
    existing = _existing(path)
    if not existing.endswith(".py"):
        return existing
    modules = os.path.join(folder, "modules")
    os.makedirs(modules, exist_ok=True)
    if not os.path.exists(os.path.join(modules, os.path.basename(existing))):
        shutil.copy(existing, modules)
    return modules


def _installed(requirements: tuple[str, str | None], folder: str) -> str:
    target = os.path.join(folder, "requirements")
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", target, "-r", _existing(requirements[0])]
    ways: list[list[str]] = [[]]
    if requirements[1] is not None:
        offline = ["--no-index", "--find-links", _existing(requirements[1])]
        # What builds a package is often not in that folder; then it is built with what is installed.
        ways = [offline, [*offline, "--no-build-isolation"]]
    for way in ways:
        done = subprocess.run([*command, *way], capture_output=True, text=True, check=False)
        if not done.returncode:
            return target
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    raise ConfigurationError(f"the requirements in '{requirements[0]}' cannot be installed: {last}")


def distribute(spark: OnSpark, dependencies: Dependencies, jars: tuple[str, ...]) -> None:
    """Gives the files to the executors of a cluster; embedded Spark reads them in place."""
    context = spark.sparkContext
    for jar in jars:
        context._jsc.addJar(_existing(jar))
    # Another attempt of the job finds what the first one has shipped.
    shipped: set[object] = context.__dict__.setdefault("_funke_shipped", set())
    if dependencies.folder is None or dependencies.folder in shipped:
        return
    for file in dependencies.cached_files:
        ship_cached_file(context, file, None if is_embedded(spark) else shipping_folder())
    if not is_embedded(spark):
        for path in dependencies.python_paths:
            _ship_python_path(context, path)
        for archive, _ in dependencies.archives:
            context.addFile(_shipping_copy(archive, os.path.basename(archive)))
    shipped.add(dependencies.folder)


def _ship_python_path(context: SparkContext, path: str) -> None:
    """A folder is unpacked again by every executor: compiled extensions cannot be imported from a zip file."""
    if not os.path.isdir(path):
        context.addPyFile(_shipping_copy(path, f"{uuid.uuid4().hex}-{os.path.basename(path)}"))
        return
    archive = shutil.make_archive(os.path.join(shipping_folder(), uuid.uuid4().hex), "zip", path)
    context.addArchive(archive)
    # What `addPyFile` does, which would hand out the file as it is.
    assert context._python_includes is not None
    context._python_includes.append(os.path.basename(archive))


def _shipping_copy(path: str, name: str) -> str:
    """A file under a name of its own; Spark would follow a link, and use the name that it leads to."""
    copy = os.path.join(shipping_folder(), name)
    try:
        os.link(os.path.realpath(path), copy)
    except OSError:  # on another disk
        shutil.copy(path, copy)
    return copy


def shipping_folder() -> str:
    """A new folder for files that Spark hands to executors, also to those that join later: it stays until the end."""
    return make_private_folder("ship-", run_folder())


def unpack_archives(archives: tuple[tuple[str, str], ...], folder: str) -> None:
    """Unpacks the job's archives below a slot's working folder."""
    for archive, target in archives:
        destination = Path(folder) / target
        source = archive if os.path.exists(archive) else _from_spark(archive)
        unpack(source, archive_format(archive), destination)


def _from_spark(archive: str) -> str:
    from pyspark import SparkFiles

    return str(SparkFiles.get(os.path.basename(archive)))
