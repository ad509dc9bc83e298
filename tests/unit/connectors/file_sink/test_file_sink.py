"""The file sink: writing, rolling, committing, and going on after a restart."""

from __future__ import annotations

import pickle

import pytest

from funke.engine.connectors.file_sink.bucket_assigner import BasePathBucketAssigner, DateTimeBucketAssigner
from funke.engine.connectors.file_sink.encoders import SimpleStringEncoder
from funke.engine.connectors.file_sink.part_name import OutputFileConfig
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.connectors.file_sink.sink import FileSink, StreamingFileSink
from funke.engine.errors import ConfigurationError, SinkError
from funke.engine.types.information.type_catalog import Types
from tests.unit.connectors.sink_harness import SinkHarness, files_below

BASE_PATH = BasePathBucketAssigner()
HOUR_MS = 3_600_000


def make_sink(path, **settings):
    settings = {"bucket_assigner": BASE_PATH} | settings
    return pickle.loads(pickle.dumps(FileSink(str(path), SimpleStringEncoder(), **settings)))


def end_input(sink, writer):
    writer.flush(True)
    sink.create_committer().commit(writer.prepare_commit())
    writer.close()


def checkpoint(sink, writer):
    """Returns what the checkpoint remembers, after its commit."""
    writer.flush(False)
    committables = writer.prepare_commit()
    state = writer.snapshot()
    sink.create_committer().commit(committables)
    return pickle.loads(pickle.dumps(state))


def test_files_stay_hidden_until_the_input_ends(tmp_path):
    sink, harness = make_sink(tmp_path), SinkHarness()
    writer = sink.create_writer(harness.context(Types.TUPLE([Types.STRING(), Types.INT()])))
    writer.write([("k0", 0), ("k1", 1)], None)
    writer.flush(False)
    assert files_below(tmp_path) == {".part-#-0.inprogress.#": b"(k0,0)\n(k1,1)\n"}
    end_input(sink, writer)
    assert files_below(tmp_path) == {"part-#-0": b"(k0,0)\n(k1,1)\n"}


def test_without_records_there_are_no_files(tmp_path):
    sink = make_sink(tmp_path / "out")
    end_input(sink, sink.create_writer(SinkHarness().context()))
    assert not (tmp_path / "out").exists()


def test_prefix_and_suffix_stand_around_the_unique_part(tmp_path):
    sink = make_sink(tmp_path, file_config=OutputFileConfig("pre", ".ext"))
    writer = sink.create_writer(SinkHarness().context())
    writer.write(["a"], None)
    end_input(sink, writer)
    assert files_below(tmp_path) == {"pre-#-0.ext": b"a\n"}


def test_every_subtask_writes_files_of_its_own(tmp_path):
    sink, harness = make_sink(tmp_path), SinkHarness()
    for subtask in (0, 1):
        writer = sink.create_writer(harness.context(Types.STRING(), subtask, 2))
        writer.write([f"from {subtask}"], None)
        end_input(sink, writer)
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["from 0\n", "from 1\n"]


def test_date_time_buckets_change_with_the_clock(tmp_path):
    sink = make_sink(tmp_path, bucket_assigner=DateTimeBucketAssigner(zone_id="UTC"))
    harness = SinkHarness(now_ms=10 * HOUR_MS)
    writer = sink.create_writer(harness.context())
    writer.write(["a"], None)
    harness.clock.set(11 * HOUR_MS)
    writer.write(["b"], None)
    end_input(sink, writer)
    assert files_below(tmp_path) == {"1970-01-01--10/part-#-0": b"a\n", "1970-01-01--11/part-#-0": b"b\n"}


@pytest.mark.parametrize("batches", [[["(k0,0)", "(k2,2)", "(k4,4)"]], [["(k0,0)"], ["(k2,2)"], ["(k4,4)"]]])
def test_rolling_by_size_does_not_depend_on_batches(tmp_path, batches):
    # A file is closed before the first record that finds it larger than the limit of 10 bytes.
    sink = make_sink(tmp_path, rolling_policy=RollingPolicy(part_size=10))
    writer = sink.create_writer(SinkHarness().context())
    for batch in batches:
        writer.write(batch, None)
    end_input(sink, writer)
    assert files_below(tmp_path) == {"part-#-0": b"(k0,0)\n(k2,2)\n", "part-#-1": b"(k4,4)\n"}


