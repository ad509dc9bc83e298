"""The Spark that jobs run on: the one that is there, or an embedded one."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from funke.engine.connectors.remote.access import access_of, hadoop_site, install_access
from funke.engine.errors import ConfigurationError, SparkUnavailableError
from funke.engine.runtime.slots.slot_address import is_loopback, is_own
from funke.engine.runtime.spark.standalone_master import ask_master
from funke.engine.runtime.starting.class_archive import SWITCH, switch
from funke.engine.runtime.starting.early_start import end_early, start_early, take_gateway
from funke.engine.runtime.starting.executor_archive import executor_arguments
from funke.engine.runtime.starting.lean_converters import use_lean_converters
from funke.engine.runtime.starting.spark_process import LATE_COMPILER, start_by_submit
from funke.engine.runtime.starting.warm_spark import end_aside, fits, put_aside, take_aside
from funke.engine.trust.run_folders import run_folder, watch_run_folder

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

_WORKER_SOCKETS = "spark.python.unix.domain.socket.enabled"
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
    _WORKER_SOCKETS: str(hasattr(socket, "AF_UNIX")).lower(),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
# A job that streams has a task that only waits, as long as it runs; others must find a free core beside it.
_TASK_SLOTS_FOR_JOBS = 32
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
# Prepended to those that a user sets.
_EXECUTOR_ARGUMENTS = "spark.executor.defaultJavaOptions"
_DAEMON_MODULE = "spark.python.daemon.module"
# Executors get it as a file, before their first task in Python.
_DAEMON = Path(__file__).with_name("quiet_daemon.py")
# What embedded Spark takes from the environment, and a cluster must not.
_own_variables: dict[str, str] = {}
# Half of a context or session that another thread starts must not be seen.
_starting = threading.RLock()


class OnSpark(Protocol):
    """Whatever leads to a Spark context: a session, or a job's Spark."""

    @property
    def sparkContext(self) -> SparkContext:
        """The context."""
        ...


class JobSpark:
    """Spark as a job sees it: a context, and a session for those parts that need DataFrames.

    A session costs embedded Spark a fifth of its start, and most jobs never ask for it.
    """

    def __init__(self, configuration: Mapping[str, str], derived: Mapping[str, str] | None = None) -> None:
        """`derived` is what a new context gets beside what the configuration says."""
        self._configuration = configuration
        self._context = spark_context(configuration, derived)
        # On embedded Spark slots alone run the program's interpreter; other jobs of the session share Spark's workers.
        if (python := _python_of_workers(configuration)) and not _is_local(self._context.master):
            self._context.pythonExec = python

    @property
    def sparkContext(self) -> SparkContext:
        """The context."""
        return self._context

    @property
    def session(self) -> SparkSession:
        """The active session, or a new one."""
        return spark_session(self._configuration)


def _python_of_workers(configuration: Mapping[str, str]) -> str | None:
    """The interpreter of Spark's workers; None for that of the variable PYSPARK_PYTHON, all that PySpark looks at.

    One inside of a job's archive is there only when a worker runs already.
    """
    executable = configuration.get("python.executable", "")
    of_functions = executable if os.path.isabs(executable) or os.sep not in executable else None
    return configuration.get("spark.pyspark.python") or of_functions or None


def spark_session(configuration: Mapping[str, str]) -> SparkSession:
    """The active session, or a new one; keys that start with `spark.` are handed to Spark."""
    from pyspark.sql import SparkSession

    with _starting:
        spark_context(configuration)
        # Spark keeps its active session per thread, and every job has a thread of its own.
        active = SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)
        if active is not None and active.sparkContext._jsc is not None:
            return active
        session: SparkSession = SparkSession.Builder().getOrCreate()
        return session


def spark_context(configuration: Mapping[str, str], derived: Mapping[str, str] | None = None) -> SparkContext:
    """The context that there is, or a new one."""
    with _starting:
        return _spark_context(configuration, derived or {})


def spark_master(configuration: Mapping[str, str]) -> str:
    """Where a new context would be."""
    submitted = _submitted_settings().get("spark.master")
    return str(configuration.get("spark.master") or submitted or os.environ.get("FUNKE_SPARK_MASTER") or "local")


