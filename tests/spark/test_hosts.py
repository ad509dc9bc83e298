"""A cluster of hosts, each with its own address: slots meet, share cores, and are told why they cannot."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.host_cluster import HostCluster
from tests.harness.hosts import HostsUnavailableError, await_reached
from tools import soak_job

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.timeout(480),
    pytest.mark.skipif("FUNKE_TEST_HOSTS" not in os.environ, reason="takes minutes; set FUNKE_TEST_HOSTS=1 to run it"),
]

COUNTS = """
import json, socket
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.subtask = context.get_index_of_this_subtask()
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count, self.subtask, socket.gethostname()

env = StreamExecutionEnvironment.get_execution_environment()
words = [f"word-{number % 20}" for number in range(1000)]
with env.from_collection(words).key_by(lambda word: word).process(Count()).execute_and_collect() as results:
    print(json.dumps(list(results)))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostCluster]:
    """Two workers of two cores; what a test breaks, it mends."""
    try:
        started = HostCluster(tmp_path_factory.mktemp("hosts"))
    except HostsUnavailableError as reason:
        pytest.skip(str(reason))
    yield started
    started.close()


def test_slots_of_several_hosts_meet_and_fill_the_cores(cluster: HostCluster) -> None:
    done = cluster.run(cluster.program("counts.py", COUNTS), **{"parallelism.default": "4"})
    assert done.returncode == 0, done.stderr + cluster.log.read_text()
    results = json.loads(done.stdout.splitlines()[-1])
    assert {word: count for word, count, *_ in results} == {f"word-{number}": 50 for number in range(20)}
    assert {(subtask, host) for *_, subtask, host in results}
    assert {subtask for *_, subtask, _ in results} == {0, 1, 2, 3}
    assert {host for *_, host in results} == {"worker1", "worker2"}


def test_a_job_without_room_learns_what_the_workers_have(cluster: HostCluster) -> None:
    program = cluster.program("counts.py", COUNTS)
    # More memory than any worker has.
    options = {"spark.executor.memory": "8g", "slot.request.timeout": "1 s", "parallelism.default": "1"}
    done = cluster.run(program, **options)
    assert done.returncode == 1
    assert "no room for the job's 1 slots within 1 s (slot.request.timeout)" in done.stderr
    assert "an executor takes all cores of a worker and 8g of memory" in done.stderr
    assert "2 cores and 2048 MB, 2 cores and 2048 MB" in done.stderr


def test_a_driver_on_loopback_is_rejected(cluster: HostCluster) -> None:
    done = cluster.run(cluster.program("counts.py", COUNTS), **{"spark.driver.host": "127.0.0.1"})
    assert "the driver's address 127.0.0.1 resolves to another host for the executors on master:7077" in done.stderr


@dataclass
class StreamingJob:
    """A job that goes on until it is stopped; what it has written must be there once."""

    cluster: HostCluster
    process: subprocess.Popen[bytes]
    log: Path
    output: Path
    home: str

    @classmethod
    def start(cls, cluster: HostCluster, folder: Path, **options: str) -> StreamingJob:
        settings = {
            "parallelism.default": "2",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "execution.checkpointing.interval": "300 ms",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "100 ms",
            "heartbeat.interval": "1 s",
            # When Spark gives up a host that says nothing.
            "spark.network.timeout": "15s",
            "spark.network.timeoutInterval": "2s",
            "spark.executor.heartbeatInterval": "2s",
            **options,
        }
        log, output = folder / "log.txt", folder / "out"
        arguments = [str(output), "1000000", "200/second"]
        # A record that no other job's stands beside.
        home = f"FUNKE_HOME={folder}/home"
        command = cluster.command(soak_job.__file__, arguments, settings)
        job = cls(cluster, cluster.client.start(log, "env", home, *command), log, output, home)
        job.await_progress()
        return job

    @property
    def restarts(self) -> int:
        return self.log.read_text().count("restarting the job")

    def await_progress(self) -> float:
        """Waits until something is committed that was not; returns how many seconds that took."""
        begin, before = time.monotonic(), soak_job.committed(self.output).total()
        goes_on = lambda: soak_job.committed(self.output).total() > before or self.process.poll() is not None  # noqa: E731
        await_reached(goes_on, 150, "the job commits")
        assert self.process.poll() is None, self.log.read_text()
        return time.monotonic() - begin

    def await_restart(self, before: int) -> float:
        begin = time.monotonic()
        await_reached(lambda: self.restarts > before, 120, "the job restarts")
        self.await_progress()
        return time.monotonic() - begin

    def stop(self) -> None:
        """Ends it with a savepoint, so that all that it has read is written."""
        (record,) = (self.output.parent / "home" / "jobs").iterdir()
        stop = self.cluster.funke("stop", "-p", str(self.output.parent), record.name)
        done = self.cluster.client.run("env", self.home, *stop)
        assert done.returncode == 0, done.stderr + self.log.read_text()
        assert self.process.wait(60) == 0, self.log.read_text()

    def require_exact(self) -> None:
        """Totals of a key count from one without a gap, and nothing is there twice."""
        lines = soak_job.committed(self.output)
        assert set(lines.values()) == {1}
        totals = Counter(line.split()[1] for line in lines if line.startswith("total"))
        assert len(totals) == soak_job.KEYS
        assert all(f"total {key} {number}" in lines for key, count in totals.items() for number in range(1, count + 1))


