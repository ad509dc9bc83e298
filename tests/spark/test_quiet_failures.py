"""A failure is told once: the workers of Spark's other tasks, whose connections are closed, say nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udaf


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean(values):
    raise ValueError("no mean today")


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
rows = t_env.from_elements([(number % 5, float(number)) for number in range(1000)], ["k", "v"])
rows.group_by(col("k")).select(col("k"), mean(col("v"))).execute().print()
"""


def test_a_failing_pandas_aggregate_in_batch_mode(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "funke", "run", "job.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    first, *_, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert "ValueError: no mean today" in first and last == "ValueError: no mean today"
    assert "BrokenPipeError" not in done.stderr and "pyspark" not in done.stderr
