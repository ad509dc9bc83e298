"""What a job brings along for its workers: Python files, archives, requirements, an interpreter, jars."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration
from funke.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.engine.errors import ConfigurationError, FunkeError, SlotLostError
from tests.spark.job_running import collect, left_over_slots, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def module(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the driver gathers a job's files in this test."""
    folder = tmp_path / "staging"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def run(env: StreamExecutionEnvironment, function: Any) -> list[Any]:
    return collect(env.from_collection([1]).map(function))


def test_a_python_file_a_folder_and_a_zip(env: StreamExecutionEnvironment, tmp_path: Path, staging: Path) -> None:
    env.add_python_file(str(module(tmp_path, "job_file_one.py", "NAME = 'file'\n")))
    module(tmp_path / "folder", "job_deployment/__init__.py", "NAME = 'package'\n")
    env.add_python_file(str(tmp_path / "folder"))
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as archive:
        archive.writestr("job_zipped.py", "NAME = 'zipped'\n")
    env.add_python_file(str(tmp_path / "modules.zip"))

    def names(number: int) -> Any:
        import job_deployment
        import job_file_one
        import job_zipped

        return job_file_one.NAME, job_deployment.NAME, job_zipped.NAME

    assert run(env, names) == [("file", "package", "zipped")]
    assert wait_until(lambda: not list(staging.iterdir()), 5)


