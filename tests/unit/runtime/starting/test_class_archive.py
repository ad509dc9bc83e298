"""Which archive of classes is taken, and which is not; how Spark's process is started from it. Java is played."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.runtime.starting import early_start
from funke.engine.runtime.starting.class_archive import (
    SWITCH,
    ClassArchive,
    Installation,
    find_archive,
    is_due,
    note_of,
    remember,
)
from funke.engine.runtime.starting.early_start import end_early, start_early, take_gateway
from funke.engine.runtime.starting.spark_process import SparkProcess, _spark_arguments
from funke.engine.trust.code_folder import code_folder
from tests.harness.stranger import give_away

OPTIONS = {"spark.master": "local[1]"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder whose parents nobody else may change, as in a home folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def archive_requests(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows when an archive is to be made at the end."""
    results: list[bool] = []
    monkeypatch.setattr(early_start, "build_at_exit", lambda: results.append(True))
    monkeypatch.setenv(SWITCH, "on")
    return results


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """A Java that never comes up, until a test says otherwise."""
    archive_of = Installation(str(executable(tmp_path / "java", "exec sleep 600")), "/spark", "0123456789abcdef")
    monkeypatch.setattr(Installation, "of_this_process", lambda: archive_of)
    return archive_of


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return path


def kept_archive(installation: Installation) -> tuple[str, ClassArchive]:
    folder = code_folder()
    assert folder is not None
    path = Path(folder, f"classes-{installation.key}-1.jsa")
    path.write_bytes(b"classes")
    path.chmod(0o400)
    archive = ClassArchive(str(path), 7, "/spark/jars/*", ("-Dx=y",))
    remember(note_of(folder, installation), archive)
    return folder, archive


def test_archives_are_kept_in_a_folder_of_the_users_own(cache: Path) -> None:
    assert code_folder() == str(cache / "funke")
    assert stat.S_IMODE((cache / "funke").stat().st_mode) == 0o700


def test_without_a_variable_it_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert code_folder() == str(tmp_path / ".cache" / "funke")


def test_a_folder_that_somebody_else_made_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "funke").mkdir(parents=True, mode=0o700)
    give_away(cache / "funke", monkeypatch)
    assert code_folder() is None


def test_a_folder_that_others_may_enter_or_that_is_a_link_is_not_used(cache: Path, tmp_path: Path) -> None:
    (cache / "funke").mkdir(parents=True)
    (cache / "funke").chmod(0o755)
    assert code_folder() is None
    (cache / "funke").rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (cache / "funke").symlink_to(tmp_path / "elsewhere")
    assert code_folder() is None


def test_a_folder_that_others_may_change_is_not_used(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert code_folder() is None
    cache.chmod(0o1777)  # like /tmp: only the owner may rename
    assert code_folder() is not None


def test_no_folder_for_archives_is_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive_requests: list[bool]
) -> None:
    for folder in ("relative/folder", "/proc/nothing/here", str(tmp_path / "file" / "below")):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        assert code_folder() is None and take_gateway(OPTIONS) is None
    assert archive_requests == []


def test_an_archive_is_found_again(cache: Path, installation: Installation) -> None:
    folder, archive = kept_archive(installation)
    assert find_archive(folder, installation) == archive
    assert find_archive(folder, replace(installation, key="another")) is None
    assert [argument for argument in archive.java_arguments if "jsa" in argument] == [
        f"-XX:SharedArchiveFile={archive.path}"
    ]


def test_an_archive_that_was_cut_short_is_not_used(cache: Path, installation: Installation) -> None:
    folder, archive = kept_archive(installation)
    os.chmod(archive.path, 0o600)
    Path(archive.path).write_bytes(b"class")
    assert find_archive(folder, installation) is None


def test_an_archive_of_somebody_else_is_not_used(
    cache: Path, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, archive = kept_archive(installation)
    give_away(archive.path, monkeypatch)
    assert find_archive(folder, installation) is None


def test_an_archive_elsewhere_or_behind_a_link_is_not_used(
    cache: Path, tmp_path: Path, installation: Installation
) -> None:
    folder, archive = kept_archive(installation)
    planted = tmp_path / "planted.jsa"
    planted.write_bytes(b"classes")
    remember(note_of(folder, installation), replace(archive, path=str(planted)))
    assert find_archive(folder, installation) is None
    remember(note_of(folder, installation), archive)
    os.unlink(archive.path)
    os.symlink(planted, archive.path)
    assert find_archive(folder, installation) is None


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"path": 1}', "null"])
def test_a_note_that_says_nothing_is_not_an_error(cache: Path, installation: Installation, text: str) -> None:
    folder, _ = kept_archive(installation)
    Path(note_of(folder, installation)).write_text(text)
    assert find_archive(folder, installation) is None


def test_what_could_not_be_made_is_tried_again_a_day_later(cache: Path, installation: Installation) -> None:
    folder = code_folder()
    assert folder is not None and is_due(folder, installation)
    remember(note_of(folder, installation), None)
    assert not is_due(folder, installation)
    yesterday = time.time() - 25 * 3600
    os.utime(note_of(folder, installation), (yesterday, yesterday))
    assert is_due(folder, installation)


