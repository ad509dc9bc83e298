"""Snapshots beside the work: a forked child writes the state as it was, while the slot goes on with the next epoch.

The operating system copies only those pages of memory that change meanwhile. The child prints nothing, starts no
thread, and ends without any clean-up of Python's.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

from funke.engine.errors import StateError
from funke.engine.runtime.epochs.results import describe
from funke.engine.runtime.slots.process_ties import end_with_parent
from funke.engine.runtime.snapshots.chain_snapshot import SHARED
from funke.engine.runtime.snapshots.checkpoint_command import (
    AlignmentStatistics,
    CheckpointCommand,
    CheckpointNotifications,
    SnapshotAck,
)
from funke.engine.runtime.snapshots.local_copies import LocalCopies
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, copy_file, join_path, local_path
from funke.engine.state.snapshot.state_sizes import StateSize

__all__ = ["SnapshotTaker", "WriteSnapshots", "WrittenSnapshots"]


class WrittenSnapshots(NamedTuple):
    """Handles with paths relative to the folder of the checkpoint, how many bytes are new, what states there are."""

    handles: tuple[SnapshotHandle, ...]
    new_bytes: int
    states: tuple[StateSize, ...] = ()
    # How much of it was on its way between subtasks.
    in_flight_bytes: int = 0


# Writes everything into a local folder.
WriteSnapshots = Callable[[str], WrittenSnapshots]

# The child gives way to the processing that goes on.
_NICENESS = 5
_MOST_WAIT_S = 2.0
_POLL_S = 0.001


@dataclass
class _Work:
    """A child that is writing, or has written what is now copied elsewhere."""

    command: CheckpointCommand
    pid: int
    stall_ms: float
    started: float
    alignments: tuple[AlignmentStatistics, ...] = ()
    waiting: threading.Thread | None = None
    has_ended: bool = False
    is_unwanted: bool = False


class SnapshotTaker:
    """The snapshots of one slot that are being written, and those that are not confirmed yet."""

    def __init__(
        self,
        slot: int,
        spool: str,
        restored: Iterable[SnapshotHandle] = (),
        copies: LocalCopies | None = None,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        self._slot = slot
        self._copies = copies
        self._on_answer = on_answer
        # Full paths and checksums of shared files that the newest completed checkpoint refers to.
        restored_files = [file for handle in restored for file in handle.native_files()]
        self._shared = {file.path: file.checksum for file in restored_files if "/shared/" in file.path}
        self._spool = spool
        self._running: dict[int, _Work] = {}
        # Repeated until the driver has decided about the checkpoint: an answer may get lost.
        self._acks: dict[int, SnapshotAck] = {}
        self._lock = threading.Lock()

    def start(
        self,
        command: CheckpointCommand,
        write: WriteSnapshots,
        stall_ms: float,
        alignments: tuple[AlignmentStatistics, ...] = (),
    ) -> None:
        """Forks a child that writes; its answer is among `acks` as soon as it is there."""
        folder = local_path(command.folder)
        target = folder if folder is not None else os.path.join(self._spool, f"chk-{command.checkpoint_id}")
        started = time.perf_counter()
        reading, writing = os.pipe()
        slot = os.getpid()
        with warnings.catch_warnings():
            # The other threads of a slot only wait for calls; those of users are their own affair.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _be_child(write, target, writing, slot)
        os.close(writing)
        _lead_group(pid)
        now = time.perf_counter()
        work = _Work(command, pid, stall_ms + (now - started) * 1000, now, alignments)
        with self._lock:
            self._running[command.checkpoint_id] = work
        waiting = threading.Thread(target=self._await, args=(work, reading, folder is None, target), daemon=True)
        waiting.start()
        work.waiting = waiting

    def known_files(self, folder: str) -> dict[str, int | None]:
        """Shared files that a new checkpoint need not write, relative to its folder, with their checksums."""
        shared = join_path(folder, SHARED)
        files = self._shared.items()
        return {SHARED + path[len(shared) :]: checksum for path, checksum in files if path.startswith(shared)}

    def acknowledge(self, ack: SnapshotAck) -> None:
        """Keeps an answer that needed no child."""
        with self._lock:
            self._acks[ack.checkpoint_id] = ack

    def acks(self) -> list[SnapshotAck]:
        """The answers that the driver has not decided about."""
        with self._lock:
            return list(self._acks.values())

    def await_written(self, checkpoint_id: int) -> None:
        """Lets processing stand still until a snapshot is written."""
        while (ack := next((a for a in self.acks() if a.checkpoint_id == checkpoint_id), None)) is None:
            time.sleep(_POLL_S)
        self.acknowledge(replace(ack, stall_ms=ack.stall_ms + ack.write_ms))

    def learn(self, notifications: CheckpointNotifications) -> None:
        """Forgets what is decided, and stops what is not wanted any more."""
        newest = max(notifications.completed, default=-1)
        with self._lock:
            if newest in self._acks and self._acks[newest].folder:
                self._shared = {file.path: file.checksum for file in self._acks[newest].shared_files()}
            for number in [n for n in self._acks if n <= newest or n in notifications.aborted]:
                del self._acks[number]
            unwanted = [work for number, work in self._running.items() if number in notifications.aborted]
        for work in unwanted:
            self._kill(work)
        if self._copies is not None and (notifications.completed or notifications.aborted):
            self._copies.supersede(newest, notifications.aborted)

    def close(self) -> None:
        """Stops everything that is being written, and waits until the files of the state are not used any more."""
        with self._lock:
            running = list(self._running.values())
        for work in running:
            self._kill(work)
        for work in running:
            if work.waiting is not None:
                work.waiting.join(_MOST_WAIT_S)

    def _upload(self, work: _Work, handles: tuple[SnapshotHandle, ...], spool: str) -> None:
        """Copies what is new; shared files that are there already were not written again."""
        command = work.command
        written = [path for handle in handles for path, _ in handle.files() if os.path.exists(join_path(spool, path))]
        try:
            for path in written:
                if work.is_unwanted:
                    raise StateError("the checkpoint was given up")
                copy_file(join_path(spool, path), join_path(command.folder, path))
            if self._copies is not None and command.kind == "checkpoint":
                with contextlib.suppress(OSError):  # it is complete without
                    self._copies.keep(command.checkpoint_id, command.folder, handles, spool)
        finally:
            for path in written:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(join_path(spool, path))

    def _kill(self, work: _Work) -> None:
        work.is_unwanted = True
        # Under the lock: once a child was waited for, its pid may belong to another process.
        with self._lock:
            if not work.has_ended:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(work.pid, signal.SIGKILL)

    def _await(self, work: _Work, reading: int, is_remote: bool, target: str) -> None:
        # Its end has come when the child, and every process the child has started, is gone.
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        with self._lock:
            status = os.waitpid(work.pid, 0)[1]
            work.has_ended = True
        number = work.command.checkpoint_id
        result: WrittenSnapshots | str
        try:
            result = pickle.loads(answer)
            if is_remote and not isinstance(result, str):
                self._upload(work, result.handles, target)
        except EOFError:
            result = f"the process that wrote it ended with status {status}"
        except Exception as error:
            result = ": ".join(describe(error))
        if is_remote:
            shutil.rmtree(target, ignore_errors=True)
        write_ms = (time.perf_counter() - work.started) * 1000
        ack = SnapshotAck(
            number,
            self._slot,
            stall_ms=work.stall_ms,
            write_ms=write_ms,
            folder=work.command.folder,
            alignments=work.alignments,
        )
        ack = replace(ack, failure=result) if isinstance(result, str) else replace(ack, **result._asdict())
        with self._lock:
            del self._running[number]
            if not work.is_unwanted:
                self._acks[number] = ack
        self._on_answer()


def _be_child(write: WriteSnapshots, folder: str, writing: int, parent: int) -> NoReturn:
    try:
        _detach(writing, parent)
        result: WrittenSnapshots | str = write(folder)
    except BaseException as error:
        result = ": ".join(describe(error))
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(result, pipe, 5)
    finally:
        os._exit(0)


def _detach(writing: int, parent: int) -> None:
    """Ends with the slot, and keeps none of its sockets open: callers of a dead slot must notice."""
    gc.disable()
    end_with_parent(parent)
    os.closerange(3, writing)
    os.closerange(writing + 1, os.sysconf("SC_OPEN_MAX"))
    os.set_inheritable(writing, True)
    _lead_group(0)
    os.nice(_NICENESS)


def _lead_group(pid: int) -> None:
    """Puts a child and its processes into one group, to kill them together; either may be first to do so."""
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