def _spark_context(configuration: Mapping[str, str], derived: Mapping[str, str]) -> SparkContext:
    from pyspark import SparkConf, SparkContext

    _quieten_py4j()
    use_lean_converters()
    _forget_dead_session()
    active = SparkContext._active_spark_context
    if active is not None and active._jsc is not None:
        end_early()
        return active
    process_options = spark_options(configuration)
    options = {**derived, **process_options}
    warm = take_aside(options)
    if warm is not None:
        return warm
    if _is_local(options["spark.master"]):
        _open_fork_server()
    else:
        _require_reachable(options)
        watch_run_folder()
    try:
        if SparkContext._gateway is None:
            # What is derived is for executors alone.
            gateway = take_gateway(process_options) or start_by_submit(options)
            SparkContext._ensure_initialized(gateway=gateway)
        # With what spark-submit has read from files.
        conf = SparkConf(_jvm=SparkContext._jvm).setAll(list(options.items()))
        if _is_standalone(options["spark.master"]):
            _start_executors_fast(conf)
        context = SparkContext.getOrCreate(conf)
        if conf.get(_DAEMON_MODULE, None) == _DAEMON.stem:
            _ship_daemon(context)
    except Exception as error:
        master = options["spark.master"]
        raise SparkUnavailableError(f"Spark did not start on master '{master}': {_first_line(error)}") from error
    if not _is_local(context.master):
        context.setLogLevel("ERROR")
    _settings_of(context)
    context._funke_started_with = _spark_settings(configuration)  # type: ignore[attr-defined]
    return context


def _start_executors_fast(conf: SparkConf) -> None:
    """Settings of executors; what a user has set stays."""
    arguments = conf.get(_EXECUTOR_ARGUMENTS, "")
    conf.set(_EXECUTOR_ARGUMENTS, " ".join([*LATE_COMPILER, *executor_arguments(), arguments]).rstrip())
    conf.setIfMissing(f"spark.executorEnv.{SWITCH}", switch())
    conf.setIfMissing(_DAEMON_MODULE, _DAEMON.stem)


def _ship_daemon(context: SparkContext) -> None:
    """Puts the module into the folders of executors, where Python workers begin."""
    context.addFile(str(_DAEMON))
    # With PYTHONSAFEPATH the working folder is searched only if it is named.
    paths = context.environment.get("PYTHONPATH")
    context.environment["PYTHONPATH"] = os.pathsep.join([".", paths] if paths else ["."])


def _require_reachable(options: Mapping[str, str]) -> None:
    """Executors on other hosts would call themselves, and Spark would start them again and again."""
    driver_host = options.get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP") or ""
    masters = options["spark.master"].removeprefix("spark://").split(",")
    if _is_standalone(options["spark.master"]) and is_loopback(driver_host):
        elsewhere = [master for master in masters if not is_own(master.rpartition(":")[0])]
        if elsewhere:
            raise ConfigurationError(
                f"the driver's address {driver_host} resolves to another host for the executors on {elsewhere[0]}; set "
                "spark.driver.host (or SPARK_LOCAL_IP) to an address of this host which they reach"
            )


def _spark_settings(configuration: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in configuration.items() if key.startswith("spark.")}


def _quieten_py4j() -> None:
    """Py4J tells of every connection that it opens and closes, at a level that users ask for because of their own."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _open_fork_server() -> None:
    """Lets a process load what slots need while Spark starts."""
    # Not at the top: what it loads would hold up Spark's own start.
    from funke.engine.runtime.slots.fork_server import open_fork_server

    open_fork_server()


def prepare_spark(configuration: Mapping[str, str]) -> None:
    """A job will be submitted: Spark's process may start while the rest of the driver is loaded."""
    context = sys.modules.get("pyspark.core.context")
    if context is None or context.SparkContext._gateway is None:
        options = spark_options(configuration)
        if not fits(options):
            end_aside()
            start_early(options)


def start_warm(configuration: Mapping[str, str]) -> None:
    """Starts embedded Spark for a program that is not known yet, with all that a first job would have to wait for."""
    options = spark_options(configuration)
    if not _is_local(options["spark.master"]):
        return  # a cluster's executors are not reserved for a job that may never come
    from funke.engine.runtime.slots.fork_server import load_ahead

    context = spark_context(configuration)
    load_ahead()
    # The first task starts Spark's workers and loads what runs in them.
    context.parallelize([0], 1).mapPartitions(_first_task).collect()
    put_aside(context, options)


def _first_task(rows: Iterable[int]) -> Iterable[int]:
    from funke.engine.runtime.slots.worker_setup import prepare_spark_worker

    prepare_spark_worker()
    return rows


