"""Sinks with transactions: each step is called when it should be, and a crash at any step loses and repeats nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.datastream.connectors.python import CommitRequest, PythonCommitter, PythonSink, TwoPhaseCommitSinkFunction
from funke.datastream.engine_values import to_engine_sink, to_engine_sink_function
from funke.engine.connectors.committing import SinkCommits, commit_until_done
from funke.engine.connectors.two_phase import TransactionalSink
from funke.engine.errors import SinkError
from tests.unit.connectors.crash_harness import CRASH_POINTS, CrashingJob
from tests.unit.connectors.sink_harness import SinkHarness


class Files(TwoPhaseCommitSinkFunction):
    """Transactions are hidden files; the ids say which attempt they are of."""

    def __init__(self, folder, is_searched=True):
        self.folder = str(folder)
        self.is_searched = is_searched

    def begin_transaction(self):
        path = os.path.join(self.folder, f".{self.new_transaction_id()}")
        Path(path).touch()
        return path

    def invoke(self, transaction, value, context):
        with open(transaction, "a") as file:
            file.write(f"{value}\n")

    def pre_commit(self, transaction):
        pass

    def commit(self, transaction):
        if os.path.exists(transaction):
            os.rename(transaction, transaction.replace("/.", "/"))

    def abort(self, transaction):
        if os.path.exists(transaction):
            os.remove(transaction)

    def find_transactions(self, prefix):
        if not self.is_searched:
            return {}
        hidden = [name[1:] for name in os.listdir(self.folder) if name.startswith(f".{prefix}")]
        return {name: os.path.join(self.folder, f".{name}") for name in hidden}


def lines(folder):
    return sorted(
        int(line) for path in folder.iterdir() if path.name[0] != "." for line in path.read_text().splitlines()
    )


class Recorder(TwoPhaseCommitSinkFunction):
    def __init__(self):
        self.calls = []
        self.number = 0

    def open(self, context):
        self.calls.append("open")

    def begin_transaction(self):
        self.number += 1
        self.calls.append(f"begin {self.number}")
        return self.number

    def invoke(self, transaction, value, context):
        self.calls.append(f"invoke {transaction} {value} at {context.timestamp()}")

    def pre_commit(self, transaction):
        self.calls.append(f"pre-commit {transaction}")

    def commit(self, transaction):
        self.calls.append(f"commit {transaction}")

    def abort(self, transaction):
        self.calls.append(f"abort {transaction}")

    def recover_and_commit(self, transaction):
        self.calls.append(f"recover and commit {transaction}")

    def recover_and_abort(self, transaction):
        self.calls.append(f"recover and abort {transaction}")

    def finish(self):
        self.calls.append("finish")

    def close(self):
        self.calls.append("close")

    def take_calls(self):
        calls, self.calls = self.calls, []
        return calls


def test_the_steps_of_a_checkpoint():
    function = Recorder()
    sink = TransactionalSink(function)
    writer, committer = sink.create_writer(SinkHarness().context()), sink.create_committer()
    writer.write(["a"], [5])
    assert function.take_calls() == ["open", "begin 1", "invoke 1 a at 5"]
    writer.flush(False)
    prepared = writer.prepare_commit()
    assert (prepared, writer.snapshot()) == ([1], [2])
    committer.commit_epoch(1, prepared)
    assert function.take_calls() == ["pre-commit 1", "begin 2", "commit 1"]
    writer.write(["b"], None)
    writer.flush(True)
    last = writer.prepare_commit()
    assert (last, writer.snapshot(), writer.prepare_commit()) == ([2], [], [])
    writer.close()
    assert function.take_calls() == ["invoke 2 b at None", "finish", "pre-commit 2", "close"]


def test_a_restart_commits_what_was_prepared_and_aborts_what_was_open():
    function = Recorder()
    sink = TransactionalSink(function)
    sink.create_committer().recover(4, ["old 7"])
    sink.create_writer(SinkHarness().context(), ["old 8"])
    assert function.take_calls() == ["recover and commit old 7", "open", "recover and abort old 8", "begin 1"]


def test_a_failed_job_aborts_its_transaction():
    function = Recorder()
    TransactionalSink(function).create_writer(SinkHarness().context()).close()
    assert function.take_calls() == ["open", "begin 1", "abort 1", "close"]


def test_the_function_is_a_sink_for_both_methods():
    function = Recorder()
    assert to_engine_sink(function).function is function
    assert to_engine_sink_function(function).function is function


rounds = st.dictionaries(st.integers(1, 5), st.sampled_from(CRASH_POINTS), max_size=5)


@settings(deadline=None, max_examples=60)
@given(crashes=rounds, aborted=st.frozensets(st.integers(1, 4)), parallelism=st.lists(st.integers(1, 3), min_size=1))
def test_any_crashes_lose_and_repeat_nothing(tmp_path_factory, crashes, aborted, parallelism):
    folder = tmp_path_factory.mktemp("out")
    job = CrashingJob(
        Files(folder).engine_sink,
        list(range(10)),
        crashes,
        kill=lambda writer: None,
        parallelism=tuple(parallelism),
        aborted=aborted,
    )
    job.run()
    assert lines(folder) == list(range(10))
    assert [path.name for path in folder.iterdir() if path.name[0] == "."] == [], "all else was aborted"


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_crash_at_each_step_without_asking_the_system(tmp_path, point):
    """Without `find_transactions`, what no checkpoint knows stays behind; it stays hidden."""
    job = CrashingJob(Files(tmp_path, False).engine_sink, list(range(10)), {2: point}, kill=lambda writer: None)
    job.run()
    assert job.attempts == 1
    assert lines(tmp_path) == list(range(10))


class Failing:
    def __init__(self, failures, error=OSError):
        self.failures, self.error, self.committed = failures, error, []

    def __call__(self, items):
        if self.failures:
            self.failures -= 1
            raise self.error("no connection")
        self.committed += items


def test_a_commit_that_fails_is_tried_again_after_growing_pauses():
    commit, pauses = Failing(2), []
    commit_until_done(commit, ["a"], pause=pauses.append)
    assert commit.committed == ["a"]
    assert pauses == [0.1, 0.2]


def test_a_commit_that_goes_on_failing_fails_the_job():
    pauses = []
    with pytest.raises(OSError, match="no connection"):
        commit_until_done(Failing(99), ["a"], retries=6, pause=pauses.append)
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_lost_data_is_reported_at_once():
    pauses = []
    with pytest.raises(SinkError):
        commit_until_done(Failing(1, SinkError), ["a"], pause=pauses.append)
    assert pauses == []


class Picky(PythonCommitter):
    """Answers as the committable says; remembers in a list that all instances share."""

    def __init__(self, log):
        self.log = log

    def commit(self, requests: list[CommitRequest]):
        for request in requests:
            item, tries = request.get_committable(), request.get_number_of_retries()
            if item == "later" and tries < 2:
                request.retry_later()
            elif item == "two parts":
                self.log.append("first part")
                request.update_and_retry_later("second part")
            elif item == "broken":
                request.signal_failed_with_known_reason(ValueError("given up"))
            elif item == "odd":
                request.signal_failed_with_unknown_reason(ValueError("what now"))
            elif item == "old":
                request.signal_already_committed()
            else:
                self.log.append(f"{item} {tries}")

    def close(self):
        self.log.append("close")


class PickySink(PythonSink):
    def __init__(self):
        self.log = []

    def create_writer(self):
        raise AssertionError

    def create_committer(self):
        return Picky(self.log)


def test_a_committer_answers_for_each_committable(capsys):
    sink = PickySink()
    commits = SinkCommits({"op": sink.engine_sink.create_committer()}, pause=lambda seconds: None)
    commits.commit(1, {"op": ["a", "later", "two parts", "broken", "old"]})
    assert sink.log == ["a 0", "first part", "close", "second part 1", "close", "later 2", "close"]
    assert "given up" in capsys.readouterr().err
    with pytest.raises(SinkError, match="what now"):
        commits.commit(2, {"op": ["odd"]})


def test_sinks_are_committed_one_after_the_other():
    reached, log = [], []
    commits = SinkCommits(
        {"a": PickySink().engine_sink.create_committer(), "b": PickySink().engine_sink.create_committer()},
        between=reached.append,
    )
    commits.commit(1, {"b": ["x"], "a": ["y"]})
    commits.commit(2, {"a": [], "b": ["z"]})
    assert reached == ["b", "a", "b"]
    assert log == []


def test_a_sink_that_was_replaced_is_reported():
    with pytest.raises(SinkError, match="was it replaced"):
        SinkCommits({}).recover(1, {"op": ["x"]})
