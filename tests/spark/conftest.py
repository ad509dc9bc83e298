"""What job-level tests share: functions travel by value, and every test gets an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from funke.datastream import StreamExecutionEnvironment


@pytest.fixture(scope="module", autouse=True)
def functions_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    """Sends the functions of a test module as they are: importing it in a worker would import pytest there."""
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


@pytest.fixture
def env(spark: Any) -> StreamExecutionEnvironment:
    """An environment with two subtasks per operator."""
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
