"""A real Spark standalone cluster on loopback: one master, two workers, slots on both, TLS between hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.certificates import PASSWORD, Authority
from tests.harness.standalone_cluster import StandaloneCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.timeout(480)]

PROGRAM = """
import json, os, sys
from pyflink.common import Configuration, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from funke.engine.trust.tls_socket import TlsSocket

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

handshakes = []
shake_hands = TlsSocket.do_handshake

def shake_hands_and_tell(connection):
    shake_hands(connection)
    handshakes.append(connection.version())

TlsSocket.do_handshake = shake_hands_and_tell
config = Configuration()
for key, value in json.loads(sys.argv[4]).items():
    config.set_string(key, value)
config.set_string("spark.master", sys.argv[1])
config.set_string("spark.executor.memory", "512m")
config.set_string("spark.executor.cores", "1")
config.set_string("spark.scheduler.maxRegisteredResourcesWaitingTime", "200s")
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(2)
env.register_cached_file(sys.argv[2], "table")
env.register_cached_file(sys.argv[3], "folder")
words = [f"word-{number % 20}" for number in range(1000)]
with env.from_collection(words).key_by(lambda word: word).process(Count()).execute_and_collect() as results:
    print(json.dumps([list(results), handshakes]))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master's URL of a cluster with two one-core workers."""
    started = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    yield started.url
    started.close()


@pytest.fixture(scope="module")
def run(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[str], str]:
    """What came of a job under TLS: its results, the driver's handshakes, and what it said."""
    folder = tmp_path_factory.mktemp("job")
    program = folder / "job.py"
    program.write_text(PROGRAM)
    (folder / "table.txt").write_text("rows, ")
    (folder / "folder" / "inner").mkdir(parents=True)
    (folder / "folder" / "inner" / "part.txt").write_text("a part")
    arguments = [cluster, str(folder / "table.txt"), str(folder / "folder"), json.dumps(tls_options(folder))]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-m", "funke", str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results, handshakes = json.loads(done.stdout.strip().splitlines()[-1])
    return results, handshakes, done.stdout + done.stderr


def tls_options(folder: Path) -> dict[str, str]:
    authority = Authority()
    (folder / "keys.p12").write_bytes(authority.issue().to_pkcs12())
    (folder / "trusted.p12").write_bytes(authority.to_pkcs12())
    return {
        "security.ssl.internal.enabled": "true",
        "security.ssl.internal.keystore": str(folder / "keys.p12"),
        "security.ssl.internal.keystore-password": PASSWORD,
        "security.ssl.internal.key-password": PASSWORD,
        "security.ssl.internal.truststore": str(folder / "trusted.p12"),
        "security.ssl.internal.truststore-password": PASSWORD,
    }


def test_a_keyed_job_runs_with_slots_on_both_workers(run: tuple[list[Any], list[str], str]) -> None:
    results, _, _ = run
    finals = {word: count for word, count, *_ in results}
    assert finals == {f"word-{number}": 50 for number in range(20)}
    assert len({folder for _, _, _, folder, _ in results}) == 2, "slots on both workers"
    assert {subtask for _, _, subtask, *_ in results} == {0, 1}
    assert {cached for *_, cached in results} == {"rows, a part"}


def test_slots_reach_the_driver_under_tls(run: tuple[list[Any], list[str], str]) -> None:
    _, handshakes, said = run
    assert handshakes == ["TLSv1.2"] * 2, "both slots"
    assert PASSWORD not in said
