"""Jobs on YARN with HDFS: client and application mode; containers and application masters are killed.

Job records in HDFS are tested here as well, beside those of other stores: one cluster serves all.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.jobs.records.job_record import JobRecord
from tests.harness.hadoop_cluster import HadoopCluster, HadoopUnavailableError, wait_until
from tests.harness.store_cases import Storage, StoreCases
from tools import soak_job
from tools.killable_job import KillableJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
# In client mode the application master only asks for containers; in cluster mode it has the driver.
MASTER_OF_CLIENT = "org.apache.spark.deploy.yarn.ExecutorLauncher"
MASTER_WITH_DRIVER = "org.apache.spark.deploy.yarn.ApplicationMaster"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    try:
        started = HadoopCluster(tmp_path_factory.mktemp("hadoop"))
    except HadoopUnavailableError as reason:
        pytest.skip(str(reason))
    yield started
    started.close()


class TestRecordsInHdfs(StoreCases):
    @pytest.fixture
    def storage(self, cluster: HadoopCluster, tmp_path: Path) -> Storage:
        home = f"{cluster.hdfs}/homes/{tmp_path.name}"
        return Storage({"high-availability.storageDir": home, "funke.home": str(tmp_path / "local")})


PROGRAM = """
import json, os, sys
from pyflink.common import Encoder, WatermarkStrategy
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from pyspark import SparkContext

def look(line):
    import in_a_file
    with open("data/text") as text:
        return f"{line} {in_a_file.NAME} {text.read()}"

env = StreamExecutionEnvironment.get_execution_environment()
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1] + "/in").build()
sink = FileSink.for_row_format(sys.argv[1] + "/out", Encoder.simple_string_encoder()).build()
env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").map(look).sink_to(sink)
env.execute("first")
first = SparkContext.getOrCreate().applicationId
class Where(ProcessFunction):
    def open(self, context):
        self.subtask = context.get_index_of_this_subtask()

    def process_element(self, value, ctx):
        yield value, self.subtask, os.environ["CONTAINER_ID"]

# More slots than there are cores.
env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
with env.from_collection(range(90)).rebalance().process(Where()).execute_and_collect() as found:
    results = list(found)
