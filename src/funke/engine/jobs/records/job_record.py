"""What is stored about a job, so that it outlives its driver.

    <home>/jobs/<job id>/record.json       the program, its arguments, the job's configuration: written once
    <home>/jobs/<job id>/attempt-<n>       the lease
    <home>/jobs/<job id>/state-<n>.json    status and last completed checkpoint, as the driver of attempt n knows them
    <home>/jobs/<job id>/view-<n>.json     the job's view, as the driver of attempt n has seen it last
    <home>/jobs/<job id>/control           the socket of the running driver
    <home>/jobs/<job id>/checkpoints/      checkpoints, unless the configuration names another folder

A replaced driver can only write files of its own attempt, which are not read any more. If the home is in an object
store or in HDFS, the socket is in a folder of the driver's machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config import rest_options
from funke.engine.config.settings import Settings
from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.connectors.remote.access import access_of, hadoop_site, install_access
from funke.engine.connectors.remote.file_systems import is_uri
from funke.engine.errors import LeaseLostError, RecoveryRejectedError, StateError, UntrustedError
from funke.engine.jobs.records.lease import Lease, LeaseOwner, await_beats, current_owner
from funke.engine.jobs.records.record_stores import install_store, store_of
from funke.engine.jobs.views.job_view import JobView
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.engine.types.job_status import JobStatus
from funke.engine.types.json_form import from_json, to_json

__all__ = [
    "JobRecord",
    "JobState",
    "OwnedRecord",
    "await_owners",
    "home_folder",
    "read_record",
    "read_records",
    "remove_oldest",
]

# What drivers write: one file of each kind by every attempt.
_WRITTEN_NAME = re.compile(r"(state|view)-(\d+)\.json")
# A view is bounded by itself; what is larger was not written by us.
_MOST_VIEW_BYTES = 64 << 20
_LEASE_TIMEOUT_S = 10.0
_MOST_FAILURES = 16
_CHECKSUM = "checksum"


@dataclass(frozen=True)
class JobRecord:
    """A job as it was submitted: enough to run its program again."""

    folder: str
    job_id: str
    name: str
    # One run of a program, and the how-manieth of its jobs this is.
    run_id: str
    ordinal: int
    command: tuple[str, ...]
    working_folder: str
    configuration: dict[str, str]
    started_ms: int
    # Earlier versions wrote states without checksums.
    has_checksums: bool = False

    def owner(self) -> LeaseOwner | None:
        """The driver that runs the job, or ran it last."""
        return current_owner(self.folder, self.lease_timeout_s)

    @property
    def lease_timeout_s(self) -> float:
        """After how long without a sign of life its driver counts as gone."""
        return lease_timeout_s(Settings(self.configuration))

    def state(self) -> JobState:
        """How the job stands, by the newest attempt that wrote it down."""
        for path in self._written("state"):
            with contextlib.suppress(FileNotFoundError):
                return from_json(JobState, self._checked(path, _read_json(path)))
        return JobState(JobStatus.CREATED, started_ms=self.started_ms)

    def _checked(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        """A state as it was written: what is edited in it would be followed."""
        checksum = content.pop(_CHECKSUM, None)
        if (checksum is not None or self.has_checksums) and checksum != _checksum_of(content):
            raise StateError(
                f"'{path}' is damaged: its checksum does not match what it says. Put back what was written, or remove "
                "it: then `funke recover` tells which checkpoints there are"
            )
        return content

    @property
    def has_state(self) -> bool:
        """Whether a driver has written down how the job stands, and it is there."""
        return bool(self._written("state"))

    def view(self) -> JobView | None:
        """The job as a driver has seen it last; None when nothing that can be read was written down."""
        for path in self._written("view"):
            with contextlib.suppress(OSError, StateError, KeyError, TypeError, ValueError):
                return from_json(JobView, _read_json(path, _MOST_VIEW_BYTES))
        return None

    def _written(self, kind: str) -> list[str]:
        """Paths of what attempts have written, newest first."""
        names = map(_WRITTEN_NAME.fullmatch, store_of(self.folder).versions(self.folder))
        numbers = sorted((int(match[2]) for match in names if match and match[1] == kind), reverse=True)
        return [join_path(self.folder, f"{kind}-{number}.json") for number in numbers]

    def version(self) -> tuple[tuple[str, Hashable], ...]:
        """Another value whenever a driver has written something down."""
        versions = store_of(self.folder).versions(self.folder)
        return tuple(sorted(each for each in versions.items() if _WRITTEN_NAME.fullmatch(each[0])))

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is something to go on from when the driver is gone."""
        interval = Settings(self.configuration).get(options.CHECKPOINTING_INTERVAL)
        return interval is not None and interval.to_millis() > 0

    def observed_state(self) -> JobState:
        """How the job stands for others: without checkpoints it has failed when its driver is gone."""
        try:
            state = self.state()
        except StateError as error:
            return JobState(JobStatus.SUSPENDED, started_ms=self.started_ms, is_refused=True, failures=(str(error),))
        if state.status.is_globally_terminal_state() or self.has_checkpoints:
            return state
        owner = self.owner()
        if owner is not None and owner.is_alive:
            return state
        return replace(state, status=JobStatus.FAILED, failures=(*state.failures, "its driver is gone"))

    @property
    def control_path(self) -> str:
        """Where the running driver listens."""
        return os.path.join(store_of(self.folder).local_folder(self.folder), "control")


