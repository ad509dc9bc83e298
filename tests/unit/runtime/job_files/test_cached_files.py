"""Registered files on their way from the driver to slots that cannot read its disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyspark
import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.runtime.job_files.cached_files import CachedFile, placed_files, ship_cached_file, staged_files


class FakeSpark:
    """Takes files as a SparkContext does and keeps them where executors would have them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.asked: list[str] = []

    def addFile(self, path: str) -> None:
        self.asked.append(path)
        if "://" in path:
            (self.folder / os.path.basename(path)).write_text("from afar")
        else:
            shutil.copy(path, self.folder)


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSpark:
    fake = FakeSpark(tmp_path / "executor")
    monkeypatch.setattr(pyspark.SparkFiles, "get", lambda name: str(fake.folder / name))
    return fake


def sent(files: dict[str, tuple[str, bool]], tmp_path: Path, spark: Any) -> dict[str, str]:
    """The paths in a slot on another machine: the driver's copies are out of its reach."""
    for folder in ("staged", "shipping", "slot"):
        (tmp_path / folder).mkdir()
    staged = staged_files(files, str(tmp_path / "staged"))
    for file in staged:
        ship_cached_file(spark, file, str(tmp_path / "shipping"))
    shutil.rmtree(tmp_path / "staged")
    return dict(placed_files(staged, str(tmp_path / "slot")))


def test_files_of_one_name_keep_their_name_and_content(tmp_path: Path, spark: FakeSpark) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text(name)
    files = {name: (str(tmp_path / name / "table.csv"), False) for name in ("a", "b")}
    placed = sent(files, tmp_path, spark)
    assert {name: Path(path).read_text() for name, path in placed.items()} == {"a": "a", "b": "b"}
    assert {Path(path).name for path in placed.values()} == {"table.csv"}


def test_a_folder_arrives_with_all_that_is_in_it(tmp_path: Path, spark: FakeSpark) -> None:
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "model" / "deep" / "weights").write_text("0.5")
    placed = sent({"model": (f"{tmp_path}/model/", False)}, tmp_path, spark)
    assert Path(placed["model"]).name == "model"
    assert Path(placed["model"], "deep", "weights").read_text() == "0.5"


@pytest.mark.parametrize("is_executable", [True, False])
def test_a_program_can_be_run_only_if_registered_as_one(tmp_path: Path, spark: FakeSpark, is_executable: bool) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o600)
    placed = sent({"tool": (str(tmp_path / "tool"), is_executable)}, tmp_path, spark)
    assert os.stat(placed["tool"]).st_mode & 0o111 == (0o111 if is_executable else 0)


def test_a_file_that_spark_can_reach_is_fetched_by_spark(tmp_path: Path, spark: FakeSpark) -> None:
    placed = sent({"far": ("hdfs://host/data/far.txt", False)}, tmp_path, spark)
    assert spark.asked == ["hdfs://host/data/far.txt"]
    assert Path(placed["far"]).read_text() == "from afar"


def test_on_the_drivers_machine_its_copy_is_used(tmp_path: Path, spark: FakeSpark) -> None:
    (tmp_path / "here.txt").write_text("here")
    (file,) = staged_files({"here": (f"file://{tmp_path}/here.txt", False)}, str(tmp_path / "staged"))
    ship_cached_file(spark, file, None)  # type: ignore[arg-type]
    assert spark.asked == []
    assert placed_files((file,), str(tmp_path / "slot")) == (("here", file.path),)
    assert file == CachedFile("here", file.path, False, False, file.shipped_as)


def test_a_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'/nowhere/x', registered as 'x', does not exist"):
        staged_files({"x": ("/nowhere/x", False)}, str(tmp_path))
