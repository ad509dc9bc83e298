"""A part of a job that is not connected with the others fails and restarts alone; the others go on."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.discard import DiscardingSink
from funke.datastream.state import ValueStateDescriptor
from funke.engine.jobs.attempts import region_failover
from funke.table import EnvironmentSettings, StreamTableEnvironment
from tests.harness.exact_files import committed, sink, wait_until
from tools import soak_job
from tools.killable_job import KillableJob

pytestmark = pytest.mark.spark

PROGRAM = Path(__file__).parent / "programs" / "regions_job.py"
RECORDS = 600
KEYS = 7


class CountPerKey(KeyedProcessFunction):
    """Counts, and leaves a file that names its process, its subtask and its attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def open(self, runtime_context: RuntimeContext) -> None:
        attempt, subtask = runtime_context.get_attempt_number(), runtime_context.get_index_of_this_subtask()
        Path(self.folder, f"{attempt}-{subtask}-{os.getpid()}").touch()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS}:{count}"


def expected() -> Counter[str]:
    counts: Counter[int] = Counter()
    lines: Counter[str] = Counter()
    for value in range(RECORDS):
        counts[value % KEYS] += 1
        lines[f"{value % KEYS}:{counts[value % KEYS]}"] += 1
    return lines


class TwoRegions:
    """A job of two pipelines that share nothing; each in a folder of its own."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        configuration = Configuration()
        own_settings = {
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
            "restart-strategy.fixed-delay.delay": "100 ms",
            **{key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()},
        }
        for key, value in own_settings.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        env.enable_checkpointing(300)
        for name in ("left", "right"):
            (folder / name).mkdir(parents=True)
            rate = RateLimiterStrategy.per_checkpoint(RECORDS // 6)
            source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
            numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), f"{name} numbers")
            counted = numbers.key_by(lambda number: number % KEYS).process(CountPerKey(folder / name), Types.STRING())
            counted.name(f"{name} counts").sink_to(sink(folder / f"{name}-out"))
        self.client = env.execute_async("regions")

    def slots(self, name: str) -> list[tuple[int, int, int]]:
        """Attempt, subtask and process of each counting subtask that has been opened, in order."""
        result = (each.name.split("-") for each in (self.folder / name).iterdir())
        return sorted((int(attempt), int(subtask), int(pid)) for attempt, subtask, pid in result)

    def kill(self, name: str, attempt: int = 0) -> None:
        """Kills the process of a slot of a pipeline."""
        os.kill(next(pid for each, _, pid in self.slots(name) if each == attempt), signal.SIGKILL)

    def await_checkpoint(self) -> None:
        wait_until(lambda: list((self.folder / "checkpoints").rglob("_metadata")))

    def attempts(self, name: str) -> set[int]:
        """The attempts that subtasks of a pipeline have come to."""
        return {each.attempt for each in self.client.get_executions() if name in each.name}

    def require_exact(self) -> None:
        for name in ("left", "right"):
            assert committed(self.folder / f"{name}-out") == expected(), name


@pytest.mark.parametrize("victim", ["left", "right"])
def test_a_region_restarts_alone(spark: Any, tmp_path: Path, victim: str) -> None:
    job = TwoRegions(tmp_path)
    other = "right" if victim == "left" else "left"
    job.await_checkpoint()
    job.kill(victim)
    job.client.get_job_execution_result().result()
    assert (job.attempts(victim), job.attempts(other)) == ({1}, {0})
    assert len(job.slots(other)) == 2, "its functions were opened once in each of its slots"
    states = ["CREATED", "RUNNING", "RESTARTING", "RUNNING", "FINISHED"]
    assert [status.name for status, _ in job.client._job.status_history()] == states
    assert job.client.get_metrics()["numRestarts"] == 1
    job.require_exact()


ROCKSDB = {"state__backend__type": "rocksdb", "execution__checkpointing__incremental": "true"}
UNALIGNED = {"execution__checkpointing__unaligned": "true"}


@pytest.mark.parametrize(
    ("point", "settings"),
    [
        ("after-barrier:4", {}),
        ("after-barrier:3", {**ROCKSDB, **UNALIGNED}),
        ("before-snapshot:2", UNALIGNED),
        ("after-snapshot:3", ROCKSDB),
    ],
)
def test_a_slot_dies_in_a_checkpoint(spark: Any, tmp_path: Path, point: str, settings: dict[str, str]) -> None:
    job = TwoRegions(tmp_path, funke__fault=f"{point}:kill@{tmp_path / 'marks'}", **settings)
    job.client.get_job_execution_result().result()
    assert sorted([*job.attempts("left"), *job.attempts("right")]) == [0, 1]
    job.require_exact()


class Noted(MapFunction):
    """Adds a byte to a file for each record."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def map(self, value: int) -> int:
        with self.path.open("ab") as file:
            file.write(b".")
        return value


