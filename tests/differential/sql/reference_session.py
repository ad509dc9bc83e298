"""What recorders need of the reference: an environment with tables of files, queries, verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ZONE = "UTC"
_INSIDE = "SQL_RECORDER_INSIDE_REFERENCE"


def run_in_reference(script: str, arguments: Sequence[str]) -> int | None:
    """Run a script again with the Python of PYFLINK_PYTHON; None if this is that Python."""
    if _INSIDE in os.environ:
        return None
    interpreter = os.environ.get("PYFLINK_PYTHON")
    if not interpreter:
        print("set PYFLINK_PYTHON to the Python of an environment with apache-flink installed", file=sys.stderr)
        return 2
    path = os.path.dirname(interpreter) + os.pathsep + os.environ.get("PATH", "")
    environment = {**os.environ, _INSIDE: "1", "PATH": path, "TZ": ZONE, "PYTHONHASHSEED": "0"}
    return subprocess.run([interpreter, script, *arguments], env=environment, check=False).returncode


def table_environment(mode: str = "streaming") -> Any:
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    environment = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    environment.get_config().set("parallelism.default", "1")
    environment.get_config().set_local_timezone(ZONE)
    environment.get_config().set("execution.target", "remote")
    environment.get_config().set("rest.address", "localhost")
    environment.get_config().set("rest.port", str(_cluster_port()))
    return environment


@cache
def _cluster_port() -> int:
    """The port of one small cluster for all queries: by default each query starts its own, which costs seconds."""
    from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found]

    flink = get_gateway().jvm.org.apache.flink
    settings = flink.configuration.Configuration()
    settings.setString("rest.port", "0")
    settings.setString("rest.address", "localhost")
    builder = flink.runtime.minicluster.MiniClusterConfiguration.Builder()
    small = builder.setConfiguration(settings).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build()
    cluster = flink.runtime.minicluster.MiniCluster(small)
    cluster.start()
    return int(cluster.getRestAddress().get().getPort())


def create_file_table(
    environment: Any,
    name: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    more: str = "",
) -> None:
    """A table of rows that stand in a file of JSON."""
    path = folder / f"{name}.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    schema = ", ".join(f"`{column}` {data_type}" for column, data_type in columns.items())
    options = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'json'"
    environment.execute_sql(f"CREATE TABLE `{name}` ({schema}{more}) WITH ({options})")


def rejection_of(error: Exception) -> str:
    """What the reference says, without the Java calls that led there."""
    text = str(error)
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(("at ", "... "))
    ]
    return "\n".join(lines)


def types_of(table: Any) -> list[str]:
    """The types of a table's columns as the reference writes them."""
    return [each.getDataType().toString() for each in table._j_table.getResolvedSchema().getColumns()]
