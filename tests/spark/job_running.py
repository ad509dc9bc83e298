"""Runs streams and programs in tests and waits for what they do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from funke.common import Configuration
from funke.datastream import DataStream, StreamExecutionEnvironment
from funke.engine.trust.run_folders import run_folder


def new_environment(parallelism: int) -> StreamExecutionEnvironment:
    """An environment of its own, for tests that run several jobs."""
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def in_epochs(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    """Lets the environment's jobs run in epochs, though nothing asks for it."""
    env.configure(Configuration().set_string("funke.exchange", "blocking"))
    return env


def collect(stream: DataStream) -> list[Any]:
    """Runs the job and returns what the stream holds."""
    with stream.execute_and_collect() as results:
        return list(results)


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Waits until the condition holds; says whether it did in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def run_program(path: Path, *arguments: str, seconds: float = 110) -> subprocess.CompletedProcess[str]:
    """Runs a program as a user would, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "funke", str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=path.parent,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        check=False,
    )


def left_over_slots() -> set[str]:
    """The folders of this process's slots."""
    return {str(path) for path in Path(run_folder()).glob("slot-*")}
