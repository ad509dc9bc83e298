"""Which PySpark the process that workers are forked from takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from funke.engine.runtime.spark import quiet_daemon

LIB = Path(pyspark.__file__).parent / "python" / "lib"
LOOK = f"""
import runpy, sys
sys.path.insert(0, {os.path.dirname(quiet_daemon.__file__)!r})
import quiet_daemon
quiet_daemon.prefer_installed()
import py4j, pyspark
assert "funke" not in sys.modules, "an executor has only the file"
print(pyspark.__file__, py4j.__file__)
"""


@pytest.fixture
def copied_lib(tmp_path: Path) -> Path:
    """The zip files of another Spark."""
    return Path(shutil.copytree(LIB, tmp_path / "spark" / "python" / "lib"))


def found_with(lib: Path | None) -> list[str]:
    """The files of PySpark and Py4J that a process finds with the zip files of a folder on its path."""
    paths = [str(path) for path in sorted(lib.glob("*.zip"), reverse=True)] if lib is not None else []
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-c", LOOK], env=environ, capture_output=True, text=True, check=True, timeout=110
    ).stdout.split()


def test_the_interpreters_package_is_preferred_to_its_own_zip_files() -> None:
    own, py4j = found_with(LIB)
    assert own == pyspark.__file__ and ".zip" not in py4j


def test_another_spark_keeps_its_zip_files(copied_lib: Path) -> None:
    other, py4j = found_with(copied_lib)
    assert other == str(copied_lib / "pyspark.zip" / "pyspark" / "__init__.py")
    assert py4j.startswith(str(copied_lib))


def test_without_zip_files_nothing_changes() -> None:
    assert found_with(None)[0] == pyspark.__file__
