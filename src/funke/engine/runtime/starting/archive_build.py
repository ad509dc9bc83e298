"""Makes the archive of Spark's classes: a process of its own that starts Spark once, uses it a little and ends.

It runs in the background after a job, at the lowest priority, one at a time and for a limited time, and says nothing:
without an archive everything works as well, only slower.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from funke.engine.runtime.spark.spark_session import spark_options
from funke.engine.runtime.starting.class_archive import (
    QUIET,
    ClassArchive,
    Installation,
    find_archive,
    is_due,
    note_of,
    remember,
)
from funke.engine.runtime.starting.spark_process import SparkProcess
from funke.engine.trust.code_folder import alone_in, code_folder

__all__ = ["build"]

_LIMIT_S = 300
# An executor that does not come must not keep drivers from having an archive.
_JOBS_S = 60.0
# An archive takes some 120 MB; a disk that is nearly full has better uses.
_FREE_BYTES = 1 << 30
# So many installations keep their archive.
_MOST_ARCHIVES = 4
# The folder of the builder's own cluster.
_CLUSTER = "cluster-"
_LAUNCHER = "org.apache.spark.launcher.Main"
# It would tell where a Spark that is built from sources has its classes.
_SCALA_VERSION = {"SPARK_SCALA_VERSION": "2.13"}
_MAIN = "org.apache.spark.deploy.SparkSubmit"
# Spark asks for it because of linear algebra, which jobs do not do; with it Java keeps its modules out of archives.
_UNWANTED = "--add-modules=jdk.incubator.vector"


def build() -> ClassArchive | None:
    """Makes the archive of this process's installation, unless there is one, or another process makes it."""
    folder, installation = code_folder(), Installation.of_this_process()
    if folder is None or installation is None or shutil.disk_usage(folder).free < _FREE_BYTES:
        return None
    with alone_in(folder, "lock") as is_alone:
        if not is_alone or not is_due(folder, installation):
            return find_archive(folder, installation)
        _remove_leftovers(folder)
        archive = None
        try:
            archive = _create_archive(folder, installation)
        finally:
            remember(note_of(folder, installation), archive)
            _remove_oldest(folder)
        return archive


def _create_archive(folder: str, installation: Installation) -> ClassArchive:
    class_path, java_options = _launch_arguments(installation)
    path = os.path.join(folder, f"classes-{installation.key}-{secrets.token_hex(4)}.jsa")
    unfinished = f"{path}.part"
    dump = ["-cp", class_path, *java_options, f"-XX:ArchiveClassesAtExit={unfinished}", *QUIET]
    with tempfile.TemporaryDirectory(prefix=_CLUSTER, dir=folder) as cluster:
        # The folder of its workers is in Spark's home.
        os.symlink(os.path.join(installation.spark_home, "jars"), os.path.join(cluster, "jars"))
        variables = {"SPARK_HOME": cluster, **_SCALA_VERSION}
        options = spark_options({"spark.master": "local[2]"})
        _use_spark(SparkProcess(installation.java, dump, options, variables), options, os.path.join(cluster, "log"))
    archive = ClassArchive(unfinished, os.path.getsize(unfinished), class_path, java_options)
    _require_usable(installation, archive)
    os.chmod(unfinished, 0o400)
    os.replace(unfinished, path)
    return replace(archive, path=path)


def _launch_arguments(installation: Installation) -> tuple[str, tuple[str, ...]]:
    """Class path and options as Spark's own launcher gives them, so that they suit every version of Spark."""
    jars = os.path.join(installation.spark_home, "jars", "*")
    command = [installation.java, "-Xmx128m", "-cp", jars, _LAUNCHER, _MAIN, "pyspark-shell"]
    environ = {**os.environ, "SPARK_HOME": installation.spark_home, **_SCALA_VERSION}
    text = subprocess.run(command, env=environ, capture_output=True, check=True).stdout.decode()
    # After a line with a zero: the words of the command, each ended by a zero.
    words = text.partition("\0\n")[2].split("\0")
    options = words[words.index("-cp") + 2 : words.index(_MAIN)]
    kept = tuple(option for option in options if option != _UNWANTED and not option.startswith("-Xmx"))
    return words[words.index("-cp") + 1], kept