def test_the_key_follows_java_and_the_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SPARK_")]:
        monkeypatch.delenv(name)
    (tmp_path / "bin").mkdir()
    executable(tmp_path / "bin" / "java", "true")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    first = Installation.of_this_process()
    (tmp_path / "release").write_text('JAVA_VERSION="99"')
    second = Installation.of_this_process()
    assert first is not None and second is not None and first.key != second.key
    assert Installation.of_this_process() == second


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "SPARK_DRIVER_MEMORY", "PYSPARK_SUBMIT_ARGS", "HADOOP_CONF_DIR"])
def test_what_only_spark_submit_understands_is_left_to_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "x")
    assert Installation.of_this_process() is None


def test_an_archive_is_wanted_where_there_is_none(
    cache: Path, installation: Installation, archive_requests: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for switch, expected in (("off", []), ("use", []), ("on", [True])):
        monkeypatch.setenv(SWITCH, switch)
        assert take_gateway(OPTIONS) is None and archive_requests == expected
    assert take_gateway({"spark.master": "spark://host:7077"}) is None and archive_requests == [True, True]
    archive_requests.clear()
    assert take_gateway({"spark.master": "yarn"}) is None and archive_requests == []
    assert take_gateway({**OPTIONS, "spark.driver.extraClassPath": "x.jar"}) is None and archive_requests == []


def test_an_archive_that_spark_does_not_start_with_is_not_used_again(
    cache: Path, tmp_path: Path, installation: Installation, archive_requests: list[bool]
) -> None:
    folder, _ = kept_archive(installation)
    executable(tmp_path / "java", "exit 134")
    assert take_gateway(OPTIONS) is None
    assert find_archive(folder, installation) is None and not is_due(folder, installation)


def started_early(tmp_path: Path, installation: Installation) -> int:
    """The process of a Java that was started early; one that is started after it ends at once."""
    kept_archive(installation)
    started = tmp_path / "started"
    executable(tmp_path / "java", f'echo $$ >> "{started}"; exec sleep 600')
    start_early(OPTIONS)
    start_early({**OPTIONS, "spark.app.name": "another"})  # one is enough
    while not started.exists() or not started.read_text():
        time.sleep(0.01)
    executable(tmp_path / "java", "exit 1")
    (pid,) = started.read_text().split()
    return int(pid)


def is_running(pid: int) -> bool:
    return Path("/proc", str(pid)).exists()


def test_a_process_that_was_started_early_serves_a_job_of_any_name(
    cache: Path, tmp_path: Path, installation: Installation, archive_requests: list[bool]
) -> None:
    os.kill(started_early(tmp_path, installation), signal.SIGTERM)
    # A process that was started now would end by itself, and its archive would not be used again.
    assert take_gateway({**OPTIONS, "spark.app.name": "another"}) is None
    assert find_archive(str(cache / "funke"), installation) is not None


@pytest.mark.parametrize("change", ["an option", "a variable", "the folder", "nothing, but Spark is there"])
def test_a_process_that_was_started_early_and_does_not_fit_ends(
    cache: Path,
    tmp_path: Path,
    installation: Installation,
    archive_requests: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    early_pid = started_early(tmp_path, installation)
    if change == "a variable":
        monkeypatch.setenv("AWS_PROFILE", "another")
    elif change == "the folder":
        monkeypatch.chdir(tmp_path)
    options = {**OPTIONS, **({"spark.driver.memory": "2g"} if change == "an option" else {})}
    if change == "nothing, but Spark is there":
        end_early()
    assert take_gateway(options) is None
    assert not is_running(early_pid)


def test_what_a_program_changes_starts_another_process_early(
    cache: Path, tmp_path: Path, installation: Installation, archive_requests: list[bool]
) -> None:
    early_pid = started_early(tmp_path, installation)
    started = tmp_path / "again"
    executable(tmp_path / "java", f'echo $$ > "{started}.part"; mv "{started}.part" "{started}"; exec sleep 600')
    start_early({**OPTIONS, "spark.driver.memory": "2g"})
    assert not is_running(early_pid)
    while not started.exists():
        time.sleep(0.01)
    end_early()
    assert not is_running(int(started.read_text()))


def test_spark_gets_its_options(
    cache: Path, tmp_path: Path, installation: Installation, archive_requests: list[bool]
) -> None:
    _, archive = kept_archive(installation)
    said = tmp_path / "said"
    program = f'"{sys.executable}" -c \'import json, sys; print(json.dumps(sys.argv[1:]))\' "$@" > "{said}"; exit 1'
    executable(tmp_path / "java", program)
    java_options = "-Da='b c' -Dd=e"
    take_gateway({**OPTIONS, "spark.driver.memory": "2g", "spark.driver.extraJavaOptions": java_options})
    arguments = json.loads(said.read_text())
    assert (
        arguments[:3] == ["-cp", archive.class_path, "-Dx=y"] and f"-XX:SharedArchiveFile={archive.path}" in arguments
    )
    assert {"-Xmx2g", "-Da=b c", "-Dd=e", "spark.master=local[1]", "pyspark-shell"} <= set(arguments)


def test_secrets_do_not_stand_on_sparks_command_line() -> None:
    options = {"spark.master": "local[1]", "spark.hadoop.fs.s3a.secret.key": "hush", "spark.ssl.keyPassword": "hush"}
    assert _spark_arguments(options) == ["--conf", "spark.master=local[1]"]


@pytest.mark.parametrize(("command", "was_killed"), [("kill -9 $$", True), ("exit 1", False), ("kill -SEGV $$", False)])
def test_a_start_that_somebody_ended_says_nothing_against_the_archive(command: str, was_killed: bool) -> None:
    process = SparkProcess("/bin/sh", ["-c", command], {})
    assert process.connect() is None
    assert process.was_killed == was_killed
