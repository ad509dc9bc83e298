"""The file sink and crashes: at every step of a job, and around every rename of a commit."""

from __future__ import annotations

from collections import Counter

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.connectors.file_sink import committer as committing
from funke.engine.connectors.file_sink.arrow_formats import ParquetBulkFormat
from funke.engine.connectors.file_sink.bucket_assigner import BasePathBucketAssigner
from funke.engine.connectors.file_sink.encoders import SimpleStringEncoder
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.connectors.file_sink.sink import FileSink, StreamingFileSink
from funke.engine.connectors.file_sink.storage import LocalStorage
from funke.engine.types.information.type_catalog import Types
from tests.unit.connectors.crash_harness import CRASH_POINTS, Crash, CrashingJob
from tests.unit.connectors.sink_harness import SinkHarness, files_below

BASE_PATH = BasePathBucketAssigner()
RECORDS = [str(number) for number in range(10)]
POLICIES = {
    "one file goes on": RollingPolicy(),
    "a file per checkpoint": RollingPolicy.on_checkpoint(),
    "a file per record": RollingPolicy(part_size=1),
}


def kill(writer):
    """What a SIGKILL leaves: bytes that were still in the process are gone, whenever the objects are collected."""
    for bucket in writer._buckets.values():
        if bucket.part is not None:
            bucket.part._stream.raw.close()


def row_sink(folder, policy=None):
    return FileSink(str(folder), SimpleStringEncoder(), BASE_PATH, policy)


def finished(folder):
    return [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]


def finished_lines(folder):
    return Counter(line for path in finished(folder) for line in path.read_text().splitlines())


@settings(deadline=None, max_examples=60)
@given(
    crashes=st.dictionaries(st.integers(1, 5), st.sampled_from(CRASH_POINTS), max_size=5),
    aborted=st.frozensets(st.integers(1, 4)),
    policy=st.sampled_from(sorted(POLICIES)),
    parallelism=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_any_crashes_lose_and_repeat_nothing(tmp_path_factory, crashes, aborted, policy, parallelism):
    folder = tmp_path_factory.mktemp("out")
    sink = row_sink(folder, POLICIES[policy])
    CrashingJob(sink, RECORDS, crashes, kill, Types.STRING(), tuple(parallelism), aborted=aborted).run()
    assert finished_lines(folder) == Counter(RECORDS)


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_bulk_format_rolls_at_checkpoints_and_survives(tmp_path, point):
    sink = FileSink(str(tmp_path), ParquetBulkFormat(), BASE_PATH)
    CrashingJob(sink, list(range(10)), {2: point, 4: point}, kill, Types.LONG()).run()
    tables = [pq.read_table(path) for path in finished(tmp_path)]
    assert Counter(value for table in tables for value in table.column(0).to_pylist()) == Counter(range(10))
    assert all(table.num_rows == 1 for table in tables), "two subtasks, two records per checkpoint"


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_the_older_sink_survives(tmp_path, point):
    sink = StreamingFileSink(str(tmp_path / "out"), SimpleStringEncoder(), BASE_PATH, RollingPolicy.on_checkpoint())
    staging = str(tmp_path / "staging")
    CrashingJob(sink, RECORDS, {2: point, 4: point}, kill, Types.STRING(), staging_folder=staging).run()
    assert finished_lines(tmp_path / "out") == Counter(RECORDS)


class DyingStorage(LocalStorage):
    """Dies before or after its n-th change."""

    def __init__(self, root, change, is_done):
        super().__init__(root)
        self.left, self.is_done = change, is_done

    def move(self, source, target):
        self._change(lambda: LocalStorage.move(self, source, target))

    def truncate(self, path, size):
        self._change(lambda: LocalStorage.truncate(self, path, size))

    def _change(self, action):
        self.left -= 1
        if self.left == 0 and not self.is_done:
            raise Crash
        action()
        if self.left == 0:
            raise Crash


def prepared(folder, values):
    """Pending files, each of them with bytes behind its end that a dead attempt has appended."""
    sink = row_sink(folder, POLICIES["a file per record"])
    writer = sink.create_writer(SinkHarness().context())
    writer.write(values, None)
    writer.flush(True)
    pending = writer.prepare_commit()
    writer.close()
    for file in pending:
        with open(file.in_progress_path, "ab") as more:
            more.write(b"junk")
    return sink, pending


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("change", range(1, 7))
def test_a_commit_that_dies_around_any_change_is_completed_by_the_next(tmp_path, monkeypatch, change, is_done):
    values = ["a", "b", "c"]
    sink, pending = prepared(tmp_path, values)
    with monkeypatch.context() as patch:
        patch.setattr(committing, "open_storage", lambda path: DyingStorage(path, change, is_done))
        with pytest.raises(Crash):
            sink.create_committer().commit(pending)
    assert set(finished_lines(tmp_path)) <= set(values), "what is visible is complete"
    for _ in range(2):
        sink.create_committer().recover(1, pending)
        assert files_below(tmp_path) == {f"part-#-{number}": f"{v}\n".encode() for number, v in enumerate(values)}


def test_what_a_dead_attempt_leaves_stays_hidden(tmp_path):
    sink = row_sink(tmp_path)
    dead = sink.create_writer(SinkHarness().context())
    dead.write(["a"], None)
    dead.flush(False)
    kill(dead)
    CrashingJob(sink, RECORDS, {}, kill, Types.STRING()).run()
    assert finished_lines(tmp_path) == Counter(RECORDS)
    hidden = [name for name in files_below(tmp_path) if name.startswith(".")]
    assert hidden == [".part-#-0.inprogress.#"]


def test_no_two_attempts_share_a_name(tmp_path):
    sink = row_sink(tmp_path)
    names = set()
    for _ in range(3):
        writer = sink.create_writer(SinkHarness().context())
        writer.write(["a"], None)
        writer.flush(True)
        (pending,) = writer.prepare_commit()
        names |= {pending.in_progress_path, pending.final_path}
    assert len(names) == 6