def _use_spark(process: SparkProcess, options: dict[str, str], log: str) -> None:
    """Embedded Spark and a small cluster of its own; then Spark ends and writes down its classes."""
    from pyspark import SparkContext

    gateway = process.connect()
    if gateway is None:
        raise RuntimeError("Spark did not start")
    try:
        SparkContext._ensure_initialized(gateway=gateway)
        _run_jobs(options)
        with contextlib.suppress(Exception):  # then the archive is for drivers alone
            _run_jobs({**options, **_cluster_options(log)})
            _load_classes(SparkContext._jvm, log)
        gateway.proc.stdin.close()
        gateway.proc.wait()
    finally:
        gateway.proc.kill()


def _cluster_options(log: str) -> dict[str, str]:
    """A cluster with one executor, which says what classes it loads."""
    return {
        "spark.master": "local-cluster[1,2,512]",
        "spark.executor.memory": "512m",
        # It would want a secret from a user.
        "spark.authenticate": "false",
        "spark.executor.extraJavaOptions": f"-Xlog:class+load:file={log}:none:filecount=0",
    }


def _run_jobs(options: dict[str, str]) -> None:
    """What every job does: tasks in Python, a broadcast, a shuffle."""
    from pyspark import SparkConf, SparkContext

    with SparkContext(conf=SparkConf().setAll(list(options.items()))) as context:
        late = threading.Timer(_JOBS_S, context.cancelAllJobs)
        late.daemon = True
        late.start()
        shared = context.broadcast(1)
        for number in range(3):
            context.setJobGroup("archive", str(number), interruptOnCancel=False)
            pairs = context.parallelize(range(4), 2).mapPartitions(lambda some: [(n, shared.value) for n in some])
            pairs.partitionBy(2, lambda n: n).mapPartitionsWithIndex(lambda _, some: some).collect()
        shared.unpersist()
        late.cancel()


def _load_classes(jvm: Any, log: str) -> None:
    """Those that an executor has loaded in a process of its own: one archive serves both."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        name, _, source = line.partition(" source: ")
        if source.startswith(("file:", "jar:", "jrt:")):
            with contextlib.suppress(Exception):  # of another loader
                jvm.java.lang.Class.forName(name, False, loader)


def _require_usable(installation: Installation, archive: ClassArchive) -> None:
    """A JVM that may not go on without the archive takes it."""
    arguments = [argument for argument in archive.java_arguments if argument != "-Xshare:auto"]
    command = [installation.java, *arguments, "-Xshare:on", "-version"]
    subprocess.run(command, check=True, capture_output=True)


def _remove_leftovers(folder: str) -> None:
    for path in Path(folder).glob("classes-*.part"):
        path.unlink(missing_ok=True)
    for path in Path(folder).glob(f"{_CLUSTER}*"):
        shutil.rmtree(path, ignore_errors=True)


def _remove_oldest(folder: str) -> None:
    """Removes archives that were replaced, or not renewed for long."""
    notes = sorted(Path(folder).glob("classes-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for note in notes[_MOST_ARCHIVES:]:
        note.unlink(missing_ok=True)
    named = "".join(note.read_text(encoding="utf-8") for note in notes[:_MOST_ARCHIVES])
    for path in Path(folder).glob("classes-*.jsa"):
        if path.name not in named:
            path.unlink(missing_ok=True)


def _give_up(number: int, frame: object) -> NoReturn:
    raise TimeoutError(f"the archive was not made within {_LIMIT_S} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_LIMIT_S)
    os.nice(19)
    sys.exit(build() is None)
