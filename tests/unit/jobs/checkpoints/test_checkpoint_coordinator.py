"""When checkpoints are due, what completes or ends them, what is committed with them, and how many are kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyarrow import ArrowException

from funke.engine.config import Settings
from funke.engine.errors import JobExecutionError, LeaseLostError, StateError
from funke.engine.jobs.checkpoints import checkpoint_coordinator
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator, CheckpointedJob
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from funke.engine.jobs.checkpoints.savepoints import CheckpointRequest, SavepointRequest
from funke.engine.runtime.blocks.block_codec import decode
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, CheckpointNotifications, SnapshotAck
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle

SLOTS = range(2)


class MovedClock:
    """The clock that the checkpoint coordinator reads, in seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


class Job:
    """What the coordinator does, without Spark: an epoch for every call."""

    def __init__(self, folder: Path, clock: MovedClock, **options: Any) -> None:
        keys = {key.replace("__", ".").replace("_", "-"): str(value) for key, value in options.items()}
        configured = {"execution.checkpointing.interval": "1 s", "state.checkpoints.dir": str(folder), **keys}
        settings = CheckpointSettings.of(Settings(configured))
        self.store = CheckpointStore(f"{settings.folder}/job-1", settings.retained)
        self.checkpoint_coordinator = CheckpointCoordinator(
            CheckpointedJob("job-1"), settings, self.store, self.store.highest_id(), clock=clock
        )
        self.epoch = 0
        self.committed: list[tuple[int, dict[str, list[Any]]]] = []

    def run_epoch(self, *prepared: Any, is_final: bool = False) -> CheckpointCommand | None:
        """Runs one epoch; the sink prepares what is given if the epoch is a checkpoint."""
        command, _ = self.checkpoint_coordinator.next_command(is_final) or (None, None)
        self.epoch += 1
        if command is not None or is_final:
            self.checkpoint_coordinator.prepared(command, {"sink": list(prepared)} if prepared else {})
        if command is not None:
            self.checkpoint_coordinator.begin(command, self.epoch, {"source": b"5"}, SLOTS)
        self.checkpoint_coordinator.advance(self.commit)
        return command

    def commit(self, epoch: int, committables: dict[str, list[Any]]) -> None:
        if committables:
            self.committed.append((epoch, committables))

    def acknowledge(self, command: CheckpointCommand | None, slots: Any = SLOTS, failure: str | None = None) -> None:
        assert command is not None
        for slot in slots:
            handle = SnapshotHandle(("counter",), slot, 2, f"1-{slot}-0", 3)
            if failure is None:
                path = Path(command.folder) / handle.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"abc")
            self.checkpoint_coordinator.take([SnapshotAck(command.checkpoint_id, slot, (handle,), failure)])
        self.checkpoint_coordinator.advance(self.commit)

    def complete(self, *prepared: Any) -> CheckpointCommand:
        self.checkpoint_coordinator._last_started -= 1000
        command = self.run_epoch(*prepared)
        assert command is not None
        self.acknowledge(command)
        return command


def kept(folder: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(folder)) for path in folder.rglob("_metadata"))


def test_checkpointing_is_off_unless_an_interval_is_set(tmp_path: Path, clock: MovedClock) -> None:
    assert CheckpointSettings.of(Settings()).interval_ms is None
    job = Job(tmp_path, clock, execution__checkpointing__interval="0 s")
    clock.now += 1e6
    assert (
        job.run_epoch() is None
        and job.checkpoint_coordinator.ms_until_due() is None
        and not job.checkpoint_coordinator.is_due()
    )


