"""The driver is killed around its commits: the files, rows and transactions of its sinks have each record once."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tools.killable_job import KillableJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

RECORDS = 800
PROGRAM = Path(__file__).parent / "programs" / "sinks_job.py"


class SinksJob(KillableJob):
    """The program with the four sinks."""

    def start(self) -> None:
        self.output.mkdir(exist_ok=True)
        database = sqlite3.connect(self.output / "people.db")
        database.execute("create table if not exists people (id bigint, name text)")
        database.close()
        super().start()

    def transactions(self) -> Counter[int]:
        files = [path for path in (self.output / "transactions").iterdir() if path.name[0] != "."]
        return Counter(int(line) for path in files for line in path.read_text().splitlines())

    def compacted(self) -> Counter[int]:
        files = list((self.output / "compacted").glob("compacted-part-*"))
        return Counter(int(line) for path in files for line in path.read_text().splitlines())

    def rows(self) -> Counter[int]:
        database = sqlite3.connect(self.output / "people.db")
        counts = Counter(row[0] for row in database.execute("select id from people"))
        database.close()
        return counts

    def files(self) -> Counter[int]:
        tables = [pq.read_table(path) for path in (self.output / "files").glob("part-*.parquet")]
        return Counter(value for table in tables for value in table.column("id").to_pylist())


@pytest.mark.timeout(480)
@pytest.mark.parametrize("point", ["between-commits"])
def test_a_driver_that_dies_around_its_commits(tmp_path: Path, point: str) -> None:
    faults = tmp_path / "faults"
    plan = {"funke.fault": f"{point}:1:kill@{faults}"}
    job = SinksJob(tmp_path / "job", RECORDS, "80/checkpoint", plan, program=PROGRAM)
    try:
        job.start()
        job.run_to_the_end(240)
    finally:
        job.close()
    assert job.starts == 2, "the driver was killed once"
    expected = Counter(range(RECORDS))
    assert job.transactions() == expected
    assert job.compacted() == expected
    assert job.rows() == expected
    assert job.files() == expected
