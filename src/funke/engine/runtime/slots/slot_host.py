"""The process of a slot: who may call it, who watches it, and how it ends.

It is started by a Spark task and ends with the executor that started it, when the driver asks for it, or when no
call has come for a while.
"""

from __future__ import annotations

import codecs
import contextlib
import faulthandler
import io
import logging
import os
import pickle
import select
import shutil
import socket
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from funke.engine.config.log_levels import LogLevels
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.frames import FrameSocket
from funke.engine.runtime.epochs.results import Failure, to_failure
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.monitoring.failed_records import failed_records
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledThread, take_samples
from funke.engine.runtime.monitoring.thread_dump import DumpCommand, thread_stacks
from funke.engine.runtime.monitoring.worker_logs import worker_logs
from funke.engine.runtime.slots.worker_setup import JobDeployment, unpack
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from funke.engine.trust.greeter import Greeter
from funke.engine.types.driver_messages import DriverMessage, PrintedText

__all__ = ["CLOSE_S", "LEASE_S", "SOCKET_NAME", "SlotLaunch", "SlotHost"]

_LOG = logging.getLogger("funke")

# Only for a slot that the driver has lost sight of: an epoch with a slow function keeps other slots waiting for hours.
LEASE_S = 6 * 3600.0
# In the slot's folder.
SOCKET_NAME = "s"
# How long user functions may take to close when the job is given up.
CLOSE_S = 3.0


@dataclass(frozen=True)
class SlotLaunch:
    """The parameters of a new slot process, passed in a file in its folder."""

    slot: int
    deployment: JobDeployment
    watched_pid: int
    folder: str
    # Under which other hosts reach it.
    host: str
    sys_path: tuple[str, ...]
    # The environment of Spark's workers.
    environment: dict[str, str]


class HostedSlot(Protocol):
    """What slots have in common in streams and epochs."""

    number: int
    snapshots: SnapshotTaker

    def open(self) -> None:
        """Builds and opens all subtasks."""

    def close(self) -> None:
        """Closes all operators."""

    def send_to_driver(self, message: DriverMessage) -> None:
        """Sends a message to the driver."""

    def busy_vertex(self) -> int | None:
        """The vertex that is worked for at the moment, if any; asked by other threads."""


S = TypeVar("S", bound=HostedSlot)


