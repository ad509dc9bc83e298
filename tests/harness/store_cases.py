"""What a store of job records must do, with owners in processes of their own; a test module names the store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import LeaseLostError
from funke.engine.jobs.records.job_record import JobRecord, OwnedRecord, home_folder, read_records, remove_oldest
from funke.engine.jobs.records.lease import Lease, current_owner
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.engine.types.job_status import JobStatus

# Longer than any pause of a busy machine, and how long one waits for those who are stopped or dead.
LONG_S, SHORT_S = 60.0, 0.5
OWNER = """
import json, sys
from funke.engine.config.settings import Settings
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.jobs.records.lease import Lease
home_folder(Settings(json.loads(sys.argv[1])))
lease = Lease.acquire(sys.argv[2], float(sys.argv[3]))
print(lease.attempt, flush=True)
for line in sys.stdin:
    try:
        lease.check()
        print("mine", flush=True)
    except Exception as error:
        print(error, flush=True)
lease.release()
"""


@dataclass
class Storage:
    """A home of job records, and what a process needs to reach it."""

    settings: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> str:
        """Where records are."""
        return home_folder(Settings(self.settings))


@dataclass
class Owner:
    """Another process that holds a lease."""

    process: subprocess.Popen[str]

    def checks(self) -> str:
        """What it finds when it looks whether the lease is still its own."""
        return self._answer("check\n")

    def releases(self) -> None:
        """It gives the lease back and ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(LONG_S) == 0

    def _answer(self, text: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


class StoreCases:
    """Subclasses have a fixture `storage`."""

    @pytest.fixture
    def folder(self, storage: Storage) -> str:
        """A folder for a lease."""
        folder = join_path(storage.home, "jobs/lease")
        store_of(folder).make_folder(folder)
        return folder

    @pytest.fixture
    def owner(self, storage: Storage, folder: str) -> Iterator[Owner]:
        """It shows every tenth of a second that it lives."""
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, json.dumps(storage.settings), folder, str(SHORT_S)],
            env={**os.environ, **storage.variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None and process.stdout.readline() == "0\n"
            yield Owner(process)
        finally:
            process.kill()
            process.wait()

    def test_an_owner_that_lives_is_left_alone(self, folder: str, owner: Owner) -> None:
        with pytest.raises(LeaseLostError, match=rf"already run by process {owner.process.pid} on .* \(attempt 0\)"):
            Lease.acquire(folder, LONG_S)
        assert owner.checks() == "mine"

    def test_a_dead_owner_is_followed(self, folder: str, owner: Owner) -> None:
        owner.process.kill()
        owner.process.wait()
        lease = Lease.acquire(folder, SHORT_S)
        assert lease.attempt == 1
        lease.release()

    def test_an_owner_that_has_gone_is_followed_at_once(self, folder: str, owner: Owner) -> None:
        owner.releases()
        lease = Lease.acquire(folder, 3600)
        assert lease.attempt == 1
        lease.release()

    def test_an_owner_that_was_stopped_finds_out_and_changes_nothing(self, folder: str, owner: Owner) -> None:
        os.kill(owner.process.pid, signal.SIGSTOP)
        while (owner_now := current_owner(folder, SHORT_S)) is not None and owner_now.is_alive:
            pass
        lease = Lease.acquire(folder, SHORT_S)
        owner.process.send_signal(signal.SIGCONT)
        assert owner.checks() == "another driver runs the job (attempt 1, this one is 0)"
        owner.releases()
        lease.check()
        owner_now = current_owner(folder, LONG_S)
        assert owner_now is not None and (owner_now.attempt, owner_now.pid, owner_now.is_alive) == (
            1,
            os.getpid(),
            True,
        )
        lease.release()

    def test_of_many_that_want_a_lease_one_gets_it(self, folder: str) -> None:
        gate, won, lost = threading.Barrier(8), [], []

        def contend() -> None:
            gate.wait()
            try:
                # A fifth of it is how long the others wait for a beat.
                won.append(Lease.acquire(folder, LONG_S / 2))
            except LeaseLostError as error:
                lost.append(error)

        threads = [threading.Thread(target=contend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1 and len(lost) == 7 and won[0].attempt == 0
        won[0].release()

    def test_few_numbers_stay(self, folder: str) -> None:
        lease = Lease.acquire(folder, LONG_S)
        assert [lease.advance() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
        lease.check()
        assert sorted(store_of(folder).versions(folder)) == ["attempt-4", "attempt-5", "attempt-6"]
        owner = current_owner(folder, LONG_S)
        assert owner is not None and (owner.attempt, owner.pid, owner.is_alive) == (6, os.getpid(), True)
        lease.release()
        with pytest.raises(LeaseLostError):
            lease.check()
        following = Lease.acquire(folder, LONG_S)
        assert following.attempt == 7
        following.release()

    def test_a_record_outlives_its_driver(self, storage: Storage) -> None:
        record = _record(storage, 0)
        owned = OwnedRecord.create(record)
        owned.put_checkpoint("s3://somewhere/chk-1")
        owned.release()
        (read_back,) = read_records(storage.home)
        assert read_back == record and read_back.state().checkpoint == "s3://somewhere/chk-1"
        version = read_back.version()
        second = OwnedRecord.take(read_back)
        assert (second.attempt, second.checkpoint) == (1, "s3://somewhere/chk-1")
        second.put_checkpoint("s3://somewhere/chk-2")
        assert read_back.version() != version and read_back.state().checkpoint == "s3://somewhere/chk-2"
        with pytest.raises(LeaseLostError):
            owned.put_status(JobStatus.FINISHED)
        second.put_status(JobStatus.FINISHED)
        second.release()
        assert read_back.observed_state().status is JobStatus.FINISHED

    def test_old_records_are_removed(self, storage: Storage) -> None:
        for ordinal in range(3):
            owned = OwnedRecord.create(_record(storage, ordinal))
            owned.put_status(JobStatus.FINISHED)
            owned.release()
        remove_oldest(storage.home, Settings({"jobstore.max-capacity": "1"}))
        assert [record.ordinal for record in read_records(storage.home)] == [2]
        jobs = join_path(storage.home, "jobs")
        assert store_of(jobs).folders(jobs) == ["job2"]


def _record(storage: Storage, ordinal: int) -> JobRecord:
    folder = join_path(storage.home, f"jobs/job{ordinal}")
    return JobRecord(folder, f"job{ordinal}", "a job", "run", ordinal, ("python",), "/", {}, 1, has_checksums=True)
