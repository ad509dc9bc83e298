"""Files that several checkpoints share: they go when no checkpoint needs them, also what a failed one has left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.engine.config import Settings
from funke.engine.errors import JobExecutionError, LeaseLostError, StateError
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator, CheckpointedJob
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, SnapshotAck
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle


class Lease:
    """Says who runs the job."""

    is_lost = False

    def check(self) -> None:
        if self.is_lost:
            raise LeaseLostError("another driver runs the job")

    def put_checkpoint(self, folder: str, is_last: bool) -> None:
        pass


class Job:
    """Incremental checkpoints of one slot, each with the files that a test names."""

    def __init__(self, folder: Path, **options: str) -> None:
        keys = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        configured = {
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.incremental": "true",
            "execution.checkpointing.tolerable-failed-checkpoints": "9",
            "state.checkpoints.dir": str(folder),
            **keys,
        }
        settings = CheckpointSettings.of(Settings(configured))
        self.shared = folder / "job-1" / "shared"
        self.shared.mkdir(parents=True)
        self.lease = Lease()
        store = CheckpointStore(f"{folder}/job-1", settings.retained)
        self.now = 0.0
        self.checkpoint_coordinator = CheckpointCoordinator(
            CheckpointedJob("job-1"), settings, store, store.highest_id(), guard=self.lease, clock=lambda: self.now
        )

    def begin(self, *names: str) -> CheckpointCommand:
        """A checkpoint whose slot has written some shared files."""
        self.now += 1
        command, _ = self.checkpoint_coordinator.next_command() or (None, None)
        assert command is not None
        self.checkpoint_coordinator.begin(command, 1, {}, [0])
        for name in names:
            (self.shared / name).write_bytes(b"abc")
        return command

    def answer(self, command: CheckpointCommand, *names: str, failure: str | None = None) -> None:
        native = (("op", tuple(NativeFile(f"../shared/{name}", name, 3) for name in names)),)
        handle = SnapshotHandle(("op",), 0, 1, "1-0-0", 3, native)
        self.checkpoint_coordinator.take([SnapshotAck(command.checkpoint_id, 0, (handle,), failure)])
        self.checkpoint_coordinator.advance(lambda epoch, committables: None)

    def files(self) -> set[str]:
        return {path.name for path in self.shared.iterdir()}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_files_of_a_failed_checkpoint_go_with_the_next_good_one(job: Job) -> None:
    job.answer(job.begin("a"), "a")
    job.answer(job.begin("b"), failure="no space")
    assert job.files() == {"a", "b"}, "its writers may not have ended"
    job.answer(job.begin("c"), "a", "c")
    assert job.files() == {"a", "c"}


def test_nothing_goes_that_a_checkpoint_under_way_may_need(tmp_path: Path) -> None:
    job = Job(tmp_path, execution__checkpointing__max_concurrent_checkpoints="2")
    first = job.begin("a", "x")
    second = job.begin("b")
    job.answer(first, "a")
    assert job.files() == {"a", "b", "x"}
    job.answer(second, "a", "b")
    assert job.files() == {"a", "b"}


def test_files_of_a_failed_attempt_go_with_it(job: Job) -> None:
    job.answer(job.begin("a"), "a")
    job.begin("b", "b.part")
    job.checkpoint_coordinator.end_attempt(JobExecutionError("a slot is gone"))
    assert job.files() == {"a"}


def test_all_checkpoints_that_are_kept_count(tmp_path: Path) -> None:
    job = Job(tmp_path, execution__checkpointing__num_retained="2")
    job.answer(job.begin("a"), "a")
    job.answer(job.begin("b"), "b")
    assert job.files() == {"a", "b"}
    job.answer(job.begin("c"), "c")
    assert job.files() == {"b", "c"}


def test_a_driver_that_was_replaced_removes_nothing(job: Job) -> None:
    job.answer(job.begin("a"), "a")
    job.begin("b")
    job.lease.is_lost = True
    job.checkpoint_coordinator.end_attempt(JobExecutionError("too late"))
    assert job.files() == {"a", "b"}


def test_small_state_is_written_into_the_metadata_unless_set_otherwise(tmp_path: Path) -> None:
    def sizes(**options: Any) -> tuple[int, int]:
        settings = CheckpointSettings.of(Settings({key.replace("__", "."): value for key, value in options.items()}))
        return settings.inline_bytes, settings.buffer_bytes

    assert sizes() == (20 << 10, 1 << 20)
    older = {"state.backend.fs.memory-threshold": "1 kb", "state.backend.fs.write-buffer-size": "4 kb"}
    assert sizes(**older) == (1 << 10, 4 << 10)
    assert sizes(**{"state.storage.fs.memory-threshold": "8 kb", **older}) == (8 << 10, 8 << 10), "the larger counts"
    assert sizes(**{"execution.checkpointing.data-inline-threshold": "5 mb"}) == (1 << 20, 1 << 20), "at most 1 MB"
    assert sizes(**{"execution.checkpointing.data-inline-threshold": "0"})[0] == 0


def test_files_of_a_damaged_checkpoint_stay_until_somebody_has_decided_about_it(tmp_path: Path) -> None:
    job = Job(tmp_path, execution__checkpointing__num_retained="2")
    job.answer(job.begin("a"), "a")
    job.answer(job.begin("b"), "b")
    job.checkpoint_coordinator.store.discard(StateError("the newest one is damaged"))
    job.checkpoint_coordinator.end_attempt(JobExecutionError("nobody has allowed to go back"))
    assert job.files() == {"a", "b"}
    job.checkpoint_coordinator.store.go_back(job.checkpoint_coordinator.store.completed[-1])
    job.checkpoint_coordinator.end_attempt(JobExecutionError("a slot is gone"))
    assert job.files() == {"a"}
