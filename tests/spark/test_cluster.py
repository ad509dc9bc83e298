"""A real Spark standalone cluster on loopback: one master, two workers, slots on both."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.standalone_cluster import StandaloneCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

PROGRAM = """
import json, os, sys
from pyflink.common import Configuration, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.subtask = context.get_index_of_this_subtask()
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        cache = context.get_distributed_cache()
        with open(cache.get_file("table")) as table, open(cache.get_file("folder") + "/inner/part.txt") as part:
            self.cached = table.read() + part.read()

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count, self.subtask, os.getcwd(), self.cached

config = Configuration()
config.set_string("spark.master", sys.argv[1])
config.set_string("spark.executor.memory", "512m")
config.set_string("spark.executor.cores", "1")
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(2)
env.register_cached_file(sys.argv[2], "table")
env.register_cached_file(sys.argv[3], "folder")
words = [f"word-{number % 20}" for number in range(1000)]
with env.from_collection(words).key_by(lambda word: word).process(Count()).execute_and_collect() as results:
    print(json.dumps(list(results)))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master's URL of a cluster with two one-core workers."""
    started = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    yield started.url
    started.close()


def test_a_keyed_job_runs_with_slots_on_both_workers(cluster: str, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(PROGRAM)
    (tmp_path / "table.txt").write_text("rows, ")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "part.txt").write_text("a part")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-m", "funke", str(program), cluster, str(tmp_path / "table.txt"), str(tmp_path / "folder")],
        capture_output=True,
        text=True,
        timeout=110,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    import json

    results = json.loads(done.stdout.strip().splitlines()[-1])
    finals = {word: count for word, count, *_ in results}
    assert finals == {f"word-{number}": 50 for number in range(20)}
    assert len({folder for _, _, _, folder, _ in results}) == 2, "slots on both workers"
    assert {subtask for _, _, subtask, *_ in results} == {0, 1}
    assert {cached for *_, cached in results} == {"rows, a part"}
