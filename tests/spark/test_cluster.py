"""A real Spark standalone cluster on loopback: one master, two workers, slots on both."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count, self.subtask, os.getcwd()

config = Configuration()
config.set_string("spark.master", sys.argv[1])
config.set_string("spark.executor.memory", "512m")
config.set_string("spark.executor.cores", "1")
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(2)
words = [f"word-{number % 20}" for number in range(1000)]
with env.from_collection(words).key_by(lambda word: word).process(Count()).execute_and_collect() as results:
    print(json.dumps(list(results)))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on {port}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master's URL of a cluster with two one-core workers."""
    import pyspark

    home = Path(pyspark.__file__).parent
    folder = tmp_path_factory.mktemp("cluster")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_LOG_DIR": str(folder)}
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    log = (folder / "daemons.txt").open("w")
    running = []

    def start(*arguments: str) -> None:
        command = [str(home / "bin" / "spark-class"), *arguments]
        running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))

    package = "org.apache.spark.deploy"
    ui = str(free_port())
    start(f"{package}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", ui)
    wait_for_port(port)
    for number in range(2):
        work = str(folder / f"worker-{number}")
        worker = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
        start(f"{package}.worker.Worker", *worker, "--work-dir", work, url)
    yield url
    for process in running:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def test_a_keyed_job_runs_with_slots_on_both_workers(cluster: str, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-m", "funke", str(program), cluster],
        capture_output=True,
        text=True,
        timeout=110,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    import json

    results = json.loads(done.stdout.strip().splitlines()[-1])
    finals = {word: count for word, count, _, _ in results}
    assert finals == {f"word-{number}": 50 for number in range(20)}
    assert len({folder for _, _, _, folder in results}) == 2, "slots on both workers"
    assert {subtask for _, _, subtask, _ in results} == {0, 1}
