"""Job records in a folder and in an object store behave alike; that of HDFS is tested with its cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, LeaseLostError, StateError
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.jobs.records.lease import Lease, current_owner
from funke.engine.jobs.records.record_store import WrittenStore
from funke.engine.jobs.records.record_stores import store_of
from tests.harness.s3_server import S3Server
from tests.harness.store_cases import LONG_S, SHORT_S, Owner, Storage, StoreCases


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server("funke") as server:
        yield server


class TestFolder(StoreCases):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return Storage({"high-availability.storageDir": str(tmp_path / "home")})

    def test_a_clock_that_is_set_ahead_disturbs_no_owner(self, folder: str, owner: Owner) -> None:
        path = os.path.join(folder, "attempt-0")
        # As files look after that: the process that wants the lease has seen nothing of the owner before.
        os.utime(path, (0, 0))
        with pytest.raises(LeaseLostError):
            Lease.acquire(folder, LONG_S)
        assert owner.checks() == "mine"

    def test_a_clock_that_is_set_back_delays_no_takeover(self, folder: str, owner: Owner) -> None:
        os.kill(owner.process.pid, signal.SIGSTOP)
        ahead = time.time() + 3600
        os.utime(os.path.join(folder, "attempt-0"), (ahead, ahead))
        while (owner_now := current_owner(folder, SHORT_S)) is not None and owner_now.is_alive:
            pass
        lease = Lease.acquire(folder, SHORT_S)
        assert lease.attempt == 1
        lease.release()


class TestObjectStore(StoreCases):
    @pytest.fixture
    def storage(self, tmp_path: Path, s3: S3Server) -> Storage:
        home = {"high-availability.storageDir": f"s3://funke/{tmp_path.name}", "funke.home": str(tmp_path / "local")}
        return Storage({**s3.hadoop_settings(), **home})

    def test_while_the_store_is_away_nothing_is_decided(self, storage: Storage, folder: str, s3: S3Server) -> None:
        lease = Lease.acquire(folder, LONG_S)
        s3.is_down = True
        try:
            with pytest.raises(StateError, match="whether this driver still runs the job is unknown"):
                lease.check()
        finally:
            s3.is_down = False
        lease.check()
        lease.release()

    def test_a_beat_whose_answer_was_lost_is_the_owners_own(self, folder: str) -> None:
        store = store_of(folder)
        number = f"{folder}/attempt-0"
        claim = store.claim(number, {"pid": 1})
        assert claim is not None
        first = store.versions(folder)["attempt-0"]
        claim.beat()
        assert store.versions(folder)["attempt-0"] != first
        # What the client does when it repeats a request: the condition no longer holds, the content is that of before.
        assert isinstance(store, WrittenStore)
        content = store.read(number)
        assert store.rewrite(number, content, str(first)) == store.versions(folder)["attempt-0"]
        with pytest.raises(OSError, match="changed by another process"):
            store.rewrite(number, b"other", str(first))

    def test_sockets_are_in_a_folder_of_this_machine(self, storage: Storage, tmp_path: Path) -> None:
        local = store_of(storage.home).local_folder(f"{storage.home}/jobs/a")
        assert Path(local).parent.parent.parent == tmp_path / "local"


def test_an_object_store_that_takes_no_conditions_is_rejected(tmp_path: Path, s3: S3Server) -> None:
    s3.ignores_conditions = True
    try:
        settings = {"high-availability.storageDir": "s3://funke/plain", "funke.home": str(tmp_path)}
        home = home_folder(Settings({**s3.hadoop_settings(), **settings}))
        with pytest.raises(ConfigurationError, match="conditional writes"):
            Lease.acquire(f"{home}/jobs/a", LONG_S)
    finally:
        s3.ignores_conditions = False
