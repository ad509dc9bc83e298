"""Where an executor's archive of classes is put, and where not. The executor is played, with its command and folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.runtime.starting.class_archive import SWITCH, ClassArchive, Installation, note_of, remember
from funke.engine.runtime.starting.executor_archive import executor_arguments, provide_archive
from funke.engine.trust.code_folder import code_folder
from tests.harness.stranger import give_away

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")

CLASS_PATH = "/spark/jars/*"


@pytest.fixture
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of a worker, with the folder of an executor in it; and a cache whose parents nobody else may change."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "work" / "app-1" / "0").mkdir(parents=True)
    (tmp_path / "work").chmod(0o755)
    return tmp_path / "work"


@pytest.fixture
def executor(work_folder: Path) -> Iterator[int]:
    """The process of an executor."""
    yield from running_executor(work_folder, "--worker-url", "spark://worker:1")


def running_executor(work_folder: Path, *arguments: str) -> Iterator[int]:
    program = "import sys; print('runs', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, "-cp", CLASS_PATH, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=work_folder / "app-1" / "0", stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def kept_archive(executor: int, content: bytes = b"classes", class_path: str = CLASS_PATH) -> Path:
    """An archive in the cache, for the Java and the Spark of the executor."""
    folder = code_folder()
    assert folder is not None
    installation = Installation.at(os.readlink(f"/proc/{executor}/exe"), os.path.realpath(os.environ["SPARK_HOME"]))
    path = Path(folder, f"classes-{installation.key}-{len(content)}.jsa")
    path.write_bytes(content)
    path.chmod(0o400)
    remember(note_of(folder, installation), ClassArchive(str(path), len(content), class_path, ()))
    return path


def test_executors_find_the_archive_that_was_put_into_the_work_folder(work_folder: Path, executor: int) -> None:
    kept = kept_archive(executor)
    assert provide_archive(executor) is False
    (option,) = [each for each in executor_arguments() if "jsa" in each]
    relative = option.removeprefix("-XX:SharedArchiveFile=")
    assert Path(f"/proc/{executor}/cwd", relative).read_bytes() == b"classes"
    assert sorted(path.name for path in work_folder.iterdir()) == ["app-1", "funke-classes.jsa"]
    assert (work_folder / "funke-classes.jsa").samefile(kept)


def test_a_new_archive_replaces_an_old_one(work_folder: Path, executor: int) -> None:
    for content in (b"classes", b"more classes"):
        kept_archive(executor, content)
        provide_archive(executor)
        provide_archive(executor)
        assert (work_folder / "funke-classes.jsa").read_bytes() == content
    assert len(list(work_folder.iterdir())) == 2


def test_on_another_disk_it_is_a_copy(work_folder: Path, executor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(source: str, target: str) -> None:
        raise OSError(18, "Invalid cross-device link")

    kept = kept_archive(executor)
    monkeypatch.setattr(os, "link", link)
    provide_archive(executor)
    placed = work_folder / "funke-classes.jsa"
    assert placed.read_bytes() == b"classes" and not placed.samefile(kept)
    before = placed.stat()
    provide_archive(executor)
    assert placed.stat().st_ino == before.st_ino, "it is not copied again"


def test_a_work_folder_that_others_may_change_gets_none(work_folder: Path, executor: int) -> None:
    kept_archive(executor)
    work_folder.chmod(0o1777)
    assert provide_archive(executor) is False
    assert not (work_folder / "funke-classes.jsa").exists()


def test_a_work_folder_of_another_user_gets_none(
    work_folder: Path, executor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_archive(executor)
    give_away(work_folder, monkeypatch)
    provide_archive(executor)
    assert not (work_folder / "funke-classes.jsa").exists()


def test_an_archive_of_another_user_is_not_passed_on(
    work_folder: Path, executor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(kept_archive(executor), monkeypatch)
    provide_archive(executor)
    assert not (work_folder / "funke-classes.jsa").exists()


def test_an_archive_for_another_class_path_is_not_passed_on(work_folder: Path, executor: int) -> None:
    kept_archive(executor, class_path="/spark/conf:/spark/jars/*")
    provide_archive(executor)
    assert not (work_folder / "funke-classes.jsa").exists()


def test_other_clusters_have_other_folders(work_folder: Path) -> None:
    for executor in running_executor(work_folder):
        kept_archive(executor)
        assert provide_archive(executor) is False
        assert not (work_folder / "funke-classes.jsa").exists()


def test_the_switch_counts_for_executors_too(work_folder: Path, executor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    kept_archive(executor)
    provide_archive(executor)
    assert not (work_folder / "funke-classes.jsa").exists() and executor_arguments() == []


def test_one_is_wanted_where_there_is_none_and_spark_is_the_package(
    work_folder: Path, executor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyspark

    monkeypatch.setenv(SWITCH, "on")
    assert provide_archive(executor) is False, "Spark is elsewhere"
    monkeypatch.setenv("SPARK_HOME", os.path.dirname(pyspark.__file__))
    assert provide_archive(executor) is True
    kept_archive(executor)
    assert provide_archive(executor) is False
    monkeypatch.setenv(SWITCH, "use")
    code = code_folder()
    assert code is not None
    for path in Path(code).glob("classes-*"):
        path.unlink()
    assert provide_archive(executor) is False
