"""Starts Spark's process: directly, from an archive of its classes, or by spark-submit; and connects to it."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

from funke.engine.config.secret_keys import is_secret
from funke.engine.trust.private_files import make_private_folder
from funke.engine.trust.run_folders import run_folder

__all__ = ["LATE_COMPILER", "SparkProcess", "is_startable", "start_by_submit"]

# The JVM moves blocks and touches no record. Its optimising compiler took a core from the Python workers for most of a
# job's first seconds (2 M rows: 2.0 instead of 1.8 s), and a third of the CPU time of a cluster's driver until its job
# runs; at ten times the usual thresholds it compiles only what is hot.
LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=20000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
_MAIN = "org.apache.spark.deploy.SparkSubmit"
_START_S = 120.0
_POLL_S = 0.005
# What spark-submit alone knows how to hand to the JVM.
_FOR_SUBMIT = ("spark.driver.extraClassPath", "spark.driver.extraLibraryPath", "spark.remote", "spark.api.mode")
_DEFAULT_MEMORY = "1g"
_BY_SOMEBODY = tuple(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
# The only thing that Java says on every start, because of a module that Spark asks for.
_KNOWN_WARNING = "^WARNING: Using incubator modules"
_WITHOUT_WARNING = f'exec "$@" 2> >(exec grep -av --line-buffered "{_KNOWN_WARNING}" >&2)'


def is_startable(options: Mapping[str, str]) -> bool:
    """Whether Spark can be started with these options without spark-submit."""
    return not any(key in options for key in _FOR_SUBMIT)


class SparkProcess:
    """Spark's process, on its way."""

    def __init__(
        self,
        java: str,
        java_arguments: Sequence[str],
        options: Mapping[str, str],
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = make_private_folder("spark-", run_folder())
        self._port_file = os.path.join(self._folder, "port")
        self._owner = os.getpid()
        # Whether it was ended on purpose, which says nothing against its archive.
        self.was_killed = False
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            [
                java,
                *java_arguments,
                *LATE_COMPILER,
                *_driver_arguments(options),
                _MAIN,
                *_spark_arguments(options),
                "pyspark-shell",
            ],
            stdin=subprocess.PIPE,  # its end tells Spark that the driver has gone
            env={**_environment(self._port_file), **(variables or {})},
            start_new_session=True,  # an interrupt is for the driver
        )
        atexit.register(self.end)

    def connect(self) -> Any | None:
        """The gateway to the process, which is the caller's from now on; None if it has ended, or never comes."""
        process = self._process
        assert process is not None
        end = time.monotonic() + _START_S
        while not os.path.exists(self._port_file):
            if process.poll() is not None or time.monotonic() > end:
                self.was_killed = process.poll() in _BY_SOMEBODY
                self.end()
                return None
            time.sleep(_POLL_S)
        with open(self._port_file, "rb") as file:
            port, length = struct.unpack("!ii", file.read(8))
            secret = file.read(length).decode()
        shutil.rmtree(self._folder, ignore_errors=True)
        gateway = _gateway_at(port, secret)
        gateway.proc = process
        self._process = None
        return gateway

    def end(self) -> None:
        """Ends a process without a connection."""
        process, self._process = self._process, None
        if process is not None and os.getpid() == self._owner:  # not in a fork of the driver
            process.kill()
            process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)


def _driver_arguments(options: Mapping[str, str]) -> list[str]:
    own = [options.get("spark.driver.defaultJavaOptions", ""), options.get("spark.driver.extraJavaOptions", "")]
    memory = f"-Xmx{options.get('spark.driver.memory', _DEFAULT_MEMORY)}"
    return [memory, *(option for text in own for option in shlex.split(text))]


def _spark_arguments(options: Mapping[str, str]) -> list[str]:
    return [argument for key, value in _public(options).items() for argument in ("--conf", f"{key}={value}")]


def _public(options: Mapping[str, str]) -> dict[str, str]:
    """What may stand on a command line, which every user can read; the context gets all options by its connection."""
    return {key: value for key, value in options.items() if not is_secret(key)}


def _environment(port_file: str) -> dict[str, str]:
    """What PySpark and spark-submit put there, but for Spark's home.

    With it, workers would load PySpark from a zip of its sources and compile them on every start: 0.6 s.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    own = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": port_file, "PYTHONHASHSEED": "0"}
    return {**inherited, **own}


def _gateway_at(port: int, secret: str) -> Any:
    """PySpark's own connection to a process that exists already: it looks for it in the environment."""
    environ = {**os.environ, "PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    return _launch_with(os=SimpleNamespace(environ=environ))()


def start_by_submit(options: Mapping[str, str]) -> Any:
    """Lets PySpark start Spark as it always does, without the warning."""
    from pyspark import SparkConf

    conf = SparkConf().setAll(list(_public(options).items()))

    def popen(command: list[str], **named: Any) -> subprocess.Popen[bytes]:
        bash = shutil.which("bash")
        quiet = [bash, "-c", _WITHOUT_WARNING, "spark-submit"] if bash else []
        return subprocess.Popen([*quiet, *command], **named)

    return _launch_with(Popen=popen)(conf)


def _launch_with(**replaced: Any) -> Any:
    """PySpark's `launch_gateway` with some of the names that it uses meaning something else, for this call alone."""
    from pyspark.java_gateway import launch_gateway

    launch = FunctionType(launch_gateway.__code__, {**launch_gateway.__globals__, **replaced})
    launch.__defaults__ = launch_gateway.__defaults__
    return launch
