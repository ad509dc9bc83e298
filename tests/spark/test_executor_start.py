"""Executors of a real standalone cluster: what their JVMs start from, and which PySpark their workers take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.standalone_cluster import StandaloneCluster, wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

PROGRAM = """
import sys
from pathlib import Path
from funke.common import Configuration
from funke.datastream import StreamExecutionEnvironment

config = Configuration()
for key, value in {
    "spark.master": sys.argv[1],
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "200s",
}.items():
    config.set_string(key, value)


def of_slot(number):
    import pyspark
    return number % 2, pyspark.__file__


env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(2)
with env.from_collection(range(10)).key_by(lambda number: number % 2).map(of_slot).execute_and_collect() as found:
    print(*{path for _, path in found})

from pyspark import SparkContext

application = SparkContext._active_spark_context.applicationId
for process in Path("/proc").glob("[0-9]*"):
    try:
        command = (process / "cmdline").read_text()
        if "CoarseGrainedExecutorBackend" in command and application in command:
            print("from an archive" if "funke-classes.jsa" in (process / "maps").read_text() else "as ever")
    except OSError:
        pass
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandaloneCluster]:
    """A cluster whose user has a cache of the test's own, with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    (tmp_path / "cluster").mkdir()
    started = StandaloneCluster(tmp_path / "cluster")
    yield started
    started.close()


def run(cluster: StandaloneCluster, folder: Path, switch: str = "use") -> list[str]:
    """What the program says: which PySpark slots have, and of each executor, what it has started from."""
    (folder / "job.py").write_text(PROGRAM)
    # A driver on another host has another cache; this one has none.
    environ = {**os.environ, "XDG_CACHE_HOME": "/proc/none", "FUNKE_CLASS_ARCHIVE": switch}
    command = [sys.executable, "job.py", cluster.url]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_executors_start_from_the_archive_of_their_host(cluster: StandaloneCluster, tmp_path: Path) -> None:
    import pyspark

    work_folders = [cluster.folder / f"worker-{number}" for number in range(2)]
    archives = [folder / "funke-classes.jsa" for folder in work_folders]
    assert run(cluster, tmp_path, "on") == [pyspark.__file__, "as ever", "as ever"]
    # After the job its host makes an archive, and the next job there provides it.
    wait_until(lambda: bool(list(tmp_path.glob("cache/funke/classes-*.json"))), 300)
    assert run(cluster, tmp_path) == [pyspark.__file__, "as ever", "as ever"]
    assert all(archive.exists() for archive in archives)
    assert run(cluster, tmp_path) == [pyspark.__file__, "from an archive", "from an archive"]
    # Whatever else is there does no harm.
    for archive in archives:
        archive.unlink()
        archive.write_bytes(b"nonsense" * 1000)
    for folder in work_folders:
        folder.chmod(0o777)  # so that it is not mended
    assert run(cluster, tmp_path) == [pyspark.__file__, "as ever", "as ever"]
    assert all(archive.read_bytes().startswith(b"nonsense") for archive in archives)