def test_a_job_outlives_partitions_its_executors_its_master_and_a_host(cluster: HostCluster) -> None:
    folder = cluster.shared / "faults"
    folder.mkdir()
    first, second = cluster.workers
    # The timeout is shorter than usual, and so are the partitions.
    job = StreamingJob.start(cluster, folder, **{"heartbeat.timeout": "6 s"})
    with cluster.network.apart(first.name, second.name):
        time.sleep(2)  # a partition lasts
    job.await_progress()
    assert job.restarts == 0, job.log.read_text()
    with cluster.network.apart(first.name, second.name):
        await_reached(lambda: job.restarts > 0, 60, "the partition is noticed")
    job.await_progress()
    assert job.restarts == 1, job.log.read_text()
    assert first.kill("CoarseGrainedExecutorBackend") == 1
    print("executor killed:", job.await_restart(1))
    # A master without its state does not know the application: workers that come back to it end its executors.
    before = job.restarts
    assert cluster.network["master"].kill("master.Master") > 0
    cluster.start_master()
    print("master restarted:", job.await_restart(before))
    before = job.restarts
    with cluster.network.unplugged(second.name):
        print("host gone:", job.await_restart(before))
        job.stop()
    job.require_exact()
    cluster.await_workers()


def test_a_job_outlives_a_partition_in_one_direction_and_a_slow_link(cluster: HostCluster) -> None:
    folder = cluster.shared / "links"
    folder.mkdir()
    first, second = cluster.workers
    job = StreamingJob.start(cluster, folder, **{"heartbeat.timeout": "6 s"})
    with cluster.network.muted(first.name, second.name):
        time.sleep(2)  # a partition lasts
    job.await_progress()
    assert job.restarts == 0, job.log.read_text()
    with cluster.network.muted(first.name, second.name):
        await_reached(lambda: job.restarts > 0, 60, "the partition is noticed")
    job.await_progress()
    assert job.restarts == 1, job.log.read_text()
    # What is sent waits, and a part of it is lost and sent again.
    with cluster.network.slowed(second.name, "1mbit", longest_ms=200):
        job.await_progress()
        job.await_progress()
        assert job.restarts == 1, job.log.read_text()
    job.stop()
    job.require_exact()


SLOT_HOSTS = """
import os, socket, sys, time
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import MapFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

class Tell(MapFunction):
    def __init__(self, path):
        self.path = path

    def open(self, context):
        place = f"{context.get_attempt_number()} {context.get_index_of_this_subtask()} {socket.gethostname()}"
        with open(self.path, "a") as places:
            places.write(place + chr(10))

    def map(self, value):
        time.sleep(0.1)
        return value

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(NumberSequenceSource(0, 1000000), WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(Tell(sys.argv[1])).print()
env.execute()
"""


def test_slots_return_to_the_hosts_with_their_state(cluster: HostCluster) -> None:
    folder = cluster.shared / "places"
    folder.mkdir()
    lines = folder / "slot-hosts"
    options = {
        "parallelism.default": "4",
        "execution.checkpointing.interval": "300 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.state-recovery.from-local": "true",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }
    command = cluster.command(cluster.program("slot_hosts.py", SLOT_HOSTS), [str(lines)], options)
    process = cluster.client.start(folder / "log.txt", "env", f"FUNKE_HOME={folder}/home", *command)

    def started_slots() -> list[list[str]]:
        return [line.split() for line in lines.read_text().splitlines()] if lines.exists() else []

    try:
        await_reached(lambda: len(started_slots()) == 4, 150, "the slots start")
        await_reached(lambda: list((folder / "checkpoints").glob("*/chk-[1-9]*/_metadata")), 60, "a checkpoint")
        assert cluster.workers[1].kill("funke-slot") > 0
        await_reached(lambda: len(started_slots()) == 8, 150, "the slots start again")
    finally:
        cluster.client.kill("slot_hosts.py")
        process.wait(60)
    hosts = [
        {subtask: host for attempt, subtask, host in started_slots() if attempt == number} for number in ("0", "1")
    ]
    assert len(set(hosts[0].values())) == 2 and hosts[0] == hosts[1]


