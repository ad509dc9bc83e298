"""The process of a slot: waits for delivery tasks on a socket and runs their levels, until told to end.

It is started by a Spark task, outlives that task, and ends with the executor that started it, when the driver says so,
or when nobody has called for a while (the driver keeps idle jobs' slots alive with empty epochs).
"""

from __future__ import annotations

import codecs
import contextlib
import faulthandler
import io
import os
import pickle
import queue
import select
import shutil
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from funke.engine.operators.turn import turn
from funke.engine.runtime.block_codec import decode
from funke.engine.runtime.checkpoint_order import CheckpointNews
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.frames import RESULT, Frame, FrameSocket
from funke.engine.runtime.results import Failure, to_failure
from funke.engine.runtime.slot import Delivery, Slot
from funke.engine.runtime.slot_watch import CRASH_FILE, WatchOrder, become_watched
from funke.engine.runtime.worker_logs import worker_logs
from funke.engine.runtime.worker_setup import JobPackage, unpack
from funke.engine.trust.peers import prove_to_caller, require_same_user
from funke.engine.trust.private_files import open_own_file

# Only for a slot that the driver has lost sight of: an epoch with a slow function keeps other slots waiting for hours.
LEASE_S = 6 * 3600.0
# Outputs kept for a delivery that Spark repeats; beyond this a repetition fails the attempt instead.
_MOST_KEPT_BYTES = 64 << 20
# In the slot's folder.
SOCKET_NAME = "s"
# How long user functions may take to close when the job is given up.
CLOSE_S = 3.0
# How long a caller may take over each step of the greeting, and how many may be greeted at once.
_GREETING_S = 10.0
_MOST_GREETED = 64
_ACCEPT_AGAIN_S = 0.5


@dataclass(frozen=True)
class SlotAddress:
    """Where a slot listens: a Unix socket for tasks on the same host, TCP for the others if there are any.

    The process is that of the slot's watcher, which ends with the slot, and the slot with it.
    """

    slot: int
    host: str
    port: int | None
    path: str
    pid: int
    executor: str


@dataclass(frozen=True)
class SlotBirth:
    """What a new slot process is told, through a file in its folder."""

    slot: int
    package: JobPackage
    watched_pid: int
    folder: str
    sys_path: tuple[str, ...]
    # The environment of Spark's workers.
    environment: dict[str, str]