def test_rolling_by_age_and_inactivity_happens_at_the_check_interval(tmp_path):
    policy = RollingPolicy(rollover_interval_ms=5_000, inactivity_interval_ms=2_000)
    sink, harness = make_sink(tmp_path, rolling_policy=policy, check_interval_ms=1_000), SinkHarness()
    writer = sink.create_writer(harness.context())
    assert writer.next_wakeup_ms() is None

    def pass_time(now_ms):
        harness.clock.set(now_ms)
        writer.on_processing_time(now_ms)

    writer.write(["a"], None)
    assert writer.next_wakeup_ms() == 1_000
    pass_time(1_000)
    assert writer.next_wakeup_ms() == 2_000
    writer.write(["b"], None)
    pass_time(2_999)
    writer.write(["c"], None)
    pass_time(4_998)
    writer.write(["d"], None)
    pass_time(5_998)  # 5998 ms old
    writer.write(["e"], None)
    pass_time(7_998)  # 2000 ms without a record
    assert writer.next_wakeup_ms() is None
    writer.write(["f"], None)
    end_input(sink, writer)
    assert files_below(tmp_path) == {"part-#-0": b"a\nb\nc\nd\n", "part-#-1": b"e\n", "part-#-2": b"f\n"}


def test_the_check_comes_no_earlier_than_its_interval(tmp_path):
    policy = RollingPolicy(rollover_interval_ms=10, inactivity_interval_ms=10)
    sink, harness = make_sink(tmp_path, rolling_policy=policy), SinkHarness()
    writer = sink.create_writer(harness.context())
    writer.write(["a"], None)
    writer.on_processing_time(59_999)
    assert writer.next_wakeup_ms() == 60_000
    writer.on_processing_time(60_000)
    assert writer.next_wakeup_ms() is None
    writer.close()


def test_a_checkpoint_commits_closed_files_and_keeps_the_open_one(tmp_path):
    sink = make_sink(tmp_path, rolling_policy=RollingPolicy(part_size=3))
    writer = sink.create_writer(SinkHarness().context())
    writer.write(["aaa", "b"], None)
    checkpoint(sink, writer)
    assert files_below(tmp_path) == {"part-#-0": b"aaa\n", ".part-#-1.inprogress.#": b"b\n"}
    end_input(sink, writer)
    assert files_below(tmp_path) == {"part-#-0": b"aaa\n", "part-#-1": b"b\n"}


def test_the_on_checkpoint_policy_makes_a_file_per_checkpoint(tmp_path):
    sink = make_sink(tmp_path, rolling_policy=RollingPolicy.on_checkpoint())
    writer = sink.create_writer(SinkHarness().context())
    for value in "ab":
        writer.write([value], None)
        checkpoint(sink, writer)
    writer.close()
    assert files_below(tmp_path) == {"part-#-0": b"a\n", "part-#-1": b"b\n"}


def test_a_bucket_without_files_is_forgotten_and_begins_anew(tmp_path):
    sink = make_sink(tmp_path, rolling_policy=RollingPolicy.on_checkpoint())
    writer = sink.create_writer(SinkHarness().context())
    writer.write(["a"], None)
    checkpoint(sink, writer)
    assert checkpoint(sink, writer) == []
    writer.write(["b"], None)
    end_input(sink, writer)
    # Another unique id, so the number starts again.
    assert sorted(path.name.rpartition("-")[2] for path in tmp_path.iterdir()) == ["0", "0"]


def test_a_restart_drops_what_was_written_after_the_checkpoint_and_goes_on(tmp_path):
    sink, harness = make_sink(tmp_path), SinkHarness()
    writer = sink.create_writer(harness.context())
    writer.write(["a"], None)
    state = checkpoint(sink, writer)
    writer.write(["lost"], None)
    writer.close()

    restarted = sink.create_writer(harness.context(), state)
    restarted.write(["b"], None)
    end_input(sink, restarted)
    assert files_below(tmp_path) == {"part-#-0": b"a\nb\n"}


def test_a_restart_removes_files_begun_after_the_checkpoint(tmp_path):
    sink, harness = make_sink(tmp_path, rolling_policy=RollingPolicy(part_size=3)), SinkHarness()
    writer = sink.create_writer(harness.context())
    writer.write(["a"], None)
    state = checkpoint(sink, writer)
    writer.write(["bbbb", "lost", "lost"], None)
    writer.close()
    assert len(files_below(tmp_path)) == 3

    restarted = sink.create_writer(harness.context(), state)
    restarted.write(["c"], None)
    end_input(sink, restarted)
    assert files_below(tmp_path) == {"part-#-0": b"a\nc\n"}