def test_jobs_one_after_the_other_see_their_own_file(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    def version(number: int) -> Any:
        import job_versioned

        return job_versioned.VERSION

    for number in (1, 2):
        path = module(tmp_path / str(number), "job_versioned.py", f"VERSION = {number}\n")
        other = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        other.add_python_file(str(path))
        assert run(other, version) == [number]


def test_an_archive_in_the_working_folder(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("model/weights.txt", "0.5")
    env.add_python_archive(str(tmp_path / "data.zip"), "mine")
    assert run(env, lambda number: Path("mine/model/weights.txt").read_text()) == ["0.5"]


def test_something_that_is_no_archive(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.add_python_archive(str(module(tmp_path, "data.csv", "1,2")))
    with pytest.raises(ConfigurationError, match=r"data\.csv"):
        run(env, abs)


@pytest.mark.parametrize("add", ["add_python_file", "add_python_archive", "set_python_requirements"])
def test_a_missing_file_is_rejected_before_the_job_starts(
    env: StreamExecutionEnvironment, staging: Path, add: str
) -> None:
    getattr(env, add)("/nowhere/absent.zip")
    with pytest.raises(ConfigurationError, match=r"absent\.zip"):
        run(env, abs)
    assert not list(staging.iterdir())


def wheel(folder: Path) -> Path:
    """A package as an index would serve it, made by hand."""
    folder.mkdir()
    path = folder / "job_wheel-1.0-py3-none-any.whl"
    info = "job_wheel-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("job_wheel.py", "NAME = 'installed'\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: job-wheel\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"job_wheel.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return folder


def test_requirements_from_a_folder_of_packages(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    requirements = module(tmp_path, "requirements.txt", "job-wheel==1.0\n")
    env.set_python_requirements(str(requirements), str(wheel(tmp_path / "packages")))

    def name(number: int) -> str:
        import job_wheel

        return str(job_wheel.NAME)

    assert run(env, name) == ["installed"]


def test_requirements_that_cannot_be_installed(env: StreamExecutionEnvironment, tmp_path: Path, staging: Path) -> None:
    requirements = module(tmp_path, "requirements.txt", "job-wheel==2.0\n")
    env.set_python_requirements(str(requirements), str(wheel(tmp_path / "packages")))
    with pytest.raises(ConfigurationError, match=r"requirements\.txt"):
        run(env, abs)
    assert not list(staging.iterdir())


def interpreter(folder: Path) -> Path:
    """An interpreter that can be told from all others by a variable of its processes."""
    path = module(folder, "python", f'#!/bin/sh\nJOB_INTERPRETER=mine exec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return path


def test_an_interpreter_for_functions(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = str(interpreter(tmp_path))
    env.set_python_executable(path)
    names = ("JOB_INTERPRETER", "python")
    assert run(env, lambda number: [os.environ.get(name) for name in names]) == [["mine", path]]


def test_local_time_of_functions_is_that_of_the_program(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    assert run(env, lambda number: str(datetime.datetime.fromtimestamp(0))) == ["1970-01-01 08:00:00"]


def test_an_interpreter_in_an_archive(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "venv.zip", "w") as archive:
        archive.write(interpreter(tmp_path), "bin/python")
    env.add_python_archive(str(tmp_path / "venv.zip"))
    env.set_python_executable("venv.zip/bin/python")
    assert run(env, lambda number: os.environ.get("JOB_INTERPRETER")) == ["mine"]


def test_an_interpreter_that_does_not_exist(env: StreamExecutionEnvironment) -> None:
    before = left_over_slots()
    env.set_python_executable("/nowhere/python")
    with pytest.raises(SlotLostError, match="/nowhere/python"):
        run(env, abs)
    assert wait_until(lambda: left_over_slots() <= before, 5)


def test_files_of_the_configuration(spark: Any, tmp_path: Path) -> None:
    config = Configuration()
    config.set_string("python.files", str(module(tmp_path, "job_configured.py", "NAME = 'configured'\n")))
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(1)

    def name(number: int) -> str:
        import job_configured

        return str(job_configured.NAME)

    assert run(env, name) == ["configured"]


def test_jars_are_given_to_spark(env: StreamExecutionEnvironment, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "extra.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    env.add_jars(path.as_uri())
    assert run(env, abs) == [1]
    assert any("extra.jar" in str(jar) for jar in [spark.sparkContext._jsc.sc().listJars()])


def test_a_missing_jar(env: StreamExecutionEnvironment) -> None:
    env.add_jars("file:///nowhere/absent.jar")
    with pytest.raises(FunkeError, match=r"absent\.jar"):
        run(env, abs)


class ReadsCachedFiles(MapFunction):
    """Reads what is registered when it is opened."""

    def open(self, runtime_context: RuntimeContext) -> None:
        cache = runtime_context.get_distributed_cache()
        self.table = Path(cache.get_file("table")).read_text()
        self.names = sorted(os.listdir(cache.get_file("folder")))
        self.output = subprocess.run([cache.get_file("program")], capture_output=True, text=True, check=True).stdout

    def map(self, value: int) -> Any:
        return self.table, self.names, self.output


def test_cached_files_folders_and_programs(env: StreamExecutionEnvironment, tmp_path: Path, staging: Path) -> None:
    env.register_cached_file(str(module(tmp_path, "table.csv", "1,2")), "table")
    module(tmp_path, "folder/one.txt", "1")
    module(tmp_path, "folder/two/three.txt", "3")
    env.register_cached_file(f"file://{tmp_path / 'folder'}", "folder")
    program = module(tmp_path, "program.sh", "#!/bin/sh\necho it runs\n")
    program.chmod(0o600)
    env.register_cached_file(str(program), "program", executable=True)
    assert run(env, ReadsCachedFiles()) == [("1,2", ["one.txt", "two"], "it runs\n")]
    assert wait_until(lambda: not list(staging.iterdir()), 5)


def test_a_cached_file_is_the_one_at_submission(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    class Table(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.path = runtime_context.get_distributed_cache().get_file("table")

        def map(self, value: int) -> Any:
            return Path(self.path).read_text(), os.path.basename(self.path)

    path = module(tmp_path, "table.csv", "old")
    env.register_cached_file(str(path), "table")
    stream = env.from_collection([1]).map(Table())
    with stream.execute_and_collect() as results:
        path.unlink()
        assert list(results) == [("old", "table.csv")]


def test_a_cached_file_that_is_missing_or_was_not_registered(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    class Unknown(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_distributed_cache().get_file("other")

        def map(self, value: int) -> int:
            return value

    env.register_cached_file(str(module(tmp_path, "table.csv", "1")), "table")
    with pytest.raises(FunkeError, match=r"no cached file 'other'.*registered: table"):
        run(env, Unknown())
    env.register_cached_file("/nowhere/absent.csv", "gone")
    with pytest.raises(ConfigurationError, match=r"absent\.csv.*registered as 'gone'"):
        run(env, abs)