def spark_options(configuration: Mapping[str, str]) -> dict[str, str]:
    """What a new context is made with; what Spark takes from the environment is put there."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    options = {
        "spark.app.name": configuration.get("pipeline.name", "funke"),
        "spark.master": os.environ.get("FUNKE_SPARK_MASTER", f"local[{_cores() + _TASK_SLOTS_FOR_JOBS}]"),
        **_DEFAULTS,
        **(submitted := _submitted_settings()),
        **_spark_settings(configuration),
    }
    if not submitted:
        _require_keytab(options)
    master = options["spark.master"]
    if not _is_local(master):
        if _own_variables.pop("SPARK_LOCAL_IP", None) == os.environ.get("SPARK_LOCAL_IP"):
            os.environ.pop("SPARK_LOCAL_IP", None)  # that of an embedded Spark before
        if master == "yarn" and _WORKER_SOCKETS not in configuration and _WORKER_SOCKETS not in submitted:
            # The folders of containers have names that are too long for the address of a socket.
            options[_WORKER_SOCKETS] = "false"
        for key in ("spark.driver.host", "spark.driver.bindAddress"):
            if key not in configuration and key not in submitted and "127.0.0.1" not in master:
                options.pop(key, None)
    else:
        options.setdefault("spark.default.parallelism", str(_cores()))
        # Not Spark's 200: what is exchanged here has a few cores to go to.
        options.setdefault("spark.sql.shuffle.partitions", str(_cores()))
        if "SPARK_LOCAL_IP" not in os.environ:
            os.environ["SPARK_LOCAL_IP"] = _own_variables["SPARK_LOCAL_IP"] = "127.0.0.1"
        # Spark's own ports answer only to itself, and its sockets for workers are in a private folder.
        options.setdefault("spark.authenticate", "true")
        options.setdefault("spark.python.unix.domain.socket.dir", run_folder())
        options.setdefault(_DAEMON_MODULE, "funke.engine.runtime.spark.quiet_daemon")
        java_options = [f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION}", *LATE_COMPILER]
        options.setdefault("spark.driver.defaultJavaOptions", " ".join(java_options))
    return options


def _require_keytab(options: Mapping[str, str]) -> None:
    """Spark's process would end with an exception of Java's."""
    principal, keytab = (options.get(f"spark.kerberos.{name}") for name in ("principal", "keytab"))
    if bool(principal) != bool(keytab):
        there, missing = ("principal", "keytab") if principal else ("keytab", "principal")
        raise ConfigurationError(f"spark.kerberos.{there} is set, and spark.kerberos.{missing} is not; set both")
    # A keytab that is on all hosts has a scheme of Spark's own.
    if keytab and not os.path.isfile(keytab.removeprefix("local:").removeprefix("file:")):
        raise ConfigurationError(f"there is no keytab '{keytab}' (spark.kerberos.keytab) on this host")


def _submitted_settings() -> dict[str, str]:
    """What spark-submit was told, when it runs this program: Spark's process is there already, with its settings."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf(_jvm=SparkContext._jvm).getAll())


def _cores() -> int:
    return os.cpu_count() or 1


def _is_standalone(master: str) -> bool:
    return master.startswith("spark://")


def _is_local(master: str | None) -> bool:
    return str(master).startswith("local")


def use_storage_settings(configuration: Mapping[str, str]) -> None:
    """Lets this process reach file systems as a configuration says, and the session, if there is one."""
    from pyspark import SparkContext

    with _starting:
        context = SparkContext._active_spark_context
        of_session = _settings_of(context) if context is not None and context._jsc is not None else {}
    install_access(access_of(hadoop_site(os.environ.get("HADOOP_CONF_DIR")), of_session, configuration))


def session_settings(spark: OnSpark) -> dict[str, str]:
    """What a session was started with."""
    return _settings_of(spark.sparkContext)


def started_with(spark: OnSpark) -> dict[str, str]:
    """What the job asked of Spark that has started the session; nothing when the program itself has."""
    asked: dict[str, str] = getattr(spark.sparkContext, "_funke_started_with", {})
    return asked


def _settings_of(context: SparkContext) -> dict[str, str]:
    """All settings of a session; asked for once, since that takes many calls to Java."""
    settings: dict[str, str] | None = getattr(context, "_funke_settings", None)
    if settings is None:
        settings = context._funke_settings = dict(context.getConf().getAll())  # type: ignore[attr-defined]
    return settings


def forget_lost_application() -> None:
    """Ends our context if its application has ended, or its master has forgotten it: it would get no executors.

    YARN ends an application whose masters have failed too often. A standalone master that starts again without its
    state (spark.deploy.recoveryMode) knows no application.
    """
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or context._jsc is None or getattr(context, "_funke_started_with", None) is None:
        return
    with contextlib.suppress(Exception):  # its process may be gone, which is noticed elsewhere
        master = None if (has_ended := context._jsc.sc().isStopped()) else ask_master(context)
        if has_ended or (master is not None and context.applicationId not in master.applications):
            with _starting:
                context.stop()


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


def is_embedded(spark: OnSpark) -> bool:
    """Whether Spark runs inside this machine's driver process rather than on a cluster."""
    return _is_local(spark.sparkContext.master)


def _first_line(error: Exception) -> str:
    # Py4J's own message names a Java class; what happened is in the exception it carries.
    cause = getattr(error, "java_exception", None)
    text = str(error) if cause is None else str(cause.getMessage() or cause)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