print(json.dumps([first, SparkContext.getOrCreate().applicationId, results]))
"""


def test_jobs_of_a_program_share_an_application_and_files_are_shipped(cluster: HadoopCluster, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "in_a_file.py").write_text("NAME = 'a file'")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("text", "an archive")
    cluster.write("/files/in/lines", "one\ntwo\n")
    job = KillableJob(tmp_path / "job", 0, "", variables=cluster.environment)
    options = {
        **cluster.options,
        "taskmanager.numberOfTaskSlots": "1",
        "parallelism.default": "2",
        "python.files": str(tmp_path / "in_a_file.py"),
        "python.archives": f"{tmp_path / 'data.zip'}#data",
        "spark.pyspark.python": sys.executable,
    }
    flags = [f"-D{key}={value}" for key, value in options.items()]
    try:
        done = job.command("run", *flags, str(program), f"{cluster.hdfs}/files", seconds=300)
    finally:
        job.close()
    assert done.returncode == 0, done.stderr
    first, second, results = json.loads(done.stdout.splitlines()[-1])
    assert first == second == cluster.applications()[-1]["id"]
    assert sorted(number for number, *_ in results) == list(range(90))
    assert {subtask for _, subtask, _ in results} == {0, 1, 2}
    assert len({container for *_, container in results}) == 2
    assert sorted(cluster.lines("/files/out")) == ["one a file an archive", "two a file an archive"]
    assert cluster.applications()[-1]["finalStatus"] == "SUCCEEDED"


def soak(cluster: HadoopCluster, folder: Path, records: int, **options: str) -> KillableJob:
    """A job with one slot in each of two containers and checkpoints on HDFS."""
    own = {
        **cluster.options,
        "taskmanager.numberOfTaskSlots": "1",
        "execution.checkpointing.dir": f"hdfs:///checkpoints/{folder.name}",
        # State in files, however small: slots write and read them.
        "state.storage.fs.memory-threshold": "0",
        **{key.replace("__", "."): value for key, value in options.items()},
    }
    return KillableJob(folder, records, "400/second", own, variables=cluster.environment)


def running_job(cluster: HadoopCluster, job: KillableJob) -> tuple[JobRecord, str]:
    """The record of a job that has taken a checkpoint, and its application."""
    await_checkpoint(job, None)
    record = job.record()
    assert record is not None
    return record, str(cluster.applications()[-1]["id"])


def await_checkpoint(job: KillableJob, before: str | None) -> str:
    """Waits for another checkpoint than one that there was."""

    def newest() -> str | None:
        assert job.process is not None and job.process.poll() is None, job.log()
        record = job.record()
        return None if record is None else record.state().checkpoint

    wait_until(lambda: newest() not in (None, before), "the job takes a checkpoint")
    return str(newest())


def _restarts(job: KillableJob) -> int:
    return job.log().count("restarting the job")


def require(job: KillableJob, *command: str) -> str:
    done = job.command(*command, seconds=120)
    assert done.returncode == 0, done.stderr + job.log()
    return done.stdout


def test_a_job_outlives_a_container_and_its_application_master(cluster: HadoopCluster, tmp_path: Path) -> None:
    # YARN's limit is two attempts; what failed longer ago than this does not count.
    job = soak(cluster, tmp_path / "client", 1_000_000, spark__yarn__am__attemptFailuresValidityInterval="1s")
    job.start()
    try:
        record, application = running_job(cluster, job)
        assert record.job_id in require(job, "list") and cluster.attempts(application) == 1
        cluster.kill_container(application, EXECUTOR)
        wait_until(lambda: _restarts(job) == 1, "the job restarts")
        await_checkpoint(job, record.state().checkpoint)
        for attempt in (2, 3):
            cluster.kill_container(application, MASTER_OF_CLIENT)
            wait_until(lambda: cluster.attempts(application) == attempt, "YARN starts another application master")  # noqa: B023
            wait_until(lambda: _restarts(job) >= attempt, "the job restarts")  # noqa: B023
            await_checkpoint(job, record.state().checkpoint)
        assert "savepoint" in require(job, "savepoint", record.job_id, "hdfs:///savepoints/client")
        require(job, "stop", "-p", "hdfs:///savepoints/stopped", record.job_id)
        assert job.wait(60) == 0, job.log()
    finally:
        job.close()
    require_exact(job)
    assert len(cluster.names("/savepoints/client")) == len(cluster.names("/savepoints/stopped")) == 1
    assert cluster.applications()[-1]["finalStatus"] == "SUCCEEDED"


def test_the_driver_of_application_mode_is_started_again(cluster: HadoopCluster, tmp_path: Path) -> None:
    job = soak(cluster, tmp_path / "application", 1_000_000, spark__submit__deployMode="cluster")
    # The container has no folder in common with this process that anything would depend on.
    job.record_store = f"{cluster.hdfs}/records"
    job.start()
    try:
        record, application = running_job(cluster, job)
        first = record.owner()
        assert first is not None and record.job_id in require(job, "list")
        cluster.kill_container(application, MASTER_WITH_DRIVER)
        wait_until(lambda: cluster.attempts(application) == 2, "YARN starts the application master again")
        await_checkpoint(job, record.state().checkpoint)
        owner = record.owner()
        assert owner is not None and owner.is_alive and owner.attempt > first.attempt
        assert "savepoint" in require(job, "savepoint", record.job_id, "hdfs:///savepoints/application")
        require(job, "cancel", record.job_id)
        job.wait(120)
    finally:
        job.close()
    require_exact(job)


def require_exact(job: KillableJob) -> None:
    """Totals of a key count from one without a gap, and nothing is there twice."""
    lines = soak_job.committed(job.output)
    assert set(lines.values()) == {1}
    totals = Counter(line.split()[1] for line in lines if line.startswith("total"))
    assert len(totals) == soak_job.KEYS
    assert all(f"total {key} {number}" in lines for key, count in totals.items() for number in range(1, count + 1))