class SlotHost(ABC, Generic[S]):
    """A process that hosts a slot: takes calls, is watched, and ends; how the slot is driven is for subclasses."""

    def __init__(self, launch: SlotLaunch, watcher: socket.socket) -> None:
        self._launch = launch
        self._watcher = watcher
        # Must not stay open in processes that user functions fork: callers of a dead slot must notice.
        self._sockets = weakref.WeakSet([watcher])
        self._is_fork = False
        self._credentials = launch.deployment.credentials
        self._listeners: list[socket.socket] = []
        self._greeter = Greeter(self._credentials, self._hear, self._sockets.add)
        self._last_call = time.monotonic()
        self._is_serving = False
        self._folder = launch.folder
        self._slot: S | None = None
        self._startup_failure: Failure | None = None
        # The one that works.
        self._thread = SampledThread(threading.get_ident(), threading.get_native_id(), self._busy_vertex)

    def _busy_vertex(self) -> int | None:
        return self._slot.busy_vertex() if self._slot is not None else None

    def listen(self, listeners: tuple[int, ...]) -> None:
        """Takes calls on the sockets that the starting task has opened."""
        for descriptor in listeners:
            listener = socket.socket(fileno=descriptor)
            listener.set_inheritable(False)
            self._listeners.append(listener)
            self._sockets.add(listener)
            self._greeter.listen(listener)
        threading.Thread(target=self._watch, daemon=True).start()
        os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        """In a process that a function has forked: keeps the numbers of descriptors, which objects here still hold."""
        self._is_fork = True
        faulthandler.disable()
        nothing = os.open(os.devnull, os.O_RDWR)
        for own in self._sockets:
            if own.fileno() >= 0:
                os.dup2(nothing, own.fileno(), inheritable=False)
        os.close(nothing)

    @abstractmethod
    def create_slot(self, plan: Plan) -> S:
        """Makes the slot, with nothing in it yet."""

    @abstractmethod
    def serve(self) -> None:
        """Lets the slot work, for ever."""

    @abstractmethod
    def on_call(self, command: Any, connection: socket.socket, frames: FrameSocket) -> None:
        """Handles an authenticated call; each call has its own thread."""

    def start(self) -> None:
        """Makes the operators; a failure is reported to the first caller."""
        try:
            deployment = self._launch.deployment
            worker_logs.install(deployment.log_levels)
            failed_records.display = deployment.record_display
            self._slot = self.create_slot(unpack(deployment))
            sys.stdout = driver_stdout(self._slot)
            reach("slot-start")
            self._slot.open()
        except (Exception, SystemExit) as error:
            self._startup_failure = to_failure(error, self._launch.slot)

    def _hear(self, connection: socket.socket) -> Callable[[], None]:
        """Reads what a caller wants, who has proven who it is; that is done without a limit of time."""
        frames = FrameSocket(connection)
        command = pickle.loads(frames.receive_message())
        return partial(self._obey, command, connection, frames)

    def _obey(self, command: Any, connection: socket.socket, frames: FrameSocket) -> None:
        if command == "end":
            self.end(frames)
        self._last_call = time.monotonic()
        if isinstance(command, SampleCommand):
            self._sample(command, frames)
        elif isinstance(command, DumpCommand):
            with contextlib.closing(frames), contextlib.suppress(OSError):
                frames.send_message(pickle.dumps(thread_stacks(), 5))
        elif isinstance(command, LogLevels):
            with contextlib.closing(frames), contextlib.suppress(OSError):
                worker_logs.install(command)
                frames.send_end()
        else:
            self.on_call(command, connection, frames)

    def _sample(self, command: SampleCommand, caller: FrameSocket) -> None:
        """In the caller's thread: a function that takes for ever can be looked at too."""
        with contextlib.closing(caller), contextlib.suppress(OSError):
            caller.send_message(pickle.dumps(take_samples(command, self._thread), 5))

    def _watch(self) -> None:
        """Tells the watcher that the interpreter runs, as long as there is one and it wants that."""
        self._watcher.setblocking(False)
        interval_s = self._launch.deployment.heartbeat.interval_ms / 1000
        while True:
            with contextlib.suppress(BlockingIOError):  # it has not heard the last ones yet
                self._beat()
            must_end = bool(select.select([self._watcher], [], [], interval_s)[0]) and not self._heard()
            is_lease_over = not self._is_serving and time.monotonic() - self._last_call > LEASE_S
            if must_end or is_lease_over:
                self.end()

    def _heard(self) -> bool:
        """Passes on what the watcher has to say; whether it was anything, rather than that the slot must end."""
        with contextlib.suppress(OSError):
            if text := self._watcher.recv(4096):
                _LOG.warning("%s", text.decode("utf-8", "replace"))
                return True
        return False

    def _beat(self) -> None:
        try:
            self._watcher.send(b"\0")
        except ConnectionError:
            self.end()

    def end(self, caller: FrameSocket | None = None) -> None:
        """Ends the process; closes user functions before, unless one of them is running right now."""
        if self._slot is not None:
            self._slot.snapshots.close()
        if self._slot is not None and not self._is_serving:
            closing = threading.Thread(target=self._slot.close, daemon=True)
            closing.start()
            closing.join(CLOSE_S)
        shutil.rmtree(self._folder, ignore_errors=True)
        if caller is not None:
            with contextlib.suppress(OSError):
                caller.send_end()
        os._exit(0)


class _ToDriver(io.RawIOBase):
    """Bytes on standard output, as text on their way to the driver; a character may come in pieces."""

    name = "<stdout>"

    def __init__(self, slot: HostedSlot) -> None:
        self._slot = slot
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any) -> int:
        written = bytes(data)
        if text := self._decoder.decode(written):
            self._slot.send_to_driver(PrintedText(text))
        return len(written)


def driver_stdout(slot: HostedSlot) -> io.TextIOWrapper:
    """Standard output of user functions: what is written travels to the driver with the epoch's results."""
    return io.TextIOWrapper(_ToDriver(slot), "utf-8", "backslashreplace", newline="\n", write_through=True)
