"""The delivery task: hands the blocks of one slot to it and passes on what the slot answers; and starting slots."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from funke.engine.errors import ConfigurationError, FunkeError, SlotLostError
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.block_codec import encode
from funke.engine.runtime.blocks.frames import RESULT, Frame, FrameSocket
from funke.engine.runtime.epochs.results import Failure, user_part
from funke.engine.runtime.job_files.cached_files import placed_files
from funke.engine.runtime.job_files.dependencies import unpack_archives
from funke.engine.runtime.job_files.shared_paths import require_shared
from funke.engine.runtime.slots.fork_server import fork_slot
from funke.engine.runtime.slots.slot import Delivery
from funke.engine.runtime.slots.slot_address import (
    LOOPBACK,
    SlotAddress,
    executor_address,
    listen_for_hosts,
    require_reachable,
)
from funke.engine.runtime.slots.slot_calls import connect
from funke.engine.runtime.slots.slot_host import CLOSE_S, SOCKET_NAME, SlotLaunch
from funke.engine.runtime.slots.slot_watch import ending_of
from funke.engine.runtime.slots.worker_fork import fork_from_worker
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointNotifications
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.peers import listen_at
from funke.engine.trust.private_files import make_private_folder, require_private_folder
from funke.engine.types.operator_location import NOWHERE


def start_slot(slot: int, deployment: JobDeployment) -> SlotAddress:
    """Starts a slot process on this host and returns where it listens."""
    host, tls = deployment.driver_host, deployment.credentials.tls
    if host is None:
        require_reachable(executor_address(executor_pid(deployment)), deployment.driver_address.host)
        for path in deployment.shared_paths:
            require_shared(path)
    if host is None and tls is not None:
        tls.check()
    folder = make_private_folder("funke-slot-") if host is None else make_private_folder("slot-", host.run_folder)
    try:
        unpack_archives(deployment.archives, folder)
        deployment = replace(deployment, cached_paths=placed_files(deployment.cached_files, folder))
        return _start_in(folder, slot, deployment)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def start_error(failure: Failure) -> FunkeError:
    """Why a slot has not started; what is configured wrongly would go wrong again."""
    if failure.error_type == ConfigurationError.__name__:
        return ConfigurationError(failure.message)
    return SlotLostError(f"a worker process cannot be started: {failure.error_type}: {failure.message}")


def _start_in(folder: str, slot: int, deployment: JobDeployment) -> SlotAddress:
    """Opens the sockets here and lets the new process inherit them: calls queue up until it is ready."""
    path = os.path.join(folder, SOCKET_NAME)
    with ExitStack() as closing:
        listeners = [closing.enter_context(listen_at(path))]
        own = LOOPBACK
        if deployment.driver_host is None:
            own = executor_address(executor_pid(deployment))
            listeners.append(closing.enter_context(listen_for_hosts(own, deployment.network.slot_ports, 64)))
        # As in PyFlink the variable `python` names the interpreter of functions.
        environment = {**os.environ, "python": _interpreter(deployment, folder)}
        launch = SlotLaunch(slot, deployment, executor_pid(deployment), folder, own.host, tuple(sys.path), environment)
        launch_file = os.path.join(folder, "launch")
        with open(launch_file, "wb") as message:
            pickle.dump(launch, message, 5)
        pid = _start_process(deployment, folder, launch_file, tuple(listener.fileno() for listener in listeners))
        port = listeners[1].getsockname()[1] if len(listeners) > 1 else None
        return SlotAddress(slot, own.host, port, path, pid, os.getcwd())


def _start_process(deployment: JobDeployment, folder: str, launch_file: str, listeners: tuple[int, ...]) -> int:
    """Starts the process of a slot: forked if that gives the same interpreter, else as a new one."""
    if deployment.python_executable is None:
        host = deployment.driver_host
        forked = fork_from_worker(launch_file, listeners) if host is None else fork_slot(host, launch_file, listeners)
        if forked is not None:
            return forked
    command = [_interpreter(deployment, folder), "-m", "funke.engine.runtime.slots.slot_process", launch_file]
    process = subprocess.Popen(
        [*command, *map(str, listeners)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        pass_fds=listeners,
        start_new_session=True,
    )
    return process.pid


def _interpreter(deployment: JobDeployment, folder: str) -> str:
    if deployment.python_executable is None:
        return sys.executable
    unpacked = os.path.join(folder, deployment.python_executable)
    return unpacked if os.path.exists(unpacked) else deployment.python_executable


def executor_pid(deployment: JobDeployment) -> int:
    """The process whose end must end the slot: the JVM above PySpark's worker daemon; outside of Spark, the caller."""
    if deployment.executor_pid is not None:
        return deployment.executor_pid
    tasks = sys.modules.get("pyspark.taskcontext")
    if tasks is None or tasks.TaskContext.get() is None:
        return os.getpid()
    main = sys.modules["__main__"].__spec__
    if main is not None and main.name == "pyspark.worker":  # spark.python.use.daemon is false
        return os.getppid()
    # The daemon leads the group of the workers it forks: one with another parent is an orphan, and its new parent
    # (process 1 or any other) says nothing about the executor.
    daemon = os.getpgrp()
    if os.getppid() != daemon:
        raise SlotLostError("Spark's process that starts Python workers is gone; this worker cannot tell its executor")
    try:
        with open(f"/proc/{daemon}/stat", encoding="ascii", errors="replace") as stat:
            above = int(stat.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return daemon
    return above if above > 1 else daemon


def deliver(
    address: SlotAddress,
    credentials: Credentials,
    delivery: Delivery,
    consumed: frozenset[int],
    frames: Iterator[Frame],
) -> Iterator[Frame]:
    """Yields what must travel on: blocks for later levels, results for the driver, and the slot's answers.

    The slot's answers are read by a thread, so that neither side ever waits for the other with full buffers.
    """
    try:
        slot = connect(address, credentials, delivery)
    except OSError as error:
        yield _lost(address, error)
        yield from (frame for frame in frames if frame.exchange_id == RESULT)
        return
    answers = _Answers(slot)
    answers.start()
    is_gone = False
    for frame in frames:
        if frame.exchange_id not in consumed:
            yield frame
        elif not is_gone:
            try:
                slot.send(frame)
            except OSError:
                is_gone = True  # go on reading, so that Spark's task ends in order
        yield from answers.waiting()
    if not is_gone:
        with contextlib.suppress(OSError):
            slot.send_end()
    yield from answers.rest()
    slot.close()
    if answers.failure is not None:
        yield _lost(address, answers.failure)


def command_reading(address: SlotAddress, credentials: Credentials, delivery: Delivery) -> Iterator[Frame]:
    """Yields what a slot sends for a command to read."""
    try:
        slot = connect(address, credentials, delivery)
        slot.send_end()
        while (frame := slot.receive()) is not None:
            yield frame
        slot.close()
    except OSError as error:
        yield _lost(address, error)


def send_notifications(
    address: SlotAddress, credentials: Credentials, notifications: CheckpointNotifications
) -> list[bytes]:
    """Tells a slot what became of checkpoints; returns what it knows about snapshots."""
    try:
        slot = connect(address, credentials, notifications)
        try:
            slot.send_end()
            answers = []
            while (frame := slot.receive()) is not None:
                answers.append(frame.payload)
            return answers
        finally:
            slot.close()
    except OSError as error:
        return [_lost(address, error).payload]


def end_slots(addresses: list[SlotAddress], credentials: Credentials) -> list[SlotAddress]:
    """Tells slots to end, waits until they have tidied up, and returns those that were not reached from here."""
    # All are asked before the first is waited for: they close their functions at the same time.
    connections = [(address, _tell_end(address, credentials)) for address in addresses]
    return [address for address, slot in connections if slot is None or not _await_end(address, slot)]


def _tell_end(address: SlotAddress, credentials: Credentials) -> FrameSocket | None:
    try:
        return connect(address, credentials, "end", CLOSE_S + 1)
    except OSError:
        _tidy_up(address)
        return None


def _await_end(address: SlotAddress, slot: FrameSocket) -> bool:
    try:
        slot.receive()
    except OSError:
        _tidy_up(address)
        return False
    finally:
        slot.close()
    return True


def _tidy_up(address: SlotAddress) -> None:
    """A slot that was killed on this host could not do it itself."""
    folder = os.path.dirname(address.path)
    with contextlib.suppress(OSError):
        require_private_folder(folder)
        shutil.rmtree(folder, ignore_errors=True)


class _Answers(threading.Thread):
    """Collects what a slot sends back."""

    def __init__(self, slot: FrameSocket) -> None:
        super().__init__(daemon=True)
        self._slot = slot
        self._queue: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while (frame := self._slot.receive()) is not None:
                self._queue.put(frame)
        except Exception as failure:
            self.failure = failure
        self._queue.put(None)

    def waiting(self) -> Iterator[Frame]:
        """What has arrived so far."""
        while not self._queue.empty():
            frame = self._queue.get()
            if frame is None:
                self._queue.put(None)
                return
            yield frame

    def rest(self) -> Iterator[Frame]:
        """Everything up to the end."""
        while (frame := self._queue.get()) is not None:
            yield frame


def _lost(address: SlotAddress, error: BaseException) -> Frame:
    return Frame(0, RESULT, 0, encode(lost_slot(address, error)))


def lost_slot(address: SlotAddress, error: BaseException) -> Failure:
    """The failure for a slot that does not answer: how it ended, if its watcher has said so on this host."""
    ending = ending_of(address.path)
    reason = f"(process {address.pid} on {address.host}) is gone: {error}"
    failure = Failure(NOWHERE, "SlotLostError", f"slot {address.slot} {reason}", "", is_slot_lost=True)
    if ending is not None:
        blamed = ending.location if ending.is_fault_of_operator else NOWHERE
        message = f"slot {address.slot} on {address.host} is gone: {ending}"
        failure = Failure(blamed, "SlotLostError", message, user_part(ending.crash), is_slot_lost=True)
    has_gone_in_order = ending is None and not os.path.exists(address.path)
    return replace(failure, slot=address.slot, is_consequence=has_gone_in_order)


def consumed_at(plan: Plan, level: int) -> frozenset[int]:
    """The exchanges whose blocks are processed at a level."""
    return frozenset(edge.id for edge in plan.graph.edges if plan.placements[edge.target_vertex].level == level)
