"""What a checkpoint holds for its sinks is committed once more after a restart, unless it is damaged; what Spark has
written by itself is not written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.engine.connectors.sink import Committer
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.connectors.staging import StagedData
from funke.engine.errors import JobExecutionError
from funke.engine.graph.job_graph import ChainedOperator, JobGraph, JobVertex
from funke.engine.graph.operations import WriteSink
from funke.engine.jobs.attempts.job_failure import DamagedCheckpointError
from funke.engine.jobs.attempts.job_sinks import FrameWrites, JobCommits
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.runtime.blocks.block_codec import encode


class Keeping(Committer):
    """Commits into a list."""

    def __init__(self) -> None:
        self.committed: list[bytes] = []

    def commit(self, committables: list[Any]) -> None:
        self.committed += [chunk for staged in committables for chunk in staged.chunks()]


class Sink:
    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def create_committer(self) -> Committer:
        return self._committer


def commits_of(committer: Committer) -> JobCommits:
    operator = ChainedOperator(1, "out", WriteSink(Sink(committer)), None, "id", False, None)  # type: ignore[arg-type]
    return JobCommits(JobGraph("job", (JobVertex(1, (operator,), 1, 128, "default"),), ()), lambda: None, 0)  # type: ignore


def checkpoint_with(staged: StagedData) -> Checkpoint:
    return Checkpoint("job", 7, 3, committables={"id": encode([staged])}, path="/checkpoints/chk-7")


def test_what_was_prepared_is_committed_again() -> None:
    committer = Keeping()
    commits_of(committer).recover(checkpoint_with(StagedData("job/sink", "0-0", 0, inline=(b"a",))))
    assert committer.committed == [b"a"]


def test_what_is_gone_is_damage_of_the_checkpoint_and_no_failure_of_the_sink(tmp_path: Path) -> None:
    gone = checkpoint_with(StagedData("job/sink", "0-0", 0, str(tmp_path), 12, has_checksums=True))
    with pytest.raises(DamagedCheckpointError, match=r"'/checkpoints/chk-7' is damaged: operator 'out' .*is gone"):
        commits_of(Keeping()).recover(gone)


def test_a_sink_that_fails_is_no_damage() -> None:
    class Failing(Keeping):
        def commit(self, committables: list[Any]) -> None:
            raise ValueError("no connection")

    with pytest.raises(JobExecutionError, match="no connection") as failed:
        commits_of(Failing()).recover(checkpoint_with(StagedData("job/sink", "0-0", 0, inline=(b"a",))))
    assert not isinstance(failed.value, DamagedCheckpointError)


class Writing:
    """Stands for what runs epochs: Spark writes what it computes."""

    def write(self, write: Any) -> list[Any]:
        write()
        return []


def test_what_spark_has_written_is_left_out_by_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str | None] = []
    broken = {"second"}

    def write_rows(sink: SparkSink, session: Any) -> None:
        if sink.path in broken:
            raise OSError("no room")
        written.append(sink.path)

    monkeypatch.setattr(SparkSink, "write_rows", write_rows)
    frames: Any = lambda session: None  # noqa: E731
    operators = tuple(
        ChainedOperator(number, path, WriteSink(SparkSink(format="orc", path=path, rows=rows)), None, path, False, None)
        for number, (path, rows) in enumerate([("first", frames), ("by slots", None), ("second", frames)])
    )
    writes = FrameWrites(JobGraph("job", (JobVertex(1, operators, 1, 128, "default"),), ()), lambda: None)  # type: ignore
    runner: Any = Writing()
    with pytest.raises(JobExecutionError, match="operator 'second' failed: OSError: no room"):
        writes.run(runner)
    broken.clear()
    writes.run(runner)
    assert written == ["first", "second"]
