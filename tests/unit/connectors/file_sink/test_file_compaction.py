"""Files that are compacted before they are visible: when, into what, and once each whatever crashes."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.common import Types
from funke.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
from funke.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema
from funke.datastream.formats.csv import CsvBulkWriters, CsvSchema
from funke.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from funke.engine.connectors.file_sink import committer as committing
from funke.engine.connectors.file_sink.bucket_assigner import BasePathBucketAssigner, BucketAssigner
from funke.engine.connectors.file_sink.compaction import CompactStrategy, ConcatCompactor, IdenticalCompactor
from funke.engine.connectors.file_sink.encoders import SimpleStringEncoder
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.connectors.file_sink.sink import FileSink as EngineFileSink
from funke.engine.connectors.file_sink.storage import ArrowStorage, LocalStorage
from funke.engine.errors import ConfigurationError, SinkError
from funke.engine.formats.input_file import InputFile
from funke.engine.types.row import Row
from tests.unit.connectors.crash_harness import CRASH_POINTS, Crash, CrashingJob
from tests.unit.connectors.file_sink.test_file_sink_crashes import finished_lines, kill
from tests.unit.connectors.sink_harness import SinkHarness, files_below
from tests.unit.formats.avro.records import read

RECORDS = [str(number) for number in range(12)]
EACH_RECORD_A_FILE = RollingPolicy(part_size=1)
POLICIES = [RollingPolicy(), RollingPolicy.on_checkpoint(), EACH_RECORD_A_FILE]


def text_sink(folder, strategy, compactor=None, policy=EACH_RECORD_A_FILE):
    compactor = ConcatCompactor() if strategy is not None and compactor is None else compactor
    assigner = BasePathBucketAssigner()
    return EngineFileSink(
        str(folder), SimpleStringEncoder(), assigner, policy, compact_strategy=strategy, compactor=compactor
    )


class Writing:
    """One writer and its committer; `checkpoint` takes the next one and says which files are visible then."""

    def __init__(self, folder, sink, restored=None, first=1):
        self.folder, self.sink = folder, sink
        self.writer = sink.create_writer(SinkHarness().context(), restored)
        self.ids = itertools.count(first)

    def prepare(self, *records, end=False):
        self.writer.write(list(records), None)
        self.writer.flush(end)
        self.writer.prepare_snapshot(next(self.ids))
        return pickle.loads(pickle.dumps(self.writer.prepare_commit()))

    def checkpoint(self, *records, end=False):
        self.sink.create_committer().commit(self.prepare(*records, end=end))
        return sorted(path.read_text() for path in self.folder.glob("[!.]*"))


def test_every_nth_checkpoint_makes_one_file(tmp_path):
    job = Writing(tmp_path, text_sink(tmp_path, CompactStrategy(num_checkpoints=2)))

    assert job.checkpoint("a", "b") == []
    assert job.checkpoint("c") == ["a\nb\nc\n"]
    assert job.checkpoint() == ["a\nb\nc\n"]
    assert job.checkpoint("d") == ["a\nb\nc\n", "d\n"]
    assert job.checkpoint("e") == ["a\nb\nc\n", "d\n"]
    assert job.checkpoint("f", end=True) == ["a\nb\nc\n", "d\n", "e\nf\n"]
    assert all(path.name.startswith("compacted-part-") for path in tmp_path.iterdir()), "nothing hidden is left"


def test_enough_bytes_make_a_file(tmp_path):
    job = Writing(tmp_path, text_sink(tmp_path, CompactStrategy(size_threshold=6)))

    assert job.checkpoint("a", "b") == []
    assert job.checkpoint("c", "d", "e", "f", "g") == ["a\nb\nc\n", "d\ne\nf\n"]
    assert job.checkpoint("long enough") == ["a\nb\nc\n", "d\ne\nf\n", "g\nlong enough\n"]
    assert job.checkpoint("h", end=True) == ["a\nb\nc\n", "d\ne\nf\n", "g\nlong enough\n", "h\n"]


class ByText(BucketAssigner):
    """A bucket for each first character."""

    def get_bucket_id(self, element, context):
        return element[0]


def test_files_of_all_subtasks_get_together_but_not_those_of_other_buckets(tmp_path):
    sink = replace(text_sink(tmp_path, CompactStrategy(num_checkpoints=1)), bucket_assigner=ByText())
    first, second = Writing(tmp_path, sink), Writing(tmp_path, sink)

    sink.create_committer().commit([*first.prepare("a1", "b1", "a2"), *second.prepare("a3")])

    assert files_below(tmp_path) == {"a/compacted-part-#-0": b"a1\na2\na3\n", "b/compacted-part-#-0": b"b1\n"}


def test_delimiters_stand_behind_each_file(tmp_path):
    for name, records, expected in (("two", ["a", "b"], "a\n--b\n--"), ("one", ["a"], "a\n--")):
        sink = text_sink(tmp_path / name, CompactStrategy(num_checkpoints=1), ConcatCompactor(b"--"))
        assert Writing(tmp_path / name, sink).checkpoint(*records) == [expected]


def test_the_identical_compactor_takes_one_file(tmp_path):
    sink = text_sink(tmp_path, CompactStrategy(num_checkpoints=1), IdenticalCompactor())

    assert Writing(tmp_path, sink).checkpoint("a") == ["a\n"]
    with pytest.raises(SinkError, match=r"takes one file at a time, and there are 2.*concat_file_compactor"):
        Writing(tmp_path, sink).checkpoint("b", "c")


@pytest.mark.parametrize("threads", [1, 3])
def test_several_files_at_a_time(tmp_path, threads):
    job = Writing(tmp_path, text_sink(tmp_path, CompactStrategy(size_threshold=4, num_threads=threads)))

    assert job.checkpoint(*RECORDS[:8]) == ["0\n1\n", "2\n3\n", "4\n5\n", "6\n7\n"]


@settings(deadline=None, max_examples=80)
@given(
    crashes=st.dictionaries(
        st.integers(1, 6), st.sampled_from([each for each in CRASH_POINTS if each != "half committed"]), max_size=5
    ),
    aborted=st.frozensets(st.integers(1, 5)),
    policy=st.sampled_from(POLICIES),
    strategy=st.builds(CompactStrategy, st.sampled_from([1, 2, 3]), st.sampled_from([-1, 0, 3, 100])),
    parallelism=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_any_crashes_lose_and_repeat_nothing(tmp_path_factory, crashes, aborted, policy, strategy, parallelism):
    folder = tmp_path_factory.mktemp("out")
    sink = text_sink(folder, strategy, policy=policy)

    CrashingJob(sink, RECORDS, crashes, kill, Types.STRING(), tuple(parallelism), aborted=aborted).run()

    assert finished_lines(folder) == Counter(RECORDS)
    assert all(path.name.startswith("compacted-") for path in folder.iterdir() if not path.name.startswith("."))


class DyingStorage(LocalStorage):
    """Dies before or after its n-th change, or in the middle of what it writes."""

    def __init__(self, root, change, when):
        super().__init__(root)
        self.left, self.when = change, when

    def create(self, path):
        return self._change(lambda: LocalStorage.create(self, path))

    def sync(self, stream):
        stream.flush()
        self._change(lambda: None)

    def move(self, source, target):
        self._change(lambda: LocalStorage.move(self, source, target))

    def delete(self, path):
        self._change(lambda: LocalStorage.delete(self, path))

    def _change(self, action):
        self.left -= 1
        if self.left == 0 and self.when == "before":
            raise Crash
        result = action()
        if self.left == 0:
            raise Crash
        return result


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("change", range(1, 8))
def test_a_compaction_that_dies_around_any_change_is_completed_by_the_next(tmp_path, monkeypatch, change, when):
    sink = text_sink(tmp_path, CompactStrategy(num_checkpoints=1))
    requests = Writing(tmp_path, sink).prepare("a", "b", "c")
    with monkeypatch.context() as patch:
        patch.setattr(committing, "open_storage", lambda path: DyingStorage(path, change, when))
        with pytest.raises(Crash):
            sink.create_committer().commit(requests)
    assert [path.read_text() for path in tmp_path.glob("[!.]*")] in ([], ["a\nb\nc\n"]), (
        "all of it or nothing is visible"
    )
    for _ in range(2):
        sink.create_committer().recover(1, requests)
        assert files_below(tmp_path) == {"compacted-part-#-0": b"a\nb\nc\n"}


def test_what_is_held_back_survives_a_restart_with_another_strategy_or_none(tmp_path):
    for name, strategy, expected in (
        ("same", CompactStrategy(num_checkpoints=5), ["a\nb\nc\n"]),
        ("by size", CompactStrategy(size_threshold=1), ["a\n", "b\n", "c\n"]),
        ("none", None, ["a\n", "b\n", "c\n"]),
    ):
        folder = tmp_path / name
        first = Writing(folder, text_sink(folder, CompactStrategy(num_checkpoints=5)))
        assert first.checkpoint("a", "b") == []
        state = pickle.loads(pickle.dumps(first.writer.snapshot()))
        second = Writing(folder, text_sink(folder, strategy), state, first=5)
        assert second.checkpoint("c") == expected


def test_a_request_is_committed_although_compaction_was_switched_off(tmp_path):
    on, off = text_sink(tmp_path, CompactStrategy(num_checkpoints=1)), text_sink(tmp_path, None)
    requests = Writing(tmp_path, on).prepare("a", "b")

    for _ in range(2):
        off.create_committer().recover(1, requests)
        assert files_below(tmp_path) == {"part-#-0": b"a\n", "part-#-1": b"b\n"}


@pytest.mark.parametrize("change", range(4, 6))
def test_a_request_that_was_compacted_is_not_committed_again_when_switched_off(tmp_path, monkeypatch, change):
    on, off = text_sink(tmp_path, CompactStrategy(num_checkpoints=1)), text_sink(tmp_path, None)
    requests = Writing(tmp_path, on).prepare("a", "b")
    with monkeypatch.context() as patch:
        patch.setattr(committing, "open_storage", lambda path: DyingStorage(path, change, "after"))
        with pytest.raises(Crash):
            on.create_committer().commit(requests)

    off.create_committer().recover(1, requests)

    assert files_below(tmp_path) == {"compacted-part-#-0": b"a\nb\n"}


def test_a_part_that_is_gone_is_an_error(tmp_path):
    sink = text_sink(tmp_path, CompactStrategy(num_checkpoints=1))
    requests = Writing(tmp_path, sink).prepare("a", "b")
    next(tmp_path.glob(".part-*-0*")).unlink()

    with pytest.raises(SinkError, match="cannot be compacted: not all of them are there"):
        sink.create_committer().commit(requests)
    assert not list(tmp_path.glob("[!.]*"))


def test_on_another_file_system(tmp_path, monkeypatch):
    from pyarrow.fs import LocalFileSystem

    sink = text_sink(tmp_path, CompactStrategy(num_checkpoints=1))
    requests = Writing(tmp_path, sink).prepare("a", "b")
    monkeypatch.setattr(committing, "open_storage", lambda path: ArrowStorage(LocalFileSystem(), path, "other://x"))

    sink.create_committer().commit(requests)

    assert files_below(tmp_path) == {"compacted-part-#-0": b"a\nb\n"}


ROW = Types.ROW_NAMED(["id"], [Types.LONG()])
SCHEMA = AvroSchema({"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]})
COMPACT_ALWAYS = FileCompactStrategy.builder().enable_compaction_on_checkpoint(1).set_num_compact_threads(2).build()


def bulk_sink(folder, factory, compactor):
    return FileSink.for_bulk_format(str(folder), factory).enable_compact(COMPACT_ALWAYS, compactor).build().engine_sink


def compacted(folder, sink, *records):
    """Two subtasks with a file each."""
    writers = [Writing(folder, sink), Writing(folder, sink)]
    sink.create_committer().commit([each for i, w in enumerate(writers) for each in w.prepare(*records[i::2])])
    (path,) = (each for each in folder.rglob("*") if each.is_file())
    return path


def test_parquet_is_compacted_record_by_record(tmp_path):
    reader = ParquetColumnarRowInputFormat(ROW)
    sink = bulk_sink(tmp_path, ParquetBulkWriters.for_row_type(ROW), FileCompactor.record_wise_file_compactor(reader))

    path = compacted(tmp_path, sink, Row(1), Row(2), Row(3))

    assert pq.read_table(path).to_pydict() == {"id": [1, 3, 2]}
    assert path.name.startswith("compacted-part-")


def test_avro_is_compacted_record_by_record(tmp_path):
    reading = AvroInputFormat(str(tmp_path), SCHEMA)
    compactor = FileCompactor.record_wise_file_compactor(reading)
    sink = bulk_sink(tmp_path, AvroBulkWriters.for_generic_record(SCHEMA), compactor)

    path = compacted(tmp_path, sink, {"id": 1}, {"id": 2})

    assert read(reading.engine_format, InputFile(str(path), path.stat().st_size)) == [{"id": 1}, {"id": 2}]


def test_a_damaged_part_is_named(tmp_path):
    reader = ParquetColumnarRowInputFormat(ROW)
    sink = bulk_sink(tmp_path, ParquetBulkWriters.for_row_type(ROW), FileCompactor.record_wise_file_compactor(reader))
    first, second = Writing(tmp_path, sink).prepare(Row(1)), Writing(tmp_path, sink).prepare(Row(2))
    path = second[0].files[0].in_progress_path
    with open(path, "r+b") as file:
        file.write(b"?" * second[0].files[0].size)

    with pytest.raises(SinkError, match="cannot be compacted"):
        sink.create_committer().commit(first + second)


def csv_writers(has_header):
    return CsvBulkWriters.for_schema(CsvSchema.builder().add_number_column("id").set_use_header(has_header).build())


def test_files_that_cannot_be_joined_are_not(tmp_path):
    concat = FileCompactor.concat_file_compactor()
    for factory in (
        ParquetBulkWriters.for_row_type(ROW),
        AvroBulkWriters.for_generic_record(SCHEMA),
        csv_writers(True),
    ):
        with pytest.raises(ConfigurationError, match="cannot be joined byte by byte; use record_wise_file_compactor"):
            bulk_sink(tmp_path, factory, concat)

    assert compacted(tmp_path, bulk_sink(tmp_path, csv_writers(False), concat), Row(1), Row(2)).read_text() == "1\n2\n"


def test_strategies_and_compactors_that_make_no_sense(tmp_path):
    builder = FileCompactStrategy.builder
    for make, reason in (
        (lambda: builder().build(), "needs a number of checkpoints or a size threshold"),
        (lambda: builder().enable_compaction_on_checkpoint(0), "must be positive, got 0"),
        (lambda: builder().set_size_threshold(1).set_num_compact_threads(0).build(), "threads must be positive, got 0"),
        (lambda: FileCompactor.record_wise_file_compactor("parquet"), "a format that reads files is needed"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            make()
    assert builder().set_size_threshold(0).build().engine_strategy == CompactStrategy(size_threshold=0)