FILES = """
import json, os, sys
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment

def look(value):
    import in_a_file, in_a_folder, compiled
    from compiled import _queue
    archives = [open(f"{name}/text").read() for name in ("first", "second")]
    # The second one is that of Spark's workers, from which slots have inherited it.
    return in_a_file.NAME, in_a_folder.NAME, type(_queue).__name__, *archives, os.environ.get("PYTHON_OF")

env = StreamExecutionEnvironment.get_execution_environment()
folder = sys.argv[1]
env.add_python_file(f"{folder}/in_a_file.py")
env.add_python_file(f"{folder}/modules")
env.set_python_requirements(f"{folder}/requirements.txt", f"{folder}/wheels")
for name in ("first", "second"):
    env.add_python_archive(f"{folder}/{name}/data.zip", name)
with env.from_collection([0]).map(look).execute_and_collect() as results:
    print(json.dumps(list(results)))
"""


def write_files(folder: Path) -> None:
    """A module, a folder of modules, a wheel with a compiled extension, and two archives of one name."""
    (folder / "modules").mkdir(parents=True)
    (folder / "in_a_file.py").write_text("NAME = 'a file'")
    (folder / "modules" / "in_a_folder.py").write_text("NAME = 'a folder'")
    for name in ("first", "second"):
        (folder / name).mkdir()
        with zipfile.ZipFile(folder / name / "data.zip", "w") as archive:
            archive.writestr("text", f"the {name}")
    (folder / "wheels").mkdir()
    (folder / "requirements.txt").write_text("compiled==1.0\n")
    extension = Path(str(getattr(importlib.util.find_spec("_queue"), "origin", None)))
    about = "compiled-1.0.dist-info"
    with zipfile.ZipFile(folder / "wheels" / "compiled-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("compiled/__init__.py", "")
        wheel.write(extension, f"compiled/{extension.name}")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: compiled\nVersion: 1.0\n")
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")


def test_files_of_all_kinds_reach_workers_and_the_interpreter_is_chosen(cluster: HostCluster) -> None:
    # Only the driver's host has the files; the interpreter is where all hosts see it.
    write_files(cluster.client.tmp / "files")
    python = cluster.shared / "python"
    python.write_text(f'#!/bin/sh\nPYTHON_OF=tests exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    # Two slots share one core.
    options = {"spark.pyspark.python": str(python), "parallelism.default": "2", "spark.cores.max": "1"}
    done = cluster.run(cluster.program("files.py", FILES), "/tmp/files", **options)
    assert done.returncode == 0, done.stderr
    (results,) = json.loads(done.stdout.splitlines()[-1])
    assert results == ["a file", "a folder", "module", "the first", "the second", "tests"]


READS = """
import sys
from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat

env = StreamExecutionEnvironment.get_execution_environment()
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1]).build()
env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").print()
env.execute()
"""


def test_a_path_that_other_hosts_do_not_see_is_reported_before_the_job_runs(cluster: HostCluster) -> None:
    # Each host has a `/tmp` of its own.
    (cluster.client.tmp / "lines").write_text("one line")
    done = cluster.run(cluster.program("reads.py", READS), "/tmp/lines")
    assert done.returncode == 1
    message = r"the path of source '.*lines' '/tmp/lines' is on host 'client', and host 'worker[12]' does not see it"
    assert re.search(message, done.stderr), done.stderr
    options = {"execution.checkpointing.interval": "1 s", "execution.checkpointing.dir": "/tmp/checkpoints"}
    done = cluster.run(cluster.program("counts.py", COUNTS), **options)
    message = (
        r"the checkpoint folder \(execution.checkpointing.dir\) '/tmp/checkpoints/.*' is on host 'client', and host"
    )
    assert re.search(message, done.stderr), done.stderr
    assert not list((cluster.client.tmp / "checkpoints").rglob(".funke-probe*"))