@dataclass(frozen=True)
class JobState:
    """What changes while a job runs."""

    status: JobStatus
    started_ms: int = 0
    ended_ms: int | None = None
    # The folder of the last completed checkpoint.
    checkpoint: str | None = None
    # It is the savepoint that the job was stopped with: all that is left to do is to commit what it holds.
    is_stopped: bool = False
    # Another driver had run the job and its record was lost: the last checkpoint is unknown.
    is_lost: bool = False
    # The last driver stopped because of damage; a user has to decide.
    is_refused: bool = False
    failures: tuple[str, ...] = field(default_factory=tuple)


class OwnedRecord:
    """A job's record in the hands of the driver that runs it."""

    def __init__(self, record: JobRecord, lease: Lease) -> None:
        self.record = record
        self._lease = lease
        # Read after the lease was taken: what an earlier driver writes from now on does not count.
        self.restored = record.state()
        is_lost = self.restored.is_lost or (lease.attempt > 0 and not record.has_state)
        self._state = replace(self.restored, status=JobStatus.CREATED, is_lost=is_lost, is_refused=False)
        self._write()

    @staticmethod
    def create(record: JobRecord) -> OwnedRecord:
        """Writes a new record and takes its lease."""
        store_of(record.folder).make_folder(record.folder)
        _write_json(join_path(record.folder, "record.json"), to_json(record))
        return OwnedRecord.take(record)

    @staticmethod
    def take(record: JobRecord) -> OwnedRecord:
        """Takes the lease of a job whose driver is gone; LeaseLostError when it is not."""
        # The job may come from another machine.
        os.makedirs(os.path.dirname(record.control_path), mode=0o700, exist_ok=True)
        lease = Lease.acquire(record.folder, record.lease_timeout_s)
        try:
            return OwnedRecord(record, lease)
        except BaseException:
            lease.release()
            raise

    @property
    def job_id(self) -> str:
        """The identity of the job, the same in all its attempts."""
        return self.record.job_id

    @property
    def attempt(self) -> int:
        """The number of this attempt: part of the name of every file that it writes."""
        return self._lease.attempt

    @property
    def checkpoint(self) -> str | None:
        """The folder of the last completed checkpoint, of this driver or one before."""
        return self._state.checkpoint

    def check(self) -> None:
        """Raises LeaseLostError when another driver has taken over; called before metadata and before commits."""
        self._lease.check()

    def advance(self) -> int:
        """Begins the next attempt; returns its number."""
        number = self._lease.advance()
        self._write()
        return number

    def put_status(self, status: JobStatus) -> None:
        """Writes down how the job stands; what says that a job has ended is only for its owner to write."""
        if status.is_globally_terminal_state():
            self.check()
            self._state = replace(self._state, ended_ms=int(time.time() * 1000))
        self._state = replace(self._state, status=status)
        self._write()

    @property
    def is_stopped(self) -> bool:
        """Whether that is the savepoint with which the job ends."""
        return self._state.is_stopped

    @property
    def is_state_lost(self) -> bool:
        """Whether it is unknown which checkpoint was the last one, because what an earlier driver wrote is gone."""
        return self._state.is_lost

    def put_checkpoint(self, folder: str, is_last: bool = False) -> None:
        """Writes down that a checkpoint is complete, before it is acted on; the job ends with the last one.

        The order counts: this, then `check`, then the commit. A new driver reads the pointer after having taken
        the lease; so either they see this checkpoint, or `check` fails and nothing is committed.
        """
        before = self._state
        self._state = replace(self._state, checkpoint=folder, is_stopped=is_last, is_lost=False)
        try:
            self._write()
        except BaseException:
            self._state = before
            raise

    def put_failure(self, failure: BaseException) -> None:
        """Adds to the history of failures."""
        text = str(failure) or type(failure).__name__
        failures = (*self._state.failures, text)[-_MOST_FAILURES:]
        self._state = replace(self._state, failures=failures, is_refused=isinstance(failure, RecoveryRejectedError))

    def give_up(self, failure: BaseException) -> None:
        """The job could not even begin; one that has run before may be tried again."""
        self.put_failure(failure)
        has_past = self.checkpoint is not None or self.is_state_lost
        status = JobStatus.SUSPENDED if has_past else JobStatus.FAILED
        with contextlib.suppress(LeaseLostError, StateError):
            self.put_status(status)
        self.release()

    def release(self) -> None:
        """Gives the lease back."""
        self._lease.release()

    def put_view(self, view: JobView) -> None:
        """Writes the view of the job."""
        _write_json(join_path(self.record.folder, f"view-{self.attempt}.json"), to_json(view))

    def _write(self) -> None:
        store, path = store_of(self.record.folder), join_path(self.record.folder, f"state-{self.attempt}.json")
        try:
            content = to_json(self._state)
            _write_json(path, {**content, _CHECKSUM: _checksum_of(content)})
            names = store.versions(self.record.folder)
        except OSError as error:
            raise StateError(f"the job's record '{path}' cannot be written: {error.strerror or error}") from error
        for name in names:
            match = _WRITTEN_NAME.fullmatch(name)
            if match and int(match[2]) < self.attempt - 1:
                with contextlib.suppress(OSError):
                    store.remove(join_path(self.record.folder, name))


