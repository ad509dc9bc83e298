"""The watcher of a slot: its parent process, which sees to what a slot cannot see to itself.

A slot may be stopped, crash, keep the interpreter lock in C code, or leave processes behind. Its watcher runs no user
code and has one thread. It writes down how the slot ended, ends what the slot has left behind, and removes the slot's
folder. It kills a slot that is silent for too long, or does not end when it must: with its executor, or when
its socket is removed. A slot keeps its process id until the watcher has waited for it, so no other process is hit.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import time
import traceback
from dataclasses import asdict, dataclass
from typing import NoReturn

from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.operators.turn import turn
from funke.engine.runtime.slots.memory_watch import MemoryWatch, own_bytes_of
from funke.engine.runtime.slots.process_ties import adopt_orphans, children_of, end_with_parent, is_alive, name_process
from funke.engine.types.operator_location import NOWHERE, OperatorLocation

__all__ = ["CRASH_FILE", "Ending", "Heartbeat", "WatchCommand", "become_watched", "ending_of"]

_TICK_S = 0.5
# As often the watcher looks when a slot comes near its limit of memory: a loop takes hundreds of megabytes a second.
_SHORT_TICK_S = 0.05
# Longer than a slot needs to stop its snapshots and to close its functions.
_END_S = 5.5
# A slot that has to end removes its socket; after that it only sends its answer.
_FAREWELL_S = 1.0
# Processes that a slot left behind are asked to end, and killed after so long.
_LEFTOVERS_S = 1.0
# So long the reason of an end can be read, unless the folder is removed before.
_REASON_S = 5.0
_REASON_WAIT_S = 2.0
_REASON_FILE = "ended"
CRASH_FILE = "crash"
_MOST_CRASH_BYTES = 16_384
_MOST_REASON_BYTES = 65_536


@dataclass(frozen=True)
class Heartbeat:
    """How often a slot says that it is there, and after which silence it is lost."""

    interval_ms: int = 10_000
    timeout_ms: int = 50_000


@dataclass(frozen=True)
class WatchCommand:
    """What a watcher must know of its slot."""

    # The slot's own, to be removed after it.
    folder: str
    socket_path: str
    executor_pid: int
    heartbeat: Heartbeat
    # Descriptors that are the slot's alone: a dead slot must not seem to listen.
    listeners: tuple[int, ...]
    memory: MemoryLimit | None = None


@dataclass(frozen=True)
class Ending:
    """How the process of a slot ended."""

    pid: int
    exit_status: int | None
    signal: int | None
    # So long it had not answered when it was killed for that.
    silence_ms: int | None = None
    # The operator whose turn it was.
    location: OperatorLocation = NOWHERE
    # What Python wrote about a crash.
    crash: str = ""
    # Why it was killed, if that was for its memory; then the location is that of the operator that took most of it.
    excess: str = ""

    @property
    def is_fault_of_operator(self) -> bool:
        """Whether the function that was running must have caused it, rather than another process."""
        if self.excess:
            return self.location != NOWHERE
        outside = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        return self.location != NOWHERE and self.signal not in outside

    def __str__(self) -> str:
        if self.excess:
            return f"process {self.pid} was killed before memory ran short: {self.excess}"
        running = f" while operator '{self.location.name}' was running" if self.location != NOWHERE else ""
        if self.silence_ms is not None:
            return (
                f"process {self.pid} was killed{running}, because it had not answered for {self.silence_ms} ms "
                "(heartbeat.timeout): it was stopped, or a call of a function into C code kept the interpreter to "
                "itself all that time"
            )
        if self.signal is None:
            return f"process {self.pid} ended with exit status {self.exit_status}{running}"
        is_memory_short = "; the system kills like this when memory is short" if self.signal == signal.SIGKILL else ""
        return f"process {self.pid} was ended by signal {_name_of(self.signal)}{running}{is_memory_short}"


def _name_of(number: int) -> str:
    with contextlib.suppress(ValueError):
        return f"{number} ({signal.Signals(number).name})"
    return str(number)


def become_watched(command: WatchCommand) -> socket.socket:
    """Forks: the child returns, as the slot, with its line to the watcher, which the parent becomes until the end."""
    turn.renew()
    line, slots_end = socket.socketpair()
    watcher = os.getpid()
    pid = os.fork()
    if pid == 0:
        line.close()
        os.setsid()
        end_with_parent(watcher)
        name_process("funke-slot")
        return slots_end
    slots_end.close()
    _watch(command, pid, line)


def _watch(command: WatchCommand, pid: int, line: socket.socket) -> NoReturn:
    try:
        name_process("funke-watcher")
        for descriptor in command.listeners:
            os.close(descriptor)
        adopts = adopt_orphans()
        watcher = _Watcher(command, pid, line)
        watcher.await_end()
        watcher.write_down()
        _end_leftovers(pid, adopts)
        watcher.await_readers()
        shutil.rmtree(command.folder, ignore_errors=True)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


class _Watcher:
    def __init__(self, command: WatchCommand, pid: int, line: socket.socket) -> None:
        self._command = command
        self._pid = pid
        self._line = line
        self._silent_s = 0.0
        self._is_killed_for_silence = False
        limit = command.memory
        self._memory = None if limit is None else MemoryWatch(limit, lambda: own_bytes_of(pid), turn.now)
        self._excess = ""
        # When a slot that must end is killed.
        self._deadline: float | None = None
        self._poll = select.poll()
        self._poll.register(line, select.POLLIN)
        self._executor = _process_descriptor(command.executor_pid)
        for descriptor in (_process_descriptor(pid), self._executor):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)

    def await_end(self) -> None:
        """Returns when the slot's process has ended; its id is still its own."""
        before = time.monotonic()
        while not _has_ended(self._pid):
            tick_s = _SHORT_TICK_S if self._memory is not None and self._memory.is_close else _TICK_S
            for descriptor, _ in self._poll.poll(tick_s * 1000):
                self._take(descriptor)
            now = time.monotonic()
            if self._memory is not None and not self._excess:
                self._look_at(self._memory)
            # Were this process stopped itself, it would know nothing about the slot's silence meanwhile.
            self._silent_s += min(now - before, 2 * _TICK_S)
            before = now
            self._kill_if_due(now)

    def _look_at(self, memory: MemoryWatch) -> None:
        """Warns through the slot, whose log lines reach the driver; ends it when it has too much."""
        size = memory.look()
        if size is not None:
            self._excess = memory.excess(size)
            os.kill(self._pid, signal.SIGKILL)
        elif warning := memory.warning():
            with contextlib.suppress(OSError):
                self._line.send(warning.encode())

    def _take(self, descriptor: int) -> None:
        if descriptor == self._line.fileno():
            with contextlib.suppress(OSError):
                if self._line.recv(4096):
                    self._silent_s = 0.0
                    return
        # A process has ended, or the slot has closed its end of the line: poll would report it again and again.
        self._poll.unregister(descriptor)

    def _kill_if_due(self, now: float) -> None:
        if self._deadline is None:
            self._deadline = self._find_deadline(now)
        is_silent = self._silent_s * 1000 > self._command.heartbeat.timeout_ms
        if is_silent or (self._deadline is not None and now > self._deadline):
            self._is_killed_for_silence = is_silent
            os.kill(self._pid, signal.SIGKILL)

    def _find_deadline(self, now: float) -> float | None:
        if not os.path.exists(self._command.socket_path):
            return now + _FAREWELL_S
        if self._is_executor_gone():
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_WR)  # the slot closes its functions and ends, if it can
            return now + _END_S
        return None

    def _is_executor_gone(self) -> bool:
        if self._executor is None:
            return not is_alive(self._command.executor_pid)
        return bool(select.select([self._executor], [], [], 0)[0])

    def write_down(self) -> None:
        """Leaves the reason beside the slot's socket; a slot that has ended in order has taken its folder along."""
        exit_status, by_signal = _status_of(self._pid)
        silence_ms = int(self._silent_s * 1000) if self._is_killed_for_silence else None
        crash = self._crash() if by_signal is not None else ""
        location = self._memory.largest if self._memory is not None and self._excess else turn.now()
        ending = Ending(self._pid, exit_status, by_signal, silence_ms, location, crash, self._excess)
        path = _beside(self._command.socket_path, _REASON_FILE)
        with contextlib.suppress(OSError):
            with open(path + ".part", "w", encoding="ascii") as file:
                json.dump(asdict(ending), file)
            os.rename(path + ".part", path)

    def _crash(self) -> str:
        with contextlib.suppress(OSError), open(_beside(self._command.socket_path, CRASH_FILE), "rb") as file:
            return file.read(_MOST_CRASH_BYTES).decode("utf-8", "replace")
        return ""

    def await_readers(self) -> None:
        """Waits until the reason has been read, or its time is over."""
        end = time.monotonic() + _REASON_S
        while os.path.exists(self._command.socket_path) and not self._is_executor_gone() and time.monotonic() < end:
            time.sleep(_TICK_S / 5)


