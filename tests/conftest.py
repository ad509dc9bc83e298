"""One Spark session, one database and one Kafka broker for all tests, ended with the run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.harness.postgres_server import PostgresServer, find_binaries, running_postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from funke.engine.graph.stream_graph import StreamGraph
    from funke.engine.jobs.job import SubmittedJob
    from tests.harness.kafka_broker import KafkaBroker
    from tests.harness.mariadb_server import MariaDbServer

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# No limits of time for single examples: the machine may be busy with other things.
_CHECKS = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
settings.register_profile("funke", deadline=None, suppress_health_check=_CHECKS)
settings.load_profile("funke")
# Of everything that a run makes for all of its tests.
RUN_FOLDER = "FUNKE_TESTS_FOLDER"
_building: list[subprocess.Popen[bytes]] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="write what SQL cases give into their files")


def pytest_configure(config: pytest.Config) -> None:
    """Lets the programs of a long run start fast, from an archive of this run's own that is made meanwhile."""
    os.environ["FUNKE_CLASS_ARCHIVE"] = os.environ["FUNKE_KERNELS"] = "use"
    if hasattr(config, "workerinput"):  # the processes of pytest-xdist inherit it
        return
    os.environ[RUN_FOLDER] = tempfile.mkdtemp(prefix="funke-tests-")
    if config.getoption("numprocesses", None):
        os.environ["XDG_CACHE_HOME"] = os.environ[RUN_FOLDER]
        command = [sys.executable, "-c", "from funke.engine.runtime.starting.archive_build import build; build()"]
        quiet = subprocess.DEVNULL
        _building.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True))


def pytest_unconfigure(config: pytest.Config) -> None:
    for builder in _building:
        builder.send_signal(signal.SIGINT)  # so that it can tidy up
        builder.wait()
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[RUN_FOLDER], ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def records_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Jobs that tests run are not written down among the user's."""
    os.environ["FUNKE_HOME"] = str(tmp_path_factory.mktemp("funke-home"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The embedded session that jobs in tests share."""
    from funke.engine.runtime.spark.spark_session import spark_session

    session = spark_session({})
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def no_job_outlives_its_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a failed test has left running would meet the faults that the next one plans."""
    if request.node.get_closest_marker("spark") is None:
        yield
        return
    from funke.datastream import StreamExecutionEnvironment

    submit, jobs = StreamExecutionEnvironment._submit, []

    def noted(env: StreamExecutionEnvironment, graph: StreamGraph) -> SubmittedJob:
        jobs.append(submit(env, graph))
        return jobs[-1]

    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", noted)
    yield
    for job in jobs:
        if not job.result_future.done():
            job.cancel().result(60)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaBroker]:
    """The broker that all processes of a run share, or several runs, if FUNKE_TEST_BROKER names a folder for that."""
    from tests.harness.kafka_broker import BrokerUnavailableError, shared_broker

    with contextlib.ExitStack() as stack:
        try:
            folder = os.environ.get("FUNKE_TEST_BROKER") or os.path.join(os.environ[RUN_FOLDER], "kafka")
            broker = stack.enter_context(shared_broker(Path(folder)))
        except BrokerUnavailableError as reason:
            pytest.skip(str(reason))
        yield broker


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for the whole run; tests make tables of their own."""
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed; the development dependencies bring it")
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDbServer]:
    """A server for the whole run; tests make tables of their own."""
    from tests.harness.mariadb_server import ServerUnavailableError, running_mariadb

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(running_mariadb())
        except ServerUnavailableError as reason:
            pytest.skip(str(reason))
        yield server