def test_sources_of_other_regions_do_not_wait_for_a_slot_that_dies_before_its_cut(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What else may have failed is waited for without end: the region stays away.
    monkeypatch.setattr(region_failover, "_OTHER_FAILURES_S", 3600.0)
    marks = tmp_path / "marks"
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    configuration.set_string("funke.fault", f"after-barrier:2:hold@{marks}")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.enable_checkpointing(300)
    for name in ("left", "right"):
        rate = RateLimiterStrategy.per_second(1000)
        source = DataGeneratorSource(lambda index: index, None, Types.LONG(), rate_limiter_strategy=rate)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), name)
        numbers.map(Noted(tmp_path / name)).sink_to(DiscardingSink())
    client = env.execute_async()
    wait_until(lambda: list(marks.glob("after-barrier-*.*")))
    (held,) = marks.glob("after-barrier-*.*")
    os.kill(int(held.name.rpartition(".")[2]), signal.SIGKILL)
    paths = [tmp_path / "left", tmp_path / "right"]
    read = [path.stat().st_size for path in paths]
    # More than can have been handed out before.
    wait_until(lambda: any(path.stat().st_size > size + 1000 for path, size in zip(paths, read, strict=True)))
    client.cancel().result()


def test_both_regions_fail_one_in_the_restart_of_the_other(spark: Any, tmp_path: Path) -> None:
    fault = f"restore:1:hold@{tmp_path / 'marks'}"
    job = TwoRegions(tmp_path, funke__fault=fault, **ROCKSDB)
    job.await_checkpoint()
    job.kill("left")
    wait_until(lambda: list((tmp_path / "marks").glob("restore-*.*")))
    (held,) = (tmp_path / "marks").glob("restore-*.*")
    job.kill("right")
    wait_until(lambda: 2 in job.attempts("right"))
    os.kill(int(held.name.rpartition(".")[2]), signal.SIGKILL)
    job.client.get_job_execution_result().result()
    assert (job.attempts("left"), job.attempts("right")) == ({3}, {2})
    job.require_exact()


def test_a_failure_of_all_regions_is_one_of_the_job(spark: Any, tmp_path: Path) -> None:
    job = TwoRegions(tmp_path)
    job.await_checkpoint()
    for name in ("left", "right"):
        job.kill(name)
    job.client.get_job_execution_result().result()
    assert job.attempts("left") == job.attempts("right") == {1}
    assert "FAILING" in [status.name for status, _ in job.client._job.status_history()]
    job.require_exact()


def test_statements_over_different_sources_are_regions(spark: Any, tmp_path: Path) -> None:
    configuration = Configuration()
    settings = {
        "execution.checkpointing.interval": "300 ms",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "100 ms",
        "parallelism.default": "2",
        "funke.fault": f"after-barrier:4:kill@{tmp_path / 'marks'}",
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    t_env = StreamTableEnvironment.create(
        StreamExecutionEnvironment.get_execution_environment(configuration), EnvironmentSettings.in_streaming_mode()
    )
    statements = t_env.create_statement_set()
    for name in ("left", "right"):
        t_env.execute_sql(f"""
            CREATE TABLE {name}_numbers (id BIGINT, pt AS PROCTIME()) WITH (
                'connector' = 'datagen', 'rows-per-second' = '200', 'fields.id.kind' = 'sequence',
                'fields.id.start' = '0', 'fields.id.end' = '{RECORDS - 1}'
            )""")
        t_env.execute_sql(f"""
            CREATE TABLE {name}_counts (g BIGINT, n BIGINT)
            WITH ('connector' = 'filesystem', 'path' = '{tmp_path / name}', 'format' = 'csv')""")
        g = f"MOD(id, {KEYS})"
        statements.add_insert_sql(
            f"INSERT INTO {name}_counts SELECT {g}, COUNT(*) OVER (PARTITION BY {g} ORDER BY pt) FROM {name}_numbers"
        )
    client = statements.execute().get_job_client()
    client.get_job_execution_result().result()
    attempts = Counter(each.attempt for each in client.get_executions())
    assert attempts.keys() == {0, 1} and attempts[0] == attempts[1]
    for name in ("left", "right"):
        assert Counter({line.replace(",", ":"): n for line, n in committed(tmp_path / name).items()}) == expected()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_the_driver_dies_while_a_region_restarts(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    faults = {"funke.fault": f"before-snapshot:2:kill@{marks},restore:1:hold@{marks}"}
    job = KillableJob(tmp_path / "job", 600, "150/checkpoint", faults, program=PROGRAM)
    try:
        job.start()
        wait_until(lambda: list(marks.glob("restore-*.*")))
        job.kill("driver")
        job.wait(10)
        job.recover()
        job.run_to_the_end(150)
    finally:
        job.close()
    for name in ("left", "right"):
        assert committed(job.output / name) == soak_job.expected(600)


def test_without_regions_all_of_the_job_restarts(spark: Any, tmp_path: Path) -> None:
    job = TwoRegions(tmp_path, jobmanager__execution__failover_strategy="full")
    job.await_checkpoint()
    job.kill("left")
    job.client.get_job_execution_result().result()
    assert job.attempts("left") == job.attempts("right") == {1}
    job.require_exact()
