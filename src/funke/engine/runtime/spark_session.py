"""The Spark session that jobs run on: the one that is there, or an embedded one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from funke.engine.errors import ConfigurationError

if TYPE_CHECKING:
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
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")


def spark_session(configuration: dict[str, str]) -> SparkSession:
    """The active session, or a new one; keys that start with `spark.` are handed to Spark."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
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
        options.setdefault("spark.driver.defaultJavaOptions", f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION}")
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise ConfigurationError(f"Spark did not start on master '{master}': {_first_line(error)}") from error
    if not is_embedded(session):
        session.sparkContext.setLogLevel("ERROR")
    return session


def is_embedded(spark: SparkSession) -> bool:
    """Whether Spark runs inside this machine's driver process rather than on a cluster."""
    return str(spark.sparkContext.master).startswith("local")


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