def test_a_restart_finds_its_file_gone(tmp_path):
    sink, harness = make_sink(tmp_path), SinkHarness()
    writer = sink.create_writer(harness.context())
    writer.write(["a"], None)
    state = checkpoint(sink, writer)
    writer.close()
    (file,) = tmp_path.iterdir()
    for damage in (lambda: file.write_bytes(b""), file.unlink):
        damage()
        with pytest.raises(SinkError, match="cannot be continued"):
            sink.create_writer(harness.context(), state)


def test_states_of_two_subtasks_can_go_to_one(tmp_path):
    sink, harness = make_sink(tmp_path), SinkHarness()
    states = []
    for subtask, value in enumerate("ab"):
        writer = sink.create_writer(harness.context(None, subtask, 2))
        writer.write([value], None)
        states += checkpoint(sink, writer)
        writer.close()
    merged = sink.create_writer(harness.context(), states)
    merged.write(["c"], None)
    end_input(sink, merged)
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["a\n", "b\nc\n"]


def prepared_file(tmp_path):
    sink = make_sink(tmp_path)
    writer = sink.create_writer(SinkHarness().context())
    writer.write(["a"], None)
    writer.flush(True)
    (pending,) = writer.prepare_commit()
    writer.close()
    return sink.create_committer(), pending


def test_a_commit_that_was_done_before_is_done(tmp_path):
    committer, pending = prepared_file(tmp_path)
    committer.commit([pending])
    committer.commit([pending])
    assert files_below(tmp_path) == {"part-#-0": b"a\n"}


def test_a_commit_interrupted_between_two_files_is_completed(tmp_path):
    committer, first = prepared_file(tmp_path)
    _, second = prepared_file(tmp_path)
    committer.commit([first])
    committer.commit([first, second])
    assert {str(path) for path in tmp_path.iterdir()} == {first.final_path, second.final_path}


def test_a_commit_of_a_file_that_vanished_fails(tmp_path):
    committer, pending = prepared_file(tmp_path)
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(SinkError, match="cannot be committed"):
        committer.commit([pending])


def test_a_commit_of_a_file_that_lost_data_fails(tmp_path):
    committer, pending = prepared_file(tmp_path)
    next(tmp_path.iterdir()).write_bytes(b"")
    with pytest.raises(SinkError, match="data was lost"):
        committer.commit([pending])
    assert files_below(tmp_path) == {".part-#-0.inprogress.#": b""}


def test_a_commit_cuts_what_a_failed_attempt_appended(tmp_path):
    committer, pending = prepared_file(tmp_path)
    with next(tmp_path.iterdir()).open("ab") as file:
        file.write(b"trailing junk")
    committer.commit([pending])
    assert files_below(tmp_path) == {"part-#-0": b"a\n"}


def test_the_older_sink_names_files_by_subtask_and_leaves_them_hidden(tmp_path):
    sink = StreamingFileSink(str(tmp_path), SimpleStringEncoder(), BASE_PATH, RollingPolicy(part_size=1))
    writer = sink.create_writer(SinkHarness().context(None, 1, 2))
    writer.write(["a", "b"], None)
    end_input(sink, writer)
    assert files_below(tmp_path) == {".part-1-0.inprogress.#": b"a\n", ".part-1-1.inprogress.#": b"b\n"}


def test_the_older_sink_goes_on_counting_after_a_restart(tmp_path):
    sink = StreamingFileSink(str(tmp_path), SimpleStringEncoder(), BASE_PATH, RollingPolicy.on_checkpoint())
    harness = SinkHarness()
    writer = sink.create_writer(harness.context())
    writer.write(["a"], None)
    state = checkpoint(sink, writer)
    writer.close()
    writer = sink.create_writer(harness.context(), state)
    writer.write(["b"], None)
    checkpoint(sink, writer)
    writer.close()
    assert files_below(tmp_path) == {"part-0-0": b"a\n", "part-0-1": b"b\n"}


def test_charsets(tmp_path):
    latin = SimpleStringEncoder("ISO-8859-1").bind(Types.STRING())
    assert latin(["é", "€"]) == b"\xe9\n?\n"
    with pytest.raises(ConfigurationError, match="no-such-charset"):
        SimpleStringEncoder("no-such-charset")


@pytest.mark.parametrize(
    "settings", [{"rolling_policy": lambda: RollingPolicy(part_size=0)}, {"check_interval_ms": lambda: 0}]
)
def test_limits_must_be_positive(tmp_path, settings):
    with pytest.raises(ConfigurationError, match="positive"):
        FileSink(str(tmp_path), SimpleStringEncoder(), **{name: make() for name, make in settings.items()})
