"""A crash is a value here: at a named step of an epoch somebody is killed, and the committed output is what it must be.

Slots and Spark's workers are killed under jobs that share one Spark session. Spark's own process and the driver take a
program of their own; `make soak FAULTS=1` runs every step with every victim.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.common import Configuration
from funke.datastream import StreamExecutionEnvironment
from funke.engine.jobs.attempts.epoch_sizer import EpochSizer
from funke.engine.runtime.fault_points import POINTS, arm
from funke.engine.runtime.slots.process_ties import children_of
from tools import soak_job
from tools.crash_cases import FULL_MATRIX, ONCE, run_case

pytestmark = [pytest.mark.spark, pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")]

RECORDS = 1200
# However slow the machine, there are twelve checkpoints to crash in.
PACE = "100/checkpoint"


@pytest.fixture(autouse=True)
def functions_by_value() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(soak_job)
    yield
    cloudpickle.unregister_pickle_by_value(soak_job)
    arm(None)


def start(folder: Path, **options: str) -> Any:
    """Starts the job and returns its client."""
    configuration = Configuration()
    settings = {
        "execution.checkpointing.interval": "100 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "5",
        "restart-strategy.fixed-delay.delay": "50 ms",
        **options,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    soak_job.build(env, str(folder / "out"), RECORDS, PACE)
    return env.execute_async("soak")


def workers() -> list[int]:
    """Spark's Python workers below this process: children of a daemon."""
    from pyspark import SparkContext

    jvm = SparkContext._gateway.proc.pid  # type: ignore[union-attr]
    daemons = [pid for pid, parent in parents().items() if parent == jvm]
    return [pid for pid, parent in parents().items() if parent in daemons]


def parents() -> dict[int, int]:
    parent_of = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent_of[int(entry.parent.name)] = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return parent_of


def addresses_of(client: Any) -> dict[int, Any]:
    """Where the slots are that run now."""
    runner = client._job._attempts.runner
    # A copy: the next attempt's slots may be added meanwhile.
    return {} if runner is None else dict(runner.addresses)


def wait_for_mark(folder: Path, client: Any) -> None:
    end = time.monotonic() + 40
    while not (
        folder.is_dir()
        and any("." in path.name for path in folder.iterdir())
        and client._job._attempts.runner.addresses
    ):
        assert time.monotonic() < end and not client.get_job_status().result().is_terminal_state(), "never reached"
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("point", "victim"),
    [
        *((point, "slot") for point in FULL_MATRIX[0] if point not in ("before-reading", "after-final-metadata")),
        *((point, "worker") for point in ("before-reading", "after-reading", "between-blocks")),
    ],
)
def test_somebody_dies_at_a_step(spark: Any, tmp_path: Path, point: str, victim: str) -> None:
    somebody_dies(tmp_path, point, victim)


@pytest.mark.parametrize("point", ["after-barrier", "in-snapshot"])
def test_a_slot_dies_where_its_barrier_overtakes(spark: Any, tmp_path: Path, point: str) -> None:
    somebody_dies(tmp_path, point, "slot", **{"execution.checkpointing.unaligned": "true"})


def somebody_dies(tmp_path: Path, point: str, victim: str, **options: str) -> None:
    marks = tmp_path / "marks"
    exchange = "blocking" if point == "after-epoch" else "pipelined"
    fault = f"{point}:{1 if point in ONCE else 2}:hold@{marks}"
    client = start(tmp_path, **{"funke.fault": fault, "funke.exchange": exchange, **options})
    wait_for_mark(marks, client)
    slots = [pid for address in addresses_of(client).values() for pid in children_of(address.pid)]
    for pid in workers() if victim == "worker" else slots[:1]:
        os.kill(pid, signal.SIGKILL)
    (marks / "go").touch()
    client.get_job_execution_result().result()
    assert soak_job.committed(tmp_path / "out") == soak_job.expected(RECORDS)
    assert client.get_metrics()["numRestarts"] >= 1


def test_a_slot_dies_while_its_state_is_restored(spark: Any, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    client = start(tmp_path, **{"funke.fault": f"after-metadata:2:raise@{marks},restore:1:kill@{marks}"})
    client.get_job_execution_result().result()
    assert soak_job.committed(tmp_path / "out") == soak_job.expected(RECORDS)
    assert client.get_metrics()["numRestarts"] >= 2


@pytest.mark.parametrize("seed", [1, 2])
def test_epochs_end_anywhere_and_fail_often(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    deadlines = property(lambda _: chance.choice([0, 20, 100, 300, 1000]))
    monkeypatch.setattr(EpochSizer, "deadline_ms", deadlines)
    times = chance.sample(range(1, 6), 3)
    plan = ",".join(f"after-commits:{number}:raise@{tmp_path / 'marks'}" for number in times)
    often = {"execution.checkpointing.interval": "50 ms", "funke.exchange": "blocking"}
    client = start(tmp_path, **{"funke.fault": plan, **often})
    client.get_job_execution_result().result()
    assert soak_job.committed(tmp_path / "out") == soak_job.expected(RECORDS)


def test_without_faults_the_output_is_what_is_expected(spark: Any, tmp_path: Path) -> None:
    start(tmp_path).get_job_execution_result().result()
    assert soak_job.committed(tmp_path / "out") == soak_job.expected(RECORDS)


@pytest.mark.slow
@pytest.mark.timeout(480)
@pytest.mark.parametrize(
    ("point", "victim"),
    [
        ("between-commits", "driver"),
        ("after-final-metadata", "driver"),
        ("in-snapshot", "driver"),
        ("before-metadata", "executor"),
    ],
)
def test_a_whole_driver_or_spark_dies_at_a_step(tmp_path: Path, point: str, victim: Any) -> None:
    assert run_case(tmp_path, point, victim) is None


def test_every_step_is_tried() -> None:
    assert set(POINTS) - set(FULL_MATRIX[0]) == {"restore"}