def _checksum_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def home_folder(settings: Settings) -> str:
    """Where job records are kept: as configured, else FUNKE_HOME, else a folder in the user's home.

    The store of another machine can be used by this process from now on.
    """
    storage = settings.get(options.HIGH_AVAILABILITY_STORAGE)
    local = settings.get(options.FUNKE_HOME) or os.environ.get("FUNKE_HOME") or os.path.join("~", ".funke")
    cluster = settings.get(options.HIGH_AVAILABILITY_CLUSTER) or "."
    home = storage or local
    plain = without_file_scheme(home)
    if plain is None and is_uri(home):
        return _installed_home(home.rstrip("/"), local, cluster, settings)
    path = home if plain is None else "/" + plain.lstrip("/")
    return os.path.normpath(os.path.join(os.path.abspath(os.path.expanduser(path)), cluster))


def _installed_home(storage: str, local: str, cluster: str, settings: Settings) -> str:
    home = storage if cluster == "." else join_path(storage, cluster)
    if is_uri(local):
        local = os.path.join("~", ".funke")
    install_access(access_of(hadoop_site(os.environ.get("HADOOP_CONF_DIR")), settings.to_text_dict()))
    # Services of several stores may run on one machine.
    name = f"store-{hashlib.sha256(home.encode()).hexdigest()[:8]}"
    install_store(home, os.path.join(os.path.abspath(os.path.expanduser(local)), name))
    return home


def lease_timeout_s(settings: Settings) -> float:
    """After how long without a sign of life a driver counts as gone."""
    timeout = settings.get(options.LEASE_TIMEOUT)
    return _LEASE_TIMEOUT_S if timeout is None else max(0.5, timeout.to_millis() / 1000)


def read_records(home: str) -> Iterator[JobRecord]:
    """All jobs of this user that are known, oldest first; a record of another user could name any command to run."""
    jobs = join_path(home, "jobs")
    records = []
    for name in store_of(jobs).folders(jobs):
        # A folder without a record: its driver died before the job began.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, UntrustedError):
            records.append(read_record(join_path(jobs, name)))
    yield from sorted(records, key=lambda record: (record.started_ms, record.ordinal))


def read_record(folder: str) -> JobRecord:
    """The record in a folder, which must be this user's own."""
    store_of(folder).require_own(folder)
    content = _read_json(join_path(folder, "record.json"))
    # The home may have been moved.
    return replace(from_json(JobRecord, content), folder=folder)


def await_owners(records: Iterable[JobRecord]) -> None:
    """Waits until it is certain which drivers live: where there are no locks, this takes a beat of their leases."""
    unlocked = [each for each in records if not store_of(each.folder).has_locks]
    running = [each for each in unlocked if not each.observed_state().status.is_globally_terminal_state()]
    for timeout_s in {each.lease_timeout_s for each in running}:
        await_beats([each.folder for each in running if each.lease_timeout_s == timeout_s], timeout_s)


def remove_oldest(home: str, settings: Settings) -> None:
    """Forgets ended jobs beyond the number that the configuration says, the oldest first."""
    kept = max(0, settings.get(rest_options.MOST_ENDED_JOBS))
    ended = [record for record in read_records(home) if record.observed_state().status.is_globally_terminal_state()]
    for record in ended[: max(0, len(ended) - kept)]:
        store_of(record.folder).remove_folder(record.folder)


def _read_json(path: str, most_bytes: int | None = None) -> dict[str, Any]:
    text = store_of(path).read(path, most_bytes).decode("utf-8", "replace")
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise StateError(f"'{path}' is damaged: {error}") from error


def _write_json(path: str, content: dict[str, Any]) -> None:
    store_of(path).write(path, json.dumps(content, indent=1).encode())
