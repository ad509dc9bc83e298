"""The process of a slot: waits for delivery tasks on a socket and runs their levels, until told to end.

It is started by a Spark task, outlives that task, and ends with the executor that started it, when the driver says so,
or when nobody has called for a while (the driver keeps idle jobs' slots alive with empty epochs).
"""

from __future__ import annotations

import contextlib
import hmac
import io
import os
import pickle
import queue
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from funke.engine.runtime.frames import RESULT, Frame, FrameSocket
from funke.engine.runtime.results import Failure, to_failure
from funke.engine.runtime.slot import EpochHeader, Slot
from funke.engine.runtime.worker_setup import JobPackage, unpack

LEASE_S = 120.0
_WATCH_INTERVAL_S = 0.5
# Outputs kept for a delivery that Spark repeats; beyond this a repetition fails the attempt instead.
_MOST_KEPT_BYTES = 64 << 20


@dataclass(frozen=True)
class SlotAddress:
    """Where a slot listens: a Unix socket for tasks on the same host, TCP for the others."""

    slot: int
    host: str
    port: int
    path: str
    pid: int
    executor: str


@dataclass(frozen=True)
class SlotBirth:
    """What a new slot process is told, through a file in its folder."""

    slot: int
    package: JobPackage
    watched_pid: int
    listeners: tuple[int, ...]
    folder: str
    sys_path: tuple[str, ...]


class _SlotProcess:
    def __init__(self, birth: SlotBirth) -> None:
        self._birth = birth
        self._secret = birth.package.secret
        self._work: queue.Queue[tuple[FrameSocket, Any]] = queue.Queue()
        self._last_call = time.monotonic()
        self._is_broken = False
        self._kept: tuple[tuple[int, int], list[Frame]] | None = None
        self._folder = birth.folder
        self._slot: Slot | None = None
        self._startup_failure: Failure | None = None

    def listen(self) -> None:
        """Takes calls on the sockets that the starting task has opened."""
        for descriptor in self._birth.listeners:
            listener = socket.socket(fileno=descriptor)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def start(self) -> None:
        """Makes the operators; a failure is reported to the first delivery."""
        try:
            self._slot = Slot(self._birth.slot, unpack(self._birth.package), self._birth.package)
            sys.stdout = _DriverStdout(self._slot)
            self._slot.open()
        except Exception as error:
            self._startup_failure = to_failure(error)

    def serve(self) -> None:
        while True:
            connection, (header, level) = self._work.get()
            try:
                self._deliver(connection, header, level)
            except (ConnectionError, OSError):
                self._is_broken = True  # half an epoch went in: only a new attempt can help
            finally:
                self._last_call = time.monotonic()
                connection.close()

    def _deliver(self, connection: FrameSocket, header: EpochHeader, level: int) -> None:
        if self._kept is not None and self._kept[0] == (header.epoch, level):
            self._repeat(connection)
            return
        refusal = self._startup_failure or (_BROKEN if self._is_broken else None)
        if refusal is not None or self._slot is None:
            connection.send(Frame(0, RESULT, 0, pickle.dumps(refusal, 5)))
            connection.send_end()
            return
        kept: list[Frame] = []
        size = 0

        def send(frame: Frame) -> None:
            nonlocal size
            size += len(frame.payload)
            if size <= _MOST_KEPT_BYTES:
                kept.append(frame)
            connection.send(frame)

        self._kept = None
        try:
            self._slot.run_level(header, level, _frames(connection), send)
        except (ConnectionError, OSError):
            raise
        except Exception:
            self._is_broken = True
        if size <= _MOST_KEPT_BYTES and not self._is_broken:
            self._kept = ((header.epoch, level), kept)
        connection.send_end()

    def _repeat(self, connection: FrameSocket) -> None:
        for _ in _frames(connection):
            pass
        if self._kept is not None:
            for frame in self._kept[1]:
                connection.send(frame)
        connection.send_end()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            with contextlib.suppress(Exception):
                self._greet(connection)

    def _greet(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        frames = FrameSocket(connection)
        if not hmac.compare_digest(frames.receive_message(), self._secret):
            frames.close()
            return
        order = pickle.loads(frames.receive_message())
        connection.settimeout(None)
        if order == "end":
            self.end()
        self._last_call = time.monotonic()
        self._work.put((frames, order))

    def _watch(self) -> None:
        while True:
            time.sleep(_WATCH_INTERVAL_S)
            is_lease_over = self._work.empty() and time.monotonic() - self._last_call > LEASE_S
            if not _is_alive(self._birth.watched_pid) or is_lease_over:
                self.end()

    def end(self) -> None:
        """Ends the process at once, closing user functions as far as that is possible from another thread."""
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)


_BROKEN = Failure("", None, "SlotLostError", "an earlier delivery to this slot broke off", "", is_slot_lost=True)


def _frames(connection: FrameSocket) -> Iterator[Frame]:
    while (frame := connection.receive()) is not None:
        yield frame


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _DriverStdout(io.TextIOBase):
    """Standard output of user functions: lines travel to the driver with the epoch's results."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._slot.send_to_driver("stdout", self._slot.number, text)
        return len(text)


def main(birth_file: str) -> None:
    """Reads the birth message and serves."""
    with open(birth_file, "rb") as message:
        birth: SlotBirth = pickle.load(message)
    os.unlink(birth_file)
    for path in birth.sys_path:
        if path not in sys.path:
            sys.path.append(path)
    if birth.package.archives:
        os.chdir(birth.folder)
    process = _SlotProcess(birth)
    process.listen()
    process.start()
    process.serve()


if __name__ == "__main__":
    # Under its real name, so that pickled references to this module's classes are found.
    from funke.engine.runtime.slot_process import main as run

    run(sys.argv[1])
