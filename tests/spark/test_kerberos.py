"""HDFS that wants a login with Kerberos: a real KDC, a real HDFS, and a job that writes and keeps its state there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.hadoop_cluster import HadoopUnavailableError
from tests.harness.kerberos_hdfs import KerberosHdfs

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(480)]

PROGRAM = """
import sys
from pyflink.common import Encoder
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
sink = FileSink.for_row_format(sys.argv[1], Encoder.simple_string_encoder()).build()
env.from_collection(["one", "two"]).sink_to(sink)
env.execute()
"""


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosHdfs]:
    try:
        started = KerberosHdfs(tmp_path_factory.mktemp("kerberos"))
    except HadoopUnavailableError as reason:
        pytest.skip(str(reason))
    yield started
    started.close()


def run(hdfs: KerberosHdfs, folder: Path, options: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a job whose results and checkpoints are in HDFS."""
    (folder / "job.py").write_text(PROGRAM)
    settings = {
        **{f"spark.hadoop.{key}": value for key, value in hdfs.settings.items()},
        "spark.driver.extraJavaOptions": f"-Djava.security.krb5.conf={hdfs.krb5_conf}",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": f"{hdfs.address}/{folder.name}/checkpoints",
        **options,
    }
    command = [sys.executable, "-m", "funke", "run", *(f"-D{key}={value}" for key, value in settings.items())]
    return subprocess.run(
        [*command, "job.py", f"{hdfs.address}/{folder.name}/out"],
        cwd=folder,
        # Where all of Java finds the KDC; a machine has it in /etc/krb5.conf.
        env={**os.environ, "JDK_JAVA_OPTIONS": f"-Djava.security.krb5.conf={hdfs.krb5_conf}"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_a_job_logs_in_from_its_keytab(hdfs: KerberosHdfs, tmp_path: Path) -> None:
    keytab = hdfs.keytab("ann", "ann")
    login = {"spark.kerberos.principal": f"ann@{hdfs.realm}", "spark.kerberos.keytab": str(keytab)}
    done = run(hdfs, tmp_path, login)
    assert done.returncode == 0, done.stderr
    assert hdfs.owner(f"/{tmp_path.name}/out") == "ann"


def test_without_a_login_the_error_has_the_reason(hdfs: KerberosHdfs, tmp_path: Path) -> None:
    done = run(hdfs, tmp_path, {})
    assert done.returncode == 1
    assert "Client cannot authenticate via:[TOKEN, KERBEROS]" in done.stderr