class _SlotProcess:
    def __init__(self, birth: SlotBirth, watcher: socket.socket) -> None:
        self._birth = birth
        self._watcher = watcher
        # All that must not stay open in processes which user functions fork: whoever calls a dead slot must notice.
        self._sockets = weakref.WeakSet([watcher])
        self._is_fork = False
        self._secret = birth.package.secret
        self._work: queue.Queue[tuple[FrameSocket, Any]] = queue.Queue()
        self._greeted: deque[socket.socket] = deque()
        self._last_call = time.monotonic()
        self._is_broken = False
        self._is_serving = False
        # The last level that was run, and what came of its deliveries (None when that was too much to keep).
        self._last: tuple[int, int] = (0, 0)
        self._kept: dict[int | None, list[Frame] | None] = {}
        # Embedded Spark repeats no task.
        self._most_kept_bytes = _MOST_KEPT_BYTES if birth.package.driver_host is None else 0
        self._folder = birth.folder
        self._slot: Slot | None = None
        self._startup_failure: Failure | None = None

    def listen(self, listeners: tuple[int, ...]) -> None:
        """Takes calls on the sockets that the starting task has opened."""
        for descriptor in listeners:
            listener = socket.socket(fileno=descriptor)
            listener.set_inheritable(False)
            self._sockets.add(listener)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
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

    def start(self) -> None:
        """Makes the operators; a failure is reported to the first delivery."""
        try:
            package = self._birth.package
            worker_logs.install(package.log_levels)
            self._slot = Slot(self._birth.slot, unpack(package), package, self._folder)
            sys.stdout = driver_stdout(self._slot)
            reach("slot-start")
            self._slot.open()
        except (Exception, SystemExit) as error:
            self._startup_failure = to_failure(error, self._birth.slot)

    def serve(self) -> None:
        """Takes one delivery after the other."""
        while True:
            connection, order = self._work.get()
            self._is_serving = True
            try:
                if isinstance(order, CheckpointNews):
                    self._tell(connection, order)
                else:
                    self._deliver(connection, order)
            except (ConnectionError, OSError):
                self._is_broken = True  # half an epoch went in: only a new attempt can help
            finally:
                if self._is_fork:  # a function forked, and the child did not end with it
                    os._exit(1)
                turn.cell[0] = 0
                self._last_call = time.monotonic()
                self._is_serving = False
                connection.close()

    def _deliver(self, connection: FrameSocket, delivery: Delivery) -> None:
        refusal = self._startup_failure or (_BROKEN if self._is_broken else None)
        if refusal is None and delivery.step > self._last:
            self._last, self._kept = delivery.step, {}
        elif refusal is None and (delivery.step < self._last or delivery.segment_id in self._kept):
            kept = self._kept.get(delivery.segment_id) if delivery.step == self._last else None
            if kept is not None:
                self._answer(connection, kept)
                return
            refusal = _REPEATED  # running it again would count its records twice
        if refusal is not None or self._slot is None:
            self._answer(connection, [Frame(0, RESULT, 0, pickle.dumps(refusal, 5))])
            return
        self._kept[delivery.segment_id] = None
        self._run(self._slot, connection, delivery)

    def _run(self, slot: Slot, connection: FrameSocket, delivery: Delivery) -> None:
        kept: list[Frame] = []
        left = self._most_kept_bytes

        def send(frame: Frame) -> None:
            nonlocal left
            left -= len(frame.payload)
            if left >= 0:
                kept.append(frame)
            connection.send(frame)

        try:
            orders = decode(delivery.orders) if delivery.orders else ()
            slot.run_level(delivery.header, delivery.level, _frames(connection), send, orders)
        except (ConnectionError, OSError):
            raise
        except Exception:
            self._is_broken = True
        if left >= 0 and not self._is_broken:
            self._kept[delivery.segment_id] = kept
        self._send_end(connection)

    def _tell(self, connection: FrameSocket, news: CheckpointNews) -> None:
        """Between two epochs: takes news of checkpoints, and answers with what is known about snapshots."""
        slot, refusal = self._slot, self._startup_failure or (_BROKEN if self._is_broken else None)
        answers: list[Frame] = []
        if refusal is None and slot is not None:
            try:
                slot.learn(news)
                slot.send_acks(answers.append)
            except Exception as error:
                self._is_broken = True
                refusal = to_failure(error)
        if refusal is not None:
            answers = [Frame(0, RESULT, 0, pickle.dumps(refusal, 5))]
        self._answer(connection, answers)

    def _answer(self, connection: FrameSocket, answers: list[Frame]) -> None:
        """Sends frames that do not depend on what is delivered; that is read to its end all the same."""
        for _ in _frames(connection):
            pass
        for frame in answers:
            connection.send(frame)
        self._send_end(connection)

    def _send_end(self, connection: FrameSocket) -> None:
        # Before: whoever has the answer may tell the slot to end, which closes functions only if none is running.
        self._is_serving = False
        connection.send_end()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                time.sleep(_ACCEPT_AGAIN_S)  # too many open files: some will be closed
                continue
            self._sockets.add(connection)
            self._greeted.append(connection)
            # Callers of the job's own are greeted in no time: whoever has waited longest has nothing to say.
            if len(self._greeted) > _MOST_GREETED:
                with contextlib.suppress(OSError):
                    self._greeted.popleft().shutdown(socket.SHUT_RDWR)
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        """Reads what a caller wants, once it has proven who it is."""
        try:
            connection.settimeout(_GREETING_S)
            if connection.family == socket.AF_UNIX:
                require_same_user(connection)
            prove_to_caller(connection, self._secret)
            frames = FrameSocket(connection)
            order = pickle.loads(frames.receive_message())
            connection.settimeout(None)
        except Exception:  # a stranger, or somebody who has gone
            connection.close()
            return
        finally:
            with contextlib.suppress(ValueError):  # it has waited too long
                self._greeted.remove(connection)
        if order == "end":
            self.end(frames)
        self._last_call = time.monotonic()
        self._work.put((frames, order))

    def _watch(self) -> None:
        """Tells the watcher that the interpreter runs, as long as there is one and it wants that."""
        self._watcher.setblocking(False)
        interval_s = self._birth.package.heartbeat.interval_ms / 1000
        while True:
            with contextlib.suppress(BlockingIOError):  # it has not heard the last ones yet
                self._beat()
            is_told_to_end = bool(select.select([self._watcher], [], [], interval_s)[0])
            is_waiting = self._work.empty() and not self._is_serving
            is_lease_over = is_waiting and time.monotonic() - self._last_call > LEASE_S
            if is_told_to_end or is_lease_over:
                self.end()

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


def _lost(message: str) -> Failure:
    return Failure("", None, "SlotLostError", message, "", is_slot_lost=True)


_BROKEN = _lost("an earlier delivery to this slot broke off")
_REPEATED = _lost("Spark repeated a delivery that this slot cannot answer again")


def _frames(connection: FrameSocket) -> Iterator[Frame]:
    while (frame := connection.receive()) is not None:
        yield frame


class _ToDriver(io.RawIOBase):
    """Bytes on standard output, as text on their way to the driver; a character may come in pieces."""

    name = "<stdout>"

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any) -> int:
        written = bytes(data)
        if text := self._decoder.decode(written):
            self._slot.send_to_driver("stdout", self._slot.number, text)
        return len(written)


def driver_stdout(slot: Slot) -> io.TextIOWrapper:
    """Standard output of user functions: what is written travels to the driver with the epoch's results."""
    return io.TextIOWrapper(_ToDriver(slot), "utf-8", "backslashreplace", newline="\n", write_through=True)


def main(birth_file: str, listeners: tuple[int, ...]) -> None:
    """Reads the birth message and serves on the given sockets."""
    taken = f"{birth_file}.taken"
    os.rename(birth_file, taken)  # only one process can be born of it
    with open_own_file(taken) as message:
        birth: SlotBirth = pickle.load(message)
    os.unlink(taken)
    os.environ.update(birth.environment)
    for path in birth.sys_path:
        if path not in sys.path:
            sys.path.append(path)
    if birth.package.archives:
        os.chdir(birth.folder)
    path = os.path.join(birth.folder, SOCKET_NAME)
    heartbeat = birth.package.heartbeat
    watcher = become_watched(WatchOrder(birth.folder, path, birth.watched_pid, heartbeat, listeners))
    # What C code and other programs print on standard output is for the log of the executor.
    os.dup2(2, 1)
    faulthandler.enable(open(os.path.join(birth.folder, CRASH_FILE), "w"), all_threads=False)  # noqa: SIM115
    process = _SlotProcess(birth, watcher)
    process.listen(listeners)
    process.start()
    process.serve()


if __name__ == "__main__":
    # Under its real name, so that pickled references to this module's classes are found.
    from funke.engine.runtime.slot_process import main as run

    run(sys.argv[1], tuple(map(int, sys.argv[2:])))