def ending_of(socket_path: str) -> Ending | None:
    """How the slot with this socket ended, if it has and was on this host."""
    path, end = _beside(socket_path, _REASON_FILE), time.monotonic() + _REASON_WAIT_S
    while not os.path.exists(path):
        # Its watcher notices at once, but is another process.
        if not os.path.exists(socket_path) or time.monotonic() > end:
            return None
        time.sleep(0.01)
    try:
        with open(path, encoding="ascii") as file:
            written = json.loads(file.read(_MOST_REASON_BYTES))
            return Ending(**{**written, "location": OperatorLocation(**written["location"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _beside(socket_path: str, name: str) -> str:
    return os.path.join(os.path.dirname(socket_path), name)


def _process_descriptor(pid: int) -> int | None:
    """Something that can be waited for and stays that of this very process; None where there is no such thing."""
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return None


# Python on macOS cannot look at a child without waiting for it before version 3.13.
_can_look = hasattr(os, "waitid")
_waited: dict[int, int] = {}


def _has_ended(pid: int) -> bool:
    if _can_look:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        _waited[pid] = status
    return bool(ended)


def _status_of(pid: int) -> tuple[int | None, int | None]:
    """Exit status or signal of a child that has ended."""
    if _can_look:
        result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert result is not None
        is_exit = result.si_code == os.CLD_EXITED
        return (result.si_status, None) if is_exit else (None, result.si_status)
    code = os.waitstatus_to_exitcode(_waited[pid])
    return (code, None) if code >= 0 else (None, -code)


def _end_leftovers(pid: int, adopts: bool) -> None:
    """Ends all processes that the slot has started, directly or not, and that are still there."""
    if not adopts:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    end, signalled = time.monotonic() + _LEFTOVERS_S, set[int]()
    while _has_children():
        is_over = time.monotonic() > end
        for child in children_of(os.getpid()) if adopts else ():
            if is_over or child not in signalled:
                signalled.add(child)
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL if is_over else signal.SIGTERM)
        time.sleep(0.01)


def _has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
