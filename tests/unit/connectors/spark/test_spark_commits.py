"""What the Spark sink stages and commits, without Spark: a table is a folder, and a DataFrame an Arrow table."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
from collections import Counter
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.connectors.sink import Committer
from funke.engine.connectors.spark.arrow_messages import to_frame
from funke.engine.connectors.spark.committer import SparkCommitter
from funke.engine.connectors.spark.file_table import FileTable
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.connectors.staging import DamagedStagedDataError, StagedData, self_contained
from funke.engine.errors import SinkError
from funke.engine.types.information.type_catalog import Types
from tests.unit.connectors.crash_harness import CRASH_POINTS, Crash, CrashingJob
from tests.unit.connectors.sink_harness import SinkHarness


class FakeSpark:
    def createDataFrame(self, table):
        return table


def values_of(frame):
    return frame.column("value").to_pylist()


class LocalFiles:
    """A table in a local folder; dies before or after its n-th change."""

    def __init__(self, root, dies_at=0, is_done=False):
        self.root, self.left, self.is_done = str(root), dies_at, is_done

    def _change(self, action):
        self.left -= 1
        if self.left == 0 and not self.is_done:
            raise Crash
        action()
        if self.left == 0:
            raise Crash

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        try:
            with open(self.path(name)) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name, text):
        def replace():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as file:
                file.write(text)

        self._change(replace)

    def delete(self, name):
        self._change(lambda: os.path.exists(self.path(name)) and os.remove(self.path(name)))

    def list_data(self, folder):
        return [name for name in sorted(os.listdir(self.path(folder))) if name[0] not in "._"]

    def move(self, source, target):
        def rename():
            if os.path.exists(self.path(source)):
                os.rename(self.path(source), self.path(target))
            else:
                assert os.path.exists(self.path(target))

        self._change(rename)

    def delete_folder(self, name):
        self._change(lambda: shutil.rmtree(self.path(name), ignore_errors=True))


FILES = iter(range(10**9))


def write_files(units, path):
    """As Spark does: files with names of their own, and a mark."""
    os.makedirs(path)
    for value in values_of(to_frame(FakeSpark(), [chunk for unit in units for chunk in unit.chunks()])):
        with open(os.path.join(path, f"part-{next(FILES)}"), "w") as file:
            file.write(str(value))
    with open(os.path.join(path, "_SUCCESS"), "w"):
        pass


def table_values(folder):
    names = [name for name in os.listdir(folder) if name[0] not in "._"] if os.path.exists(folder) else []
    results = []
    for name in names:
        with open(os.path.join(folder, name)) as file:
            results.append(int(file.read()))
    return sorted(results)


class TableCommitter(Committer):
    def __init__(self, folder):
        self.folder = folder

    def commit(self, committables):
        if committables:
            FileTable(LocalFiles(self.folder), committables[0].owner).commit(committables, write_files)
        for unit in committables:
            unit.delete()


class TableSink(SparkSink):
    def create_committer(self):
        return TableCommitter(self.path)


def staged(tmp_path, *rounds, subtask=0):
    harness = SinkHarness()
    context = harness.context(Types.LONG(), subtask, 2, staging_folder=str(tmp_path / "staging"))
    writer = pickle.loads(pickle.dumps(SparkSink(format="parquet", path="x"))).create_writer(context)
    units = []
    for values in rounds:
        writer.write(values, None)
        writer.flush(False)
        units += writer.prepare_commit()
    assert harness.sent == [], "nothing goes to the driver but the names of what is staged"
    return pickle.loads(pickle.dumps(units))


def test_epochs_are_staged_until_the_checkpoint(tmp_path):
    first, second = staged(tmp_path, [1, 2], [3])
    assert (first.owner, first.writer, first.number, second.number) == ("job/sink", "0-0", 0, 1)
    assert [values_of(to_frame(FakeSpark(), list(unit.chunks()))) for unit in (first, second)] == [[1, 2], [3]]
    first.delete()
    assert (first.is_there, second.is_there) == (False, True)
    with pytest.raises(SinkError, match="is gone"):
        list(first.chunks())


def test_a_staged_file_that_was_cut_is_found_out(tmp_path):
    (unit,) = staged(tmp_path, [1, 2])
    (file,) = (tmp_path / "staging").rglob("*.staged")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SinkError, match="bytes instead of"):
        list(unit.chunks())


@pytest.mark.parametrize("position", [0, 3, 9, 40, -1])
def test_a_byte_that_has_changed_in_a_staged_file_is_found_out(tmp_path, position):
    (unit,) = staged(tmp_path, [1, 2])
    (file,) = (tmp_path / "staging").rglob("*.staged")
    content = bytearray(file.read_bytes())
    content[position] ^= 64
    file.write_bytes(content)
    with pytest.raises(DamagedStagedDataError, match=r"is damaged: .*0-0-0.staged"):
        list(unit.chunks())


def test_what_an_earlier_version_has_staged_is_read(tmp_path):
    (tmp_path / "0-0-0.staged").write_bytes(b"".join(struct.pack(">Q", len(piece)) + piece for piece in (b"ab", b"c")))
    assert list(StagedData("job/sink", "0-0", 0, str(tmp_path), 19).chunks()) == [b"ab", b"c"]


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("change", range(1, 9))
def test_a_commit_to_a_table_that_dies_around_any_change_is_completed_by_the_next(tmp_path, change, is_done):
    units = staged(tmp_path, [1, 2, 3])
    table = tmp_path / "table"
    table.mkdir()
    # Changes: the staging folder, the list of moves, three moves, the log, the staging folder, the list again.
    with pytest.raises(Crash):
        FileTable(LocalFiles(table, change, is_done), "job/sink").commit(units, write_files)
    assert set(table_values(table)) <= {1, 2, 3}
    for _ in range(2):
        FileTable(LocalFiles(table), "job/sink").commit(units, write_files)
        assert table_values(table) == [1, 2, 3]
    assert os.listdir(table / "_funke" / "job-sink") == ["committed.json"]


def test_units_that_a_table_has_are_left_out(tmp_path):
    one, two = staged(tmp_path, [1], [2])
    table = FileTable(LocalFiles(tmp_path / "table"), "job/sink")
    assert table.commit([one], write_files)
    assert table.commit([one, two], write_files)
    assert not table.commit([one, two], write_files)
    assert table_values(tmp_path / "table") == [1, 2]


@settings(deadline=None, max_examples=30)
@given(
    crashes=st.dictionaries(st.integers(1, 5), st.sampled_from(CRASH_POINTS), max_size=5),
    aborted=st.frozensets(st.integers(1, 4)),
    parallelism=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_any_crashes_lose_and_repeat_nothing(tmp_path_factory, crashes, aborted, parallelism):
    folder = tmp_path_factory.mktemp("spark")
    sink = TableSink(format="parquet", path=str(folder / "table"), sink_id="s")
    CrashingJob(
        sink,
        list(range(10)),
        crashes,
        lambda writer: None,
        Types.LONG(),
        tuple(parallelism),
        2,
        aborted,
        str(folder / "s"),
    ).run()
    assert table_values(folder / "table") == list(range(10))
    assert list(folder.rglob("*.staged")) == []


class Calls:
    """A function that writes, and dies the first time after it has written."""

    def __init__(self, dies=False):
        self.seen, self.dies = [], dies

    def __call__(self, frame, epoch):
        self.seen.append((epoch, sorted(values_of(frame))))
        if self.dies:
            self.dies = False
            raise Crash


def test_a_function_is_called_once_per_epoch_with_its_number(tmp_path):
    calls = Calls()
    committer = SparkCommitter(SparkSink(calls), FakeSpark)
    units = staged(tmp_path, [1, 2])
    committer.commit_epoch(7, units)
    committer.recover(7, units)
    assert calls.seen == [(7, [1, 2])]
    committer.commit_epoch(9, staged(tmp_path, [3], subtask=1))
    assert calls.seen[1:] == [(9, [3])]


def test_a_function_that_dies_is_called_again_with_the_same_number(tmp_path):
    calls = Calls(dies=True)
    committer = SparkCommitter(SparkSink(calls), FakeSpark)
    units = staged(tmp_path, [1, 2])
    with pytest.raises(Crash):
        committer.commit_epoch(7, units)
    committer.recover(7, units)
    assert calls.seen == [(7, [1, 2])] * 2


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_function_that_remembers_epochs_writes_each_record_once(tmp_path, point):
    """The way to exactly once for any target: leave out an epoch that it has."""
    kept: dict[int, list[int]] = {}

    def write(frame, epoch):
        kept[epoch] = values_of(frame)

    sink = SparkSink(write)
    job = CrashingJob(
        sink,
        list(range(10)),
        {2: point, 4: point},
        lambda writer: None,
        Types.LONG(),
        (1,),
        2,
        frozenset(),
        str(tmp_path),
    )
    job._new_committer = lambda: SparkCommitter(sink, FakeSpark)  # type: ignore[method-assign]
    job.run()
    assert Counter(value for values in kept.values() for value in values) == Counter(range(10))


class DeltaFrame:
    """Takes what a DataFrameWriter takes, and keeps versions as Delta does."""

    log: ClassVar[dict[str, Any]] = {}

    def __init__(self, table):
        self.table, self.settings = table, {}
        self.write = self

    def mode(self, mode):
        return self

    def options(self, **options):
        self.settings = options
        return self

    def format(self, name):
        assert name == "delta"
        return self

    def save(self, path):
        app, version = self.settings["txnAppId"], int(self.settings["txnVersion"])
        if version > DeltaFrame.log.get(app, (-1, []))[0]:
            values_before = DeltaFrame.log.get(app, (-1, []))[1]
            DeltaFrame.log[app] = (version, values_before + values_of(self.table))


class DeltaSpark:
    def createDataFrame(self, table):
        return DeltaFrame(table)


def test_delta_is_given_an_id_and_a_version(tmp_path):
    DeltaFrame.log = {}
    committer = SparkCommitter(SparkSink(format="delta", path="/t", options={"mergeSchema": "true"}), DeltaSpark)
    units = staged(tmp_path, [1, 2])
    copies = [pickle.loads(pickle.dumps(unit)) for unit in units]
    inline = [type(unit)(unit.owner, unit.writer, unit.number, None, 0, tuple(unit.chunks())) for unit in copies]
    for _ in range(2):  # without any note of ours: Delta finds out by itself
        committer.commit_epoch(4, inline)
    assert DeltaFrame.log == {"funke-job/sink-0": (4, [1, 2])}


def test_a_savepoint_holds_the_data_itself(tmp_path):
    units = staged(tmp_path, [1, 2], [3])
    held = pickle.loads(pickle.dumps(self_contained([*units, "of another sink"])))
    shutil.rmtree(tmp_path / "staging")
    assert held.pop() == "of another sink"
    assert [(unit.name, unit.is_there) for unit in held] == [("job/sink-0-0-0", True), ("job/sink-0-0-1", True)]
    calls = Calls()
    SparkCommitter(SparkSink(calls), FakeSpark).recover(5, held)
    assert calls.seen == [(5, [1, 2, 3])]


def test_notes_do_not_grow(tmp_path):
    committer = SparkCommitter(SparkSink(lambda frame: None), FakeSpark)
    for epoch, unit in enumerate(staged(tmp_path, *[[number] for number in range(5)])):
        committer.commit_epoch(epoch, [unit])
    (notes,) = (tmp_path / "staging").rglob("committed.json")
    assert json.loads(notes.read_text()) == {"0-0": 4}
