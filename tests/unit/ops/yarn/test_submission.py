"""What spark-submit is told about a program that runs on YARN with its driver."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.ops.cli.arguments import parse_program_call
from funke.ops.yarn.application import Application
from funke.ops.yarn.submission import Submission, run_on_yarn


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FUNKE_HOME", raising=False)
    (tmp_path / "orders.py").write_text("")
    (tmp_path / "submission").mkdir()
    return tmp_path / "orders.py"


def submitted(folder: Path, *arguments: str) -> tuple[list[str], dict[str, str], Application]:
    """The command, Spark's settings, and what runs in the container."""
    call = parse_program_call(["-t", "yarn-application", *arguments])
    command = Submission(Settings(call.options)).command(call, str(folder))
    lines = (folder / "spark.properties").read_text().splitlines()
    application = Application.from_text((folder / "funke-application.json").read_text())
    return command, dict(line.split("=", 1) for line in lines), application


def test_a_program_is_shipped_with_its_files_and_options(program: Path) -> None:
    folder = program.parent / "submission"
    (program.parent / "modules").mkdir()
    (program.parent / "modules" / "own.py").write_text("")
    (program.parent / "data.zip").write_text("")
    files = ["-pyfs", str(program.parent / "modules"), "-pyarch", f"{program.parent}/data.zip#data"]
    command, settings, application = submitted(folder, "-d", *files, "-Ds3.secret-key=hidden", str(program), "-x", "1")
    assert command[0].endswith("bin/spark-submit") and command[-1].endswith("container.py")
    assert "hidden" not in " ".join(command)
    assert (folder / "funke-application.json").stat().st_mode & 0o777 == 0o600
    assert (application.file, application.arguments) == ("orders.py", ("-x", "1"))
    assert application.options["python.files"] == "modules.zip" and application.options["s3.secret-key"] == "hidden"
    assert application.options["python.archives"] == "data.zip#data"
    assert settings["spark.master"] == "yarn" and settings["spark.submit.deployMode"] == "cluster"
    assert settings["spark.pyspark.python"] == sys.executable
    assert settings["spark.yarn.submit.waitAppCompletion"] == "false"
    shipped = dict(reversed(part.split("#")) for part in settings["spark.yarn.dist.files"].split(","))
    assert sorted(shipped) == ["data.zip", "funke-application.json", "modules.zip", "orders.py"]
    assert shipped["orders.py"] == str(program)
    package, name = settings["spark.yarn.dist.archives"].split("#")
    assert settings["spark.yarn.appMasterEnv.PYTHONPATH"] == f"{{{{PWD}}}}/{name}"
    assert "funke/ops/yarn/container.py" in zipfile.ZipFile(package).namelist()


def test_further_attempts_need_records_that_every_node_sees(program: Path) -> None:
    folder, home = program.parent / "submission", program.parent / "home"
    _, settings, application = submitted(folder, str(program))
    assert settings["spark.yarn.maxAppAttempts"] == "1" and application.home is None
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(ConfigurationError, match="maxAppAttempts=3 needs job records that every node sees"):
        submitted(folder, "-Dspark.yarn.maxAppAttempts=3", str(program))
    for path in folder.iterdir():
        path.unlink()
    _, settings, application = submitted(folder, f"-Dfunke.home={home}", str(program))
    assert "spark.yarn.maxAppAttempts" not in settings
    assert application.home is not None and application.home.path == str(home)
    assert Path(application.home.probe).parent == home and Path(application.home.probe).exists()


def test_settings_keep_backslashes_and_lines(program: Path) -> None:
    folder = program.parent / "submission"
    submitted(folder, "-Dspark.a=b=c\\d\ne", str(program))
    assert "spark.a=b=c\\\\d\\ne\n" in (folder / "spark.properties").read_text()


def test_what_cannot_be_shipped_is_said(program: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="only YARN starts drivers of Python programs"):
        run_on_yarn(
            parse_program_call(["-Dspark.master=spark://a:1", "-Dspark.submit.deployMode=cluster", str(program)])
        )
    with pytest.raises(ConfigurationError, match="there is no file 'missing"):
        submitted(program.parent / "submission", "missing.py")
    other = program.parent / "modules" / "orders.py"
    other.parent.mkdir()
    other.write_text("")
    with pytest.raises(ConfigurationError, match="have one name; a container has one folder"):
        submitted(program.parent / "submission", "-pyfs", str(other), str(program))
    with pytest.raises(UnsupportedFeatureError, match="a folder of packages beside requirements"):
        submitted(program.parent / "submission", "-pyreq", f"{program}#{program.parent}", str(program))


def test_an_application_is_read_as_it_was_written(program: Path) -> None:
    _, _, application = submitted(program.parent / "submission", "-p", "2", "-pym", "jobs.orders", "x")
    assert application.module == "jobs.orders" and application.file is None
    assert Application.from_text(json.dumps(json.loads(application.to_text()))) == application
