"""One Spark session for all tests, ended with the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# Nothing is written to the user's cache, and no test depends on what is there; those of archives have their own.
os.environ["FUNKE_CLASS_ARCHIVE"] = "off"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a Spark session stay in one process; the others, and those that start drivers, use a second."""
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def records_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Jobs that tests run are not written down among the user's."""
    os.environ["FUNKE_HOME"] = str(tmp_path_factory.mktemp("funke-home"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The embedded session that jobs in tests share."""
    from funke.engine.runtime.spark_session import spark_session

    session = spark_session({})
    yield session
    session.stop()
