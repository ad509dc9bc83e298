"""What is written down about a job is enough to go on with it, and only its owner's word counts."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, JobExecutionError, LeaseLostError, RecoveryRejectedError, StateError
from funke.engine.jobs.records.job_record import JobRecord, OwnedRecord, home_folder, read_records, remove_oldest
from funke.engine.jobs.records.recorded_job import EndedJob
from funke.engine.jobs.records.recovery import (
    RUN_VARIABLE,
    ProgramRun,
    RecoveryTries,
    admit_if_asked,
    interrupted_runs,
    recovery_command,
)
from funke.engine.jobs.settings import JobSettings
from funke.engine.types.job_status import JobStatus

COMMAND = ("python", "job.py", "--input", "x")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    return str(tmp_path / "home")


def settings(**values: str) -> JobSettings:
    return JobSettings("count", {"execution.checkpointing.interval": "1 s", **values})


def submit(run: ProgramRun, arguments: JobSettings | None = None) -> OwnedRecord:
    admitted = run.admit(arguments or settings())
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    return admitted.record


def crash(record: OwnedRecord) -> None:
    """What the system does for a driver that dies."""
    record.release()


def only(home: str) -> JobRecord:
    (record,) = read_records(home)
    return record


def test_a_record_holds_what_is_needed_to_run_the_program_again(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    owned.put_status(JobStatus.RUNNING)
    owned.put_checkpoint("/checkpoints/chk-7")
    record = only(home)
    assert record == owned.record and record.name == "count" and record.folder == f"{home}/jobs/{owned.job_id}"
    assert record.configuration == {"execution.checkpointing.interval": "1 s"}
    assert (record.state().status, record.state().checkpoint) == (JobStatus.RUNNING, "/checkpoints/chk-7")
    assert oct(os.stat(record.folder).st_mode & 0o777) == "0o700"
    assert interrupted_runs(home) == {}
    crash(owned)
    assert interrupted_runs(home) == {record.run_id: [record]}
    assert recovery_command(record) == (COMMAND, str(tmp_path), {RUN_VARIABLE: record.run_id})


def test_a_run_that_is_repeated_goes_on_with_its_jobs(home: str, tmp_path: Path) -> None:
    run = ProgramRun(COMMAND, str(tmp_path))
    first, second = submit(run), submit(run, settings(a="old"))
    first.put_status(JobStatus.FINISHED)
    second.put_checkpoint("/checkpoints/chk-3")
    crash(first)
    crash(second)
    again = ProgramRun(COMMAND, str(tmp_path), first.record.run_id)
    ended = again.admit(settings())
    assert isinstance(ended, EndedJob) and ended.job_id == first.job_id
    assert ended.status() is JobStatus.FINISHED and ended.result().job_id == first.job_id
    with pytest.raises(StateError, match="not kept"):
        next(ended.collected("x"))
    continued = again.admit(settings(a="new"))
    assert isinstance(continued, JobSettings) and continued.record is not None
    assert continued.configuration["a"] == "old"
    owned = continued.record
    assert (owned.job_id, owned.attempt, owned.checkpoint) == (second.job_id, 1, "/checkpoints/chk-3")
    third = submit(again)
    assert third.record.ordinal == 2 and third.attempt == 0
    assert len(list(read_records(home))) == 3


def test_a_job_that_had_failed_fails_again_without_running(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    owned.put_failure(ValueError("no such column"))
    owned.put_status(JobStatus.FAILED)
    crash(owned)
    assert interrupted_runs(home) == {}
    ended = ProgramRun(COMMAND, str(tmp_path), owned.record.run_id).admit(settings())
    assert isinstance(ended, EndedJob)
    with pytest.raises(JobExecutionError, match="no such column"):
        ended.result()


def test_a_job_that_runs_cannot_be_recovered(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    with pytest.raises(LeaseLostError, match="already run by process"):
        ProgramRun(COMMAND, str(tmp_path), owned.record.run_id).admit(settings())
    crash(owned)


def test_what_a_replaced_driver_writes_is_not_read(home: str, tmp_path: Path) -> None:
    old = submit(ProgramRun(COMMAND, str(tmp_path)), settings(**{"funke.lease-timeout": "500 ms"}))
    old.put_checkpoint("/checkpoints/chk-1")
    old._lease._released.set()  # its heart stops, its lock stays: a process that was stopped
    path = f"{old.record.folder}/attempt-0"
    os.utime(path, (0, 0))
    new = OwnedRecord.take(old.record)
    assert (new.attempt, new.checkpoint) == (1, "/checkpoints/chk-1")
    old.put_checkpoint("/checkpoints/chk-2")
    for act in (old.check, old.advance, lambda: old.put_status(JobStatus.FINISHED)):
        with pytest.raises(LeaseLostError):
            act()
    assert only(home).state().checkpoint == "/checkpoints/chk-1"
    crash(new)


def test_attempts_of_one_driver_keep_the_pointer(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    owned.put_checkpoint("/checkpoints/chk-1")
    for _ in range(4):
        owned.advance()
    assert only(home).state().checkpoint == "/checkpoints/chk-1"
    assert len([name for name in os.listdir(owned.record.folder) if name.startswith("state-")]) == 2
    crash(owned)


def test_a_job_without_checkpoints_is_known_while_it_runs_and_has_failed_with_its_driver(
    home: str, tmp_path: Path
) -> None:
    run = ProgramRun(COMMAND, str(tmp_path))
    admitted = run.admit(JobSettings("count", {}))
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    admitted.record.put_status(JobStatus.RUNNING)
    assert only(home).observed_state().status is JobStatus.RUNNING
    crash(admitted.record)
    assert only(home).observed_state().status is JobStatus.FAILED and interrupted_runs(home) == {}
    # A program that is run again because of another job runs this one from its start.
    again = ProgramRun(COMMAND, str(tmp_path), only(home).run_id).admit(JobSettings("count", {}))
    assert isinstance(again, JobSettings) and again.record is not None and again.record.checkpoint is None


def test_a_job_without_checkpoints_needs_no_record_to_run(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "file"))
    plain = JobSettings("count", {})
    assert ProgramRun(COMMAND, str(tmp_path)).admit(plain) is plain


def test_only_the_newest_ended_jobs_are_remembered(home: str, tmp_path: Path) -> None:
    run = ProgramRun(COMMAND, str(tmp_path))
    for _ in range(5):
        owned = submit(run)
        owned.put_status(JobStatus.FINISHED)
        crash(owned)
    remove_oldest(home, Settings())
    assert len(list(read_records(home))) == 5
    remove_oldest(home, Settings({"jobstore.max-capacity": "2"}))
    assert [record.ordinal for record in read_records(home)] == [3, 4]


def test_where_records_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUNKE_HOME", "/a")
    assert home_folder(Settings()) == "/a"
    assert home_folder(Settings({"funke.home": "/b"})) == "/b"
    both = {"funke.home": "/b", "high-availability.storageDir": "file:///c", "high-availability.cluster-id": "blue"}
    assert home_folder(Settings(both)) == "/c/blue"
    monkeypatch.delenv("FUNKE_HOME")
    assert home_folder(Settings()) == os.path.expanduser("~/.funke")
    with pytest.raises(ConfigurationError, match=r"a folder, in S3 .* or in HDFS"):
        home_folder(Settings({"high-availability.storageDir": "ftp://x/y"}))


def test_clusters_in_one_storage_do_not_see_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {"high-availability.storageDir": str(tmp_path)}
    homes = [home_folder(Settings({**shared, "high-availability.cluster-id": name})) for name in ("blue", "green")]
    owned = []
    for folder in homes:
        monkeypatch.setenv("FUNKE_HOME", folder)
        owned.append(submit(ProgramRun(COMMAND, str(tmp_path))))
    assert [[record.job_id for record in read_records(folder)] for folder in homes] == [
        [record.job_id] for record in owned
    ]


def test_a_damaged_record_is_named(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    crash(owned)
    Path(owned.record.folder, "record.json").write_text(json.dumps({"job_id": "x"})[:-1])
    with pytest.raises(StateError, match=r"record\.json' is damaged"):
        list(read_records(home))


def test_a_configuration_can_ask_for_records_however_the_program_was_started(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(RUN_VARIABLE, raising=False)
    for value in ("NONE", "none"):
        plain = settings(**{"high-availability.type": value})
        assert admit_if_asked(plain) is plain
    asked = admit_if_asked(settings(**{"high-availability": "zookeeper"}))
    assert isinstance(asked, JobSettings) and asked.record is not None
    assert asked.record.record.command == (sys.executable, *sys.orig_argv[1:])
    assert asked.record.record.working_folder == os.getcwd()
    assert admit_if_asked(asked) is asked
    crash(asked.record)


def test_a_state_that_was_edited_is_rejected_and_one_of_an_earlier_version_is_not(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    owned.put_checkpoint("/checkpoints/chk-5")
    crash(owned)
    path = Path(owned.record.folder, "state-0.json")
    written = path.read_text()
    for edited in (written.replace("chk-5", "chk-4"), written.replace('"checksum"', '"other"')):
        path.write_text(edited)
        with pytest.raises(StateError, match=r"state-0\.json' is damaged: its checksum does not match"):
            owned.record.state()
        # Others are listed beside it.
        observed = owned.record.observed_state()
        assert observed.status is JobStatus.SUSPENDED and "is damaged" in observed.failures[0]
    path.write_text(written.replace('"checksum"', '"other"'))
    assert replace(owned.record, has_checksums=False).state().checkpoint == "/checkpoints/chk-5"


def test_a_state_that_is_gone_is_remembered_until_there_is_a_checkpoint(home: str, tmp_path: Path) -> None:
    run = ProgramRun(COMMAND, str(tmp_path))
    owned = submit(run)
    assert not owned.is_state_lost
    owned.put_checkpoint("/checkpoints/chk-5")
    crash(owned)
    for _ in range(2):
        Path(owned.record.folder, f"state-{owned.attempt}.json").unlink()
        owned = OwnedRecord.take(owned.record)
        assert owned.is_state_lost
        owned.give_up(StateError("somebody has to decide"))
        assert owned.record.state().status is JobStatus.SUSPENDED
    owned = OwnedRecord.take(owned.record)
    assert owned.is_state_lost and owned.checkpoint is None
    owned.put_checkpoint("/checkpoints/chk-6")
    assert not owned.is_state_lost


def test_who_is_tried_again_and_when(home: str, tmp_path: Path) -> None:
    now = [1000.0]
    tries = RecoveryTries(lambda: now[0])
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    owned.put_checkpoint("/checkpoints/chk-1")
    crash(owned)

    def pause() -> float:
        """How long it takes until the run is tried again."""
        began = now[0]
        while not tries.begins(only(home)):
            now[0] += 1
        return now[0] - began

    # Its program may fail for a reason that goes away: a storage, a database, a file.
    assert [pause() for _ in range(8)] == [0, 30, 60, 120, 240, 480, 600, 600]
    again = submit(ProgramRun(COMMAND, str(tmp_path), owned.record.run_id))
    again.put_checkpoint("/checkpoints/chk-2")
    crash(again)
    assert [pause() for _ in range(3)] == [600, 30, 60], "it has got further"

    # Damage does not go away by itself.
    rejected = submit(ProgramRun(COMMAND, str(tmp_path), owned.record.run_id))
    rejected.give_up(RecoveryRejectedError("chk-2 is damaged"))
    now[0] += 10_000
    assert only(home).state().status is JobStatus.SUSPENDED and not tries.begins(only(home))
    assert RecoveryTries().begins(only(home)), "whoever begins to look after it tries once"
    # Somebody has decided.
    decided = submit(ProgramRun(COMMAND, str(tmp_path), owned.record.run_id, "repeat"))
    crash(decided)
    assert tries.begins(only(home))


def test_a_record_that_is_damaged_is_not_tried_again(home: str, tmp_path: Path) -> None:
    owned = submit(ProgramRun(COMMAND, str(tmp_path)))
    crash(owned)
    Path(owned.record.folder, "state-0.json").write_text("{}")
    tries = RecoveryTries(iter((0.0, 1e9)).__next__)
    assert tries.begins(only(home)) and not tries.begins(only(home))
