"""The Spark session that jobs run on: the one that is there, or an embedded one."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from funke.engine.connectors.remote.access import access_of, install_access
from funke.engine.errors import SparkUnavailableError
from funke.engine.runtime.nursery import open_nursery
from funke.engine.trust.private_files import run_folder

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# Blocks are already compact and mostly stay on the machine: compressing them again costs more than it saves.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.compress": "false",
    "spark.speculation": "false",
    "spark.task.maxFailures": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.worker.reuse": "true",
    # Over TCP a worker waits 40 ms for its first bytes: Nagle's algorithm against delayed acknowledgements.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
# The JVM moves blocks and touches no record. Its optimising compiler took a core from the Python workers for most of a
# job's first seconds (2 M rows: 2.0 instead of 1.8 s); at ten times the usual thresholds it compiles only what is hot.
_LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=20000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")


def spark_session(configuration: dict[str, str]) -> SparkSession:
    """The active session, or a new one; keys that start with `spark.` are handed to Spark."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    _forget_dead_session()
    # Spark keeps its active session per thread, and every job has a thread of its own.
    active = SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)
    if active is not None and active.sparkContext._jsc is not None:
        return active
    builder = SparkSession.Builder().appName(configuration.get("pipeline.name", "funke"))
    options = {**_DEFAULTS, **{key: value for key, value in configuration.items() if key.startswith("spark.")}}
    master = options.setdefault("spark.master", os.environ.get("FUNKE_SPARK_MASTER", f"local[{os.cpu_count() or 1}]"))
    if not master.startswith("local"):
        for key in ("spark.driver.host", "spark.driver.bindAddress"):
            if key not in configuration and "127.0.0.1" not in master:
                options.pop(key, None)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        open_nursery()  # it loads what slots need while Spark starts
        # Spark's own ports answer only to itself, and its sockets for workers stand where nobody else can go.
        options.setdefault("spark.authenticate", "true")
        options.setdefault("spark.python.unix.domain.socket.dir", run_folder())
        java_options = f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION} {_LATE_COMPILER}"
        options.setdefault("spark.driver.defaultJavaOptions", java_options)
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise SparkUnavailableError(f"Spark did not start on master '{master}': {_first_line(error)}") from error
    if not is_embedded(session):
        session.sparkContext.setLogLevel("ERROR")
    _settings_of(session.sparkContext)
    return session


def use_storage_settings(configuration: Mapping[str, str]) -> None:
    """Lets this process reach file systems as a configuration says, and the session, if there is one."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    of_session = _settings_of(context) if context is not None and context._jsc is not None else {}
    install_access(access_of(of_session, configuration))


def _settings_of(context: SparkContext) -> dict[str, str]:
    """All settings of a session; asked for once, since that takes many calls to Java."""
    found: dict[str, str] | None = getattr(context, "_funke_settings", None)
    if found is None:
        found = context._funke_settings = dict(context.getConf().getAll())  # type: ignore[attr-defined]
    return found


def _forget_dead_session() -> None:
    """After the death of Spark's process the next attempt of a job gets a new one; PySpark alone would keep failing."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or process.poll() is None:
        return
    with SparkContext._lock:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None


def is_embedded(spark: SparkSession) -> bool:
    """Whether Spark runs inside this machine's driver process rather than on a cluster."""
    return str(spark.sparkContext.master).startswith("local")


def _first_line(error: Exception) -> str:
    # Py4J's own message names a Java class; what happened is in the exception it carries.
    cause = getattr(error, "java_exception", None)
    text = str(error) if cause is None else str(cause.getMessage() or cause)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