def test_one_is_due_when_the_interval_has_passed(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    clock.now = 100.999
    assert job.run_epoch() is None and not job.checkpoint_coordinator.is_due()
    clock.now = 101.0
    assert job.checkpoint_coordinator.is_due()
    command = job.run_epoch()
    assert command is not None and command.folder == f"{tmp_path}/job-1/chk-1" and command.kind == "checkpoint"
    assert not job.checkpoint_coordinator.is_due()


def test_the_pause_counts_from_the_end_of_the_last_one(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__min_pause="500 ms")
    clock.now = 101.0
    command = job.run_epoch()
    # It takes 900 ms; without the pause the next one would start 100 ms later.
    clock.now = 101.9
    job.acknowledge(command)
    clock.now = 102.39
    assert job.run_epoch() is None
    clock.now = 102.41
    assert job.run_epoch() is not None


def test_one_at_a_time_unless_more_are_allowed(tmp_path: Path, clock: MovedClock) -> None:
    one, two = Job(tmp_path, clock), Job(tmp_path, clock, execution__checkpointing__max_concurrent_checkpoints=2)
    clock.now += 1
    assert one.run_epoch() is not None and two.run_epoch() is not None
    clock.now += 5
    assert one.run_epoch() is None and one.checkpoint_coordinator.ms_until_due() is None
    assert two.run_epoch() is not None
    clock.now += 5
    assert two.run_epoch() is None
    paused = CheckpointSettings.of(
        Settings(
            {
                "execution.checkpointing.max-concurrent-checkpoints": "3",
                "execution.checkpointing.min-pause": "1 s",
            }
        )
    )
    assert paused.max_concurrent == 1, "a pause forces one at a time"


def test_it_is_complete_when_every_slot_has_acknowledged(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    clock.now += 1
    command = job.run_epoch("a")
    assert command is not None
    clock.now += 0.2
    job.acknowledge(command, [0])
    job.acknowledge(command, [0])
    assert kept(tmp_path) == [] and job.committed == [] and job.checkpoint_coordinator.has_pending
    clock.now += 20
    (begun,) = job.checkpoint_coordinator.under_way()
    assert (begun.status, round(begun.duration_ms), [each.slot for each in begun.slots]) == ("IN_PROGRESS", 20_200, [0])
    job.acknowledge(command, [1])
    # Who was late is seen by when it answered.
    (checkpoints,) = job.checkpoint_coordinator.statistics.history
    assert [(each.slot, round(each.answered_ms)) for each in checkpoints.slots] == [(0, 200), (1, 20_200)]
    assert (
        job.checkpoint_coordinator.under_way() == ()
        and kept(tmp_path) == ["job-1/chk-1"]
        and job.committed == [(1, {"sink": ["a"]})]
    )
    assert job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(completed=(1,))
    assert job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(), "slots are told once"
    checkpoint = read_checkpoint(command.folder)
    assert [handle.path for handle in checkpoint.snapshots] == ["1-0-0", "1-1-0"] and checkpoint.sources == {
        "source": b"5"
    }
    assert decode(checkpoint.committables["sink"]) == ["a"] and checkpoint.epoch == 1


def test_a_slot_that_cannot_write_fails_the_job_unless_that_is_tolerated(tmp_path: Path, clock: MovedClock) -> None:
    strict = Job(tmp_path, clock)
    clock.now += 1
    command = strict.run_epoch()
    with pytest.raises(JobExecutionError, match=r"checkpoint 1 failed: slot 0 .* disk full \(1 in a row, 0 are"):
        strict.acknowledge(command, [0], "OSError: disk full")
    lenient = Job(tmp_path, clock, execution__checkpointing__tolerable_failed_checkpoints=2)
    for _ in range(2):
        clock.now += 1
        lenient.acknowledge(lenient.run_epoch(), [0], "disk full")
    lenient.complete()
    for _ in range(2):
        clock.now += 1
        lenient.acknowledge(lenient.run_epoch(), [0], "disk full")
    clock.now += 1
    with pytest.raises(JobExecutionError, match="3 in a row, 2 are tolerated"):
        lenient.acknowledge(lenient.run_epoch(), [0], "disk full")
    assert (
        lenient.checkpoint_coordinator.statistics.failed == 5
        and lenient.checkpoint_coordinator.statistics.completed == 1
    )


def test_what_a_failed_one_had_prepared_goes_into_the_next(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__tolerable_failed_checkpoints=1)
    clock.now += 1
    job.acknowledge(job.run_epoch("a"), [1], "disk full")
    assert job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(aborted=(1,))
    assert job.committed == [] and not (tmp_path / "job-1" / "chk-1").exists()
    command = job.complete("b")
    assert job.committed == [(2, {"sink": ["a", "b"]})]
    assert decode(read_checkpoint(command.folder).committables["sink"]) == ["a", "b"]


def test_it_is_given_up_when_the_time_is_over(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__timeout="2 s")
    clock.now += 1
    command = job.run_epoch()
    job.acknowledge(command, [0])
    clock.now += 2
    job.checkpoint_coordinator.advance(job.commit)
    clock.now += 0.1
    with pytest.raises(JobExecutionError, match="it was not complete after 2000 ms"):
        job.checkpoint_coordinator.advance(job.commit)
    assert (
        job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(aborted=(1,))
        and not job.checkpoint_coordinator.has_pending
    )
    job.acknowledge(command, [1])
    assert kept(tmp_path) == [], "an answer that comes too late does nothing"


def held() -> str:
    return "'Slow' (subtask 1, slot 1)"


def test_it_is_given_up_while_its_epoch_runs(
    tmp_path: Path, clock: MovedClock, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(
        tmp_path,
        clock,
        execution__checkpointing__timeout="2 s",
        execution__checkpointing__tolerable_failed_checkpoints=1,
    )
    clock.now += 1
    command, _ = job.checkpoint_coordinator.next_command() or (None, None)
    assert command is not None and job.checkpoint_coordinator.has_pending
    clock.now += 2
    job.checkpoint_coordinator.expire(held)
    assert job.checkpoint_coordinator.has_pending and job.checkpoint_coordinator.statistics.failed == 0
    clock.now += 0.1
    job.checkpoint_coordinator.expire(held)
    assert not job.checkpoint_coordinator.has_pending and job.checkpoint_coordinator.statistics.failed == 1
    reason = "checkpoint 1 failed: it was not complete after 2000 ms; the epoch waits for 'Slow' (subtask 1, slot 1)"
    assert job.checkpoint_coordinator.statistics.last_failure == reason
    assert capsys.readouterr().err == f"warning: {reason}; the job goes on\n"
    # The epoch ends after all; what its slots write is not wanted any more, what its sinks have prepared is.
    job.checkpoint_coordinator.prepared(command, {"sink": ["a"]})
    job.checkpoint_coordinator.begin(command, 1, {}, SLOTS)
    job.acknowledge(command)
    assert (tmp_path / "job-1" / "chk-1").exists() and job.committed == []
    assert job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(aborted=(1,))
    job.complete("b")
    assert kept(tmp_path) == ["job-1/chk-2"] and job.committed == [(1, {"sink": ["a", "b"]})]
    assert not (tmp_path / "job-1" / "chk-1").exists(), "slots that heard of it too late had written into it"


def test_one_that_is_due_fails_when_the_epoch_before_does_not_end(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(
        tmp_path,
        clock,
        execution__checkpointing__timeout="2 s",
        execution__checkpointing__tolerable_failed_checkpoints=1,
    )
    assert job.run_epoch() is None
    for now, failed in ((102.9, 0), (103.1, 1), (105.0, 1)):
        clock.now = now
        job.checkpoint_coordinator.expire(held)
        assert job.checkpoint_coordinator.statistics.failed == failed
    assert job.checkpoint_coordinator.statistics.last_failure == (
        "checkpoint 1 failed: it could not begin within 2000 ms; the epoch waits for 'Slow' (subtask 1, slot 1)"
    )
    assert job.checkpoint_coordinator.is_due(), "the next one comes at once"
    clock.now = 105.2
    with pytest.raises(JobExecutionError, match=r"2 in a row, 1 are tolerated"):
        job.checkpoint_coordinator.expire(held)


@pytest.mark.parametrize("backlog", [None, "0 s"])
def test_without_a_checkpoint_an_epoch_may_take_any_time(
    tmp_path: Path, clock: MovedClock, backlog: str | None
) -> None:
    off = {"execution__checkpointing__interval": "0 s"}
    during_backlog = {"execution__checkpointing__interval_during_backlog": backlog}
    job = Job(tmp_path, clock, execution__checkpointing__timeout="2 s", **(during_backlog if backlog else off))
    job.checkpoint_coordinator.is_in_backlog = True
    clock.now += 1e6
    job.checkpoint_coordinator.expire(held)
    assert job.checkpoint_coordinator.statistics.failed == 0


def test_the_last_one_may_take_any_time(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(
        tmp_path,
        clock,
        execution__checkpointing__timeout="2 s",
        execution__checkpointing__tolerable_failed_checkpoints=1,
    )
    command, _ = job.checkpoint_coordinator.next_command(is_final=True) or (None, None)
    assert command is not None
    clock.now += 10
    job.checkpoint_coordinator.expire(held)
    assert job.checkpoint_coordinator.statistics.failed == 1, "it counts as one that was due"
    job.checkpoint_coordinator.begin(command, 1, {}, SLOTS)
    job.checkpoint_coordinator.advance(job.commit)
    latest = job.store.latest()
    assert latest is not None and latest.is_final


def test_what_slots_take_to_start_does_not_count(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__timeout="2 s")
    clock.now += 1
    command, _ = job.checkpoint_coordinator.next_command() or (None, None)
    assert command is not None
    clock.now += 60
    job.checkpoint_coordinator.slots_are_ready()
    job.checkpoint_coordinator.begin(command, 1, {}, SLOTS)
    job.acknowledge(command)
    assert kept(tmp_path) == ["job-1/chk-1"]
    # In the next attempt the first epoch is none.
    job.checkpoint_coordinator.end_attempt(JobExecutionError("a slot was lost"))
    clock.now += 60
    job.checkpoint_coordinator.slots_are_ready()
    job.checkpoint_coordinator.expire(held)
    assert job.checkpoint_coordinator.statistics.failed == 0 and job.checkpoint_coordinator.is_due()


def test_a_pointer_that_cannot_be_written_is_a_failed_checkpoint(tmp_path: Path, clock: MovedClock) -> None:
    class FullRecord:
        is_full = True

        def check(self) -> None: ...

        def put_checkpoint(self, folder: str, is_last: bool) -> None:
            if self.is_full:
                raise StateError("the job's record cannot be written: No space left on device")

    job = Job(tmp_path, clock, execution__checkpointing__tolerable_failed_checkpoints=1)
    record = job.checkpoint_coordinator._guard = FullRecord()
    job.complete("a")
    assert job.checkpoint_coordinator.statistics.failed == 1 and job.checkpoint_coordinator.statistics.completed == 0
    assert job.committed == [] and job.store.completed == []
    stopping = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1"), "stop"))
    job.acknowledge(job.run_epoch("b"))
    with pytest.raises(StateError, match="the savepoint failed: the job's record cannot be written: No space left"):
        stopping.result(0)
    record.is_full = False
    job.complete("c")
    assert job.committed == [(3, {"sink": ["a", "b", "c"]})] and job.checkpoint_coordinator.last_savepoint is None


def test_metadata_that_cannot_be_written_is_a_failed_checkpoint(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__tolerable_failed_checkpoints=1)
    clock.now += 1
    command = job.run_epoch("a")
    assert command is not None
    shutil.rmtree(command.folder, ignore_errors=True)
    Path(command.folder).parent.mkdir(exist_ok=True)
    Path(command.folder).write_text("not a folder")
    job.checkpoint_coordinator.take([SnapshotAck(1, slot) for slot in SLOTS])
    job.checkpoint_coordinator.advance(job.commit)
    assert job.checkpoint_coordinator.statistics.failed == 1 and job.committed == []
    job.complete("b")
    assert job.committed == [(2, {"sink": ["a", "b"]})]


@pytest.mark.parametrize(
    "reason", [ArrowException("token rejected"), Py4JError("gone"), ValueError("embedded null byte"), RecursionError()]
)
def test_whatever_is_raised_while_one_is_written_is_its_failure_and_not_the_jobs(
    tmp_path: Path, clock: MovedClock, monkeypatch: pytest.MonkeyPatch, reason: Exception
) -> None:
    def reject(*_: Any) -> Any:
        raise reason

    job = Job(tmp_path, clock, execution__checkpointing__tolerable_failed_checkpoints=1)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint_coordinator, "write_checkpoint", reject)
        job.complete("a")
        asked = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint")))
        job.acknowledge(job.run_epoch())
        with pytest.raises(StateError, match=f"the savepoint failed: {type(reason).__name__}"):
            asked.result(0)
        assert type(reason).__name__ in str(job.checkpoint_coordinator.statistics.last_failed)
    job.complete("b")
    assert job.committed == [(3, {"sink": ["a", "b"]})] and kept(tmp_path) == ["job-1/chk-3"]


def test_a_newer_one_makes_older_ones_pointless(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__max_concurrent_checkpoints=2)
    clock.now += 1
    first = job.run_epoch("a")
    clock.now += 1
    second = job.run_epoch("b")
    job.acknowledge(second)
    assert job.committed == [(2, {"sink": ["a", "b"]})] and not job.checkpoint_coordinator.has_pending
    assert job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(completed=(2,), aborted=(1,))
    job.acknowledge(first)
    assert kept(tmp_path) == ["job-1/chk-2"] and len(job.committed) == 1


def test_an_older_one_commits_only_what_it_knows(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__max_concurrent_checkpoints=2)
    clock.now += 1
    first = job.run_epoch("a")
    clock.now += 1
    second = job.run_epoch("b")
    job.acknowledge(first)
    assert job.committed == [(1, {"sink": ["a"]})]
    job.acknowledge(second)
    assert job.committed == [(1, {"sink": ["a"]}), (2, {"sink": ["b"]})]


def test_a_commit_that_fails_leaves_the_checkpoint_to_start_from(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)

    def reject(epoch: int, committables: dict[str, list[Any]]) -> None:
        raise RuntimeError("no connection")

    clock.now += 1
    command = job.run_epoch("a")
    assert command is not None
    job.checkpoint_coordinator.take([SnapshotAck(1, slot) for slot in SLOTS])
    with pytest.raises(RuntimeError, match="no connection"):
        job.checkpoint_coordinator.advance(reject)
    latest = job.store.latest()
    assert latest is not None and decode(latest.committables["sink"]) == ["a"]


def test_the_last_epoch_commits_everything(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    clock.now += 1
    job.run_epoch("a")
    job.run_epoch("b", is_final=True)
    assert job.committed == [(2, {"sink": ["a", "b"]})]
    latest = job.store.latest()
    assert latest is not None and latest.is_final and latest.snapshots == ()


def test_without_checkpoints_the_last_epoch_commits_too(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__interval="0 s")
    job.run_epoch("a", is_final=True)
    job.checkpoint_coordinator.commit_rest(job.epoch, job.commit)
    assert job.committed == [(1, {"sink": ["a"]})] and kept(tmp_path) == []


def test_a_savepoint_of_a_running_job_commits_nothing(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path / "checkpoints", clock)
    request = SavepointRequest(str(tmp_path / "savepoint-1"))
    future = job.checkpoint_coordinator.requests.ask(request)
    assert job.checkpoint_coordinator.is_due() and job.checkpoint_coordinator.has_savepoints
    command = job.run_epoch("a")
    assert command is not None and command.kind == "savepoint"
    job.acknowledge(command)
    # After a failure the job would go on from the checkpoint before, and write "a" once more.
    assert future.result(0) == str(tmp_path / "savepoint-1") and job.committed == []
    assert decode(read_checkpoint(future.result()).committables["sink"]) == ["a"]
    assert (
        job.checkpoint_coordinator.take_notifications() == CheckpointNotifications()
        and not job.checkpoint_coordinator.has_savepoints
    )
    assert job.store.latest() is None, "a restart never uses it"
    job.complete("b")
    assert job.committed == [(2, {"sink": ["a", "b"]})]


@pytest.mark.parametrize("afterwards", ["stop", "drain and stop"])
def test_a_savepoint_that_ends_the_job_commits(tmp_path: Path, clock: MovedClock, afterwards: Any) -> None:
    job = Job(tmp_path / "checkpoints", clock)
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1"), afterwards))
    job.acknowledge(job.run_epoch("a"))
    assert job.committed == [(1, {"sink": ["a"]})]
    assert job.checkpoint_coordinator.take_notifications() == CheckpointNotifications(completed=(1,))
    assert job.checkpoint_coordinator.last_savepoint is not None
    assert job.checkpoint_coordinator.last_savepoint.is_drained == (afterwards == "drain and stop")
    assert not future.done(), "the job has not ended yet"
    job.checkpoint_coordinator.answer_requests()
    assert future.result(0) == job.checkpoint_coordinator.last_savepoint.path


def test_whoever_stops_a_job_hears_of_the_savepoint_also_when_the_commit_had_to_be_repeated(
    tmp_path: Path, clock: MovedClock
) -> None:
    job = Job(tmp_path / "checkpoints", clock)
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1"), "stop"))
    job.run_epoch("a")

    def reject(epoch: int, committables: dict[str, list[Any]]) -> None:
        raise RuntimeError("no connection")

    job.checkpoint_coordinator.take([SnapshotAck(1, slot) for slot in SLOTS])
    with pytest.raises(RuntimeError, match="no connection"):
        job.checkpoint_coordinator.advance(reject)
    job.checkpoint_coordinator.end_attempt(JobExecutionError("no connection"))
    assert not future.done() and job.checkpoint_coordinator.last_savepoint is not None
    job.checkpoint_coordinator.answer_requests()
    assert future.result(0) == job.checkpoint_coordinator.last_savepoint.path


def test_a_savepoint_that_fails_does_not_fail_the_job(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1")))
    job.acknowledge(job.run_epoch(), [0], "disk full")
    with pytest.raises(StateError, match="the savepoint failed: slot 0 could not write its state: disk full"):
        future.result(0)
    job.complete()


def test_nobody_waits_for_a_savepoint_of_a_job_that_has_failed(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    begun = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "a")))
    job.run_epoch("a")
    waiting = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "b")))
    job.checkpoint_coordinator.end_attempt(JobExecutionError("a slot was lost"))
    with pytest.raises(StateError, match="a slot was lost"):
        begun.result(0)
    assert not waiting.done(), "the next attempt takes it"
    job.checkpoint_coordinator.answer_requests()
    with pytest.raises(JobExecutionError, match="has ended"):
        waiting.result(0)
    with pytest.raises(JobExecutionError, match="has ended"):
        job.checkpoint_coordinator.requests.ask(SavepointRequest("c")).result(0)


def test_a_region_that_restarts_gives_up_what_was_begun(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    coordinator = job.checkpoint_coordinator
    job.complete()
    coordinator.take_notifications()
    clock.now += 1
    begun = job.run_epoch("of the region")
    assert begun is not None
    coordinator.prepared_with(begun.checkpoint_id, "other sink", ["of another"])
    job.acknowledge(begun, [0])
    coordinator.end_region({"sink"}, JobExecutionError("a slot is lost"))
    assert not coordinator.has_pending and coordinator.take_notifications().aborted == (begun.checkpoint_id,)
    job.acknowledge(begun, [1])
    assert job.committed == [] and coordinator.statistics.failed == 0
    # The region prepares its part once more; that of the others is still wanted.
    job.complete("of the region")
    assert job.committed == [(3, {"other sink": ["of another"], "sink": ["of the region"]})]
    assert not Path(begun.folder).exists()


def test_a_checkpoint_can_be_asked_for(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__min_pause="1 h")
    clock.now = 101.0
    first = job.run_epoch()
    asked = [CheckpointRequest(), CheckpointRequest()]
    for request in asked:
        job.checkpoint_coordinator.ask_checkpoint(request)
    assert job.run_epoch() is None, "one at a time"
    job.acknowledge(first)
    # Neither interval nor pause have passed. All who wait get the same one.
    assert job.checkpoint_coordinator.is_due() and not asked[0].future.done()
    second = job.run_epoch()
    job.acknowledge(second)
    assert second is not None and second.kind == "checkpoint"
    assert [request.future.result(0) for request in asked] == [2, 2]
    assert not job.checkpoint_coordinator.is_due()


def test_a_full_one_can_be_asked_for(tmp_path: Path, clock: MovedClock) -> None:
    options = {"execution__checkpointing__incremental": "true", "state__backend__type": "rocksdb"}
    job = Job(tmp_path, clock, **options)
    for is_full in (False, True):
        job.checkpoint_coordinator.ask_checkpoint(CheckpointRequest(is_full))
        command = job.run_epoch()
        assert command is not None and command.is_incremental is not is_full
        job.acknowledge(command)


def test_whoever_asks_for_a_checkpoint_is_answered_whatever_happens(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__tolerable_failed_checkpoints=1)
    failed, dropped, late = CheckpointRequest(), CheckpointRequest(), CheckpointRequest()
    job.checkpoint_coordinator.ask_checkpoint(failed)
    job.acknowledge(job.run_epoch(), [0], "the disk is full")
    with pytest.raises(StateError, match=r"checkpoint 1 failed: slot 0 .*the disk is full"):
        failed.future.result(0)
    job.checkpoint_coordinator.ask_checkpoint(dropped)
    job.run_epoch()
    job.checkpoint_coordinator.end_attempt(JobExecutionError("no"))
    with pytest.raises(StateError, match="the checkpoint failed: the job did"):
        dropped.future.result(0)
    job.checkpoint_coordinator.ask_checkpoint(late)
    job.checkpoint_coordinator.answer_requests()
    with pytest.raises(JobExecutionError, match="the job has ended"):
        late.future.result(0)
    without = Job(tmp_path, clock, execution__checkpointing__interval="0 s")
    with pytest.raises(StateError, match=r"takes no checkpoints: set execution.checkpointing.interval"):
        without.checkpoint_coordinator.ask_checkpoint(CheckpointRequest())


@pytest.mark.parametrize(("interval", "expected"), [("5 s", 5000.0), ("0 s", None)])
def test_while_old_data_is_read_checkpoints_have_a_pace_of_their_own(
    tmp_path: Path, clock: MovedClock, interval: str, expected: float | None
) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__interval_during_backlog=interval)
    job.checkpoint_coordinator.is_in_backlog = True
    assert job.checkpoint_coordinator.ms_until_due() == expected
    job.checkpoint_coordinator.is_in_backlog = False
    assert job.checkpoint_coordinator.ms_until_due() == 1000.0


@pytest.mark.parametrize("afterwards", ["go on", "stop", "drain and stop", "cancel"])
def test_a_savepoint_whose_epoch_fails_is_answered(tmp_path: Path, clock: MovedClock, afterwards: Any) -> None:
    job = Job(tmp_path, clock)
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1"), afterwards))
    command, request = job.checkpoint_coordinator.next_command() or (None, None)
    assert command is not None and request is not None and job.checkpoint_coordinator.has_savepoints
    job.checkpoint_coordinator.end_attempt(JobExecutionError("slot 1 is gone"))
    with pytest.raises(StateError, match=r"the savepoint failed: the job did \(slot 1 is gone\)"):
        future.result(0)
    assert not job.checkpoint_coordinator.has_savepoints and not job.checkpoint_coordinator.has_pending


def test_a_savepoint_whose_epoch_does_not_end_is_answered(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__interval="0 s", execution__checkpointing__timeout="2 s")
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1")))
    job.checkpoint_coordinator.next_command()
    clock.now += 2.1
    job.checkpoint_coordinator.expire(held)
    with pytest.raises(
        StateError, match=r"not complete after 2000 ms; the epoch waits for 'Slow' \(subtask 1, slot 1\)"
    ):
        future.result(0)


def test_a_savepoint_that_no_epoch_takes_is_answered(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__timeout="20 ms")
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1")))
    with pytest.raises(StateError, match="the savepoint failed: the job could not begin it within 20 ms"):
        future.result(10)
    assert job.checkpoint_coordinator.next_command() is None


def test_whoever_lost_the_lease_answers_too(tmp_path: Path, clock: MovedClock) -> None:
    class Taken:
        calls = 0

        def check(self) -> None:
            self.calls += 1
            if self.calls > 1:
                raise LeaseLostError("another driver runs the job")

        def put_checkpoint(self, folder: str, is_last: bool) -> None: ...

    job = Job(tmp_path / "checkpoints", clock)
    job.checkpoint_coordinator._guard = Taken()
    future = job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1"), "stop"))
    command = job.run_epoch("a")
    with pytest.raises(LeaseLostError):
        job.acknowledge(command)
    job.checkpoint_coordinator.end_attempt(LeaseLostError("another driver runs the job"))
    job.checkpoint_coordinator.answer_requests()
    with pytest.raises(JobExecutionError, match="the job has ended"):
        future.result(0)
    assert (tmp_path / "savepoint-1" / "_metadata").is_file(), "the driver that follows may read it"


@pytest.mark.parametrize(
    ("options", "expected"), [({}, ["chk-4"]), ({"state__checkpoints__num_retained": 2}, ["chk-3", "chk-4"])]
)
def test_only_the_newest_are_kept(
    tmp_path: Path, clock: MovedClock, options: dict[str, Any], expected: list[str]
) -> None:
    job = Job(tmp_path, clock, **options)
    for _ in range(4):
        job.complete()
    assert kept(tmp_path) == [f"job-1/{name}" for name in expected]


def test_what_was_written_is_read_back_and_damage_is_noticed(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    command = job.complete("a")
    assert read_checkpoint(command.folder) == job.store.latest()
    path = Path(command.folder) / "_metadata"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StateError, match="damaged"):
        read_checkpoint(command.folder)


@pytest.mark.parametrize(
    ("retention", "ending", "is_kept"),
    [
        ("RETAIN_ON_CANCELLATION", "cancelled", True),
        ("RETAIN_ON_CANCELLATION", "failed", True),
        ("RETAIN_ON_CANCELLATION", "finished", False),
        ("DELETE_ON_CANCELLATION", "cancelled", False),
        ("DELETE_ON_CANCELLATION", "failed", True),
        ("NO_EXTERNALIZED_CHECKPOINTS", "failed", False),
    ],
)
def test_a_cancelled_job_leaves_checkpoints_only_when_asked_to(
    tmp_path: Path, clock: MovedClock, retention: str, ending: str, is_kept: bool
) -> None:
    job = Job(tmp_path, clock, execution__checkpointing__externalized_checkpoint_retention=retention)
    job.complete()
    job.checkpoint_coordinator.remove_unneeded(ending == "cancelled", ending == "failed")
    assert kept(tmp_path) == (["job-1/chk-1"] if is_kept else [])


def test_commands_carry_the_settings(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(
        tmp_path,
        clock,
        execution__checkpointing__snapshot_compression="true",
        execution__checkpointing__incremental="true",
    )
    command = job.complete()
    assert command.compress and command.is_incremental
    job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1")))
    savepoint = job.run_epoch()
    # A savepoint stands for itself: it shares no files.
    assert savepoint is not None and savepoint.compress and not savepoint.is_incremental


def test_checkpoints_go_and_savepoints_stay(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path / "checkpoints", clock)
    job.complete()
    job.checkpoint_coordinator.requests.ask(SavepointRequest(str(tmp_path / "savepoint-1")))
    job.acknowledge(job.run_epoch())
    job.complete()
    assert kept(tmp_path) == ["checkpoints/job-1/chk-3", "savepoint-1"], "a newer checkpoint replaces checkpoints only"
    job.checkpoint_coordinator.remove_unneeded(is_cancelled=True, has_failed=False)
    assert kept(tmp_path) == ["savepoint-1"]
    assert read_checkpoint(str(tmp_path / "savepoint-1")).kind == "savepoint"


def test_without_a_folder_checkpoints_live_as_long_as_the_job(clock: MovedClock) -> None:
    settings = CheckpointSettings.of(Settings({"execution.checkpointing.interval": "1 s"}))
    assert settings.is_temporary and Path(settings.folder).is_dir()
    checkpoint_coordinator = CheckpointCoordinator(
        CheckpointedJob("job-1"), settings, CheckpointStore(f"{settings.folder}/job-1"), 0, clock=clock
    )
    checkpoint_coordinator.remove_unneeded(is_cancelled=True, has_failed=False)
    assert not Path(settings.folder).exists()


def test_folders_beside_the_checkpoints(tmp_path: Path) -> None:
    CheckpointStore(str(tmp_path / "job-1")).make_folders()
    assert sorted(path.name for path in (tmp_path / "job-1").iterdir()) == ["shared", "taskowned"]


def test_numbers_are_never_used_twice(tmp_path: Path, clock: MovedClock) -> None:
    job = Job(tmp_path, clock)
    job.complete()
    (tmp_path / "job-1" / "chk-7").mkdir()
    again = Job(tmp_path, clock)
    assert again.complete().checkpoint_id == 8
