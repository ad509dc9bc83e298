"""Nothing outlives its job, process, socket or folder: not after success, failure, cancellation, Ctrl-C, or a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")]

HEAD = """
import time
from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)

def endless():
    source = DataGeneratorSource(lambda index: index, rate_limiter_strategy=RateLimiterStrategy.per_second(50))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return numbers.key_by(lambda number: number % 2).reduce(lambda a, b: a + b)
"""
SUCCESS = (
    HEAD + "env.from_collection([1, 2, 3]).key_by(lambda x: x).reduce(lambda a, b: a + b).print()\nenv.execute()\n"
)
FAILURE = HEAD + "env.from_collection([1, 0]).key_by(lambda x: x).map(lambda x: 1 // x).print()\nenv.execute()\n"
CANCEL = (
    HEAD
    + """
endless().print()
client = env.execute_async()
while client.get_metrics().get("records_read", 0) < 10:
    time.sleep(0.1)
client.cancel().result()
assert client.get_job_status().result().name == "CANCELED"
"""
)
ENDLESS = HEAD + "endless().print()\nenv.execute()\n"
# One function has started a process that wants to stay, and another keeps the interpreter for itself, so that no
# thread of its slot runs.
HELD = (
    HEAD
    + """
import ctypes, os, subprocess
from pyflink.datastream import MapFunction

class Holding(MapFunction):
    def open(self, runtime_context):
        self.child = subprocess.Popen(["sleep", "300"], start_new_session=True)

    def map(self, value):
        open(HELD, "w").close()
        ctypes.PyDLL(None).sleep(300)

HELD = os.path.abspath("held")
endless().map(Holding()).print()
client = env.execute_async()
while not os.path.exists(HELD):
    time.sleep(0.1)
client.cancel().result()
assert client.get_job_status().result().name == "CANCELED"
"""
)
# The workers that Spark's daemon has left behind are used on.
ORPHANS = (
    HEAD
    + """
import os, signal
from pathlib import Path
from pyspark import SparkContext

env.from_collection([1, 2, 3]).key_by(lambda x: x).reduce(lambda a, b: a + b).print()
env.execute()
from funke.engine.runtime.slots.process_ties import children_of
for pid in children_of(SparkContext._gateway.proc.pid):
    if "quiet_daemon" in Path(f"/proc/{pid}/cmdline").read_text():
        os.kill(pid, signal.SIGKILL)
print("killed", flush=True)
endless().print()
env.execute()
"""
)


def processes_with(mark: str) -> list[int]:
    """The processes that inherited the mark in their environment."""
    results = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    results.append(int(entry.name))
            except OSError:
                continue
    return results


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.2)
    return condition()


@pytest.fixture
def launch(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Starts a program as a user would, marked; ends it with the test whatever happens."""
    mark = f"FUNKE_MARK={uuid.uuid4()}"
    # Under /tmp: the address of a socket must not be long.
    temporary = Path(tempfile.mkdtemp(prefix="funke-test-"))
    started: list[subprocess.Popen[str]] = []

    def start(text: str) -> tuple[subprocess.Popen[str], str]:
        program = tmp_path / "job.py"
        program.write_text(text)
        name, value = mark.split("=")
        process = subprocess.Popen(
            [sys.executable, "-m", "funke", str(program)],
            env={**os.environ, name: value, "TMPDIR": str(temporary)},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process, mark

    yield start
    for process in started:
        process.kill()
        process.communicate()
    for pid in processes_with(mark):
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 30
    while (left := list(temporary.rglob("*"))) and time.monotonic() < end:
        time.sleep(0.1)
    shutil.rmtree(temporary)
    assert not left


@pytest.mark.parametrize(
    ("program", "code"),
    [(SUCCESS, 0), (FAILURE, 1), (CANCEL, 0), (HELD, 0)],
    ids=["success", "failure", "cancel", "cancel while a function holds the interpreter"],
)
def test_nothing_is_left_when_the_program_ends(launch, program: str, code: int) -> None:  # type: ignore[no-untyped-def]
    process, mark = launch(program)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == code, errors
    assert wait_until(lambda: not processes_with(mark), 10)


def test_nothing_is_left_after_ctrl_c(launch) -> None:  # type: ignore[no-untyped-def]
    process, mark = launch(ENDLESS)
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert wait_until(lambda: not processes_with(mark), 10)


def test_nothing_is_left_after_the_driver_is_killed(launch) -> None:  # type: ignore[no-untyped-def]
    process, mark = launch(ENDLESS)
    assert process.stdout.readline()
    process.kill()
    process.wait()
    assert wait_until(lambda: not processes_with(mark), 20)


def test_nothing_is_left_after_sparks_process_is_killed(launch) -> None:  # type: ignore[no-untyped-def]
    process, mark = launch(ENDLESS)
    assert process.stdout.readline()
    jvm = [pid for pid in processes_with(mark) if Path(f"/proc/{pid}/comm").read_text().strip() == "java"]
    os.kill(jvm[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("error: Spark: the connection to its process is lost")
    assert wait_until(lambda: not processes_with(mark), 10)


def test_slots_started_by_orphaned_workers_end_with_spark(launch) -> None:  # type: ignore[no-untyped-def]
    process, mark = launch(ORPHANS)
    while process.stdout.readline() != "killed\n":
        assert process.poll() is None, process.stderr.read()
    assert process.stdout.readline(), "the second job runs"
    process.kill()
    process.wait()
    assert wait_until(lambda: not processes_with(mark), 20)
