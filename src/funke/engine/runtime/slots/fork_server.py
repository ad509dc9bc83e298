"""A child of the driver that has everything loaded and forks slots on embedded Spark, in milliseconds each.

A new interpreter takes a slot 0.3 s, and libraries as much again. The driver starts the fork server before Spark, which
takes longer. It runs no user code and ends with the driver: it then ends what is left of its slots, and removes the run
folder.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import replace

from funke.engine.runtime.slots.process_ties import adopt_orphans, children_of
from funke.engine.runtime.slots.slot_process import main
from funke.engine.runtime.slots.worker_setup import DriverHost
from funke.engine.runtime.starting.warm_spark import folder_of_program
from funke.engine.trust.peers import connect_to_own, listen_at, require_same_user
from funke.engine.trust.private_files import make_private_folder
from funke.engine.trust.run_folders import run_folder, run_folder_lock

__all__ = ["fork_slot", "open_fork_server"]

_WATCH_INTERVAL_S = 0.5
# Longer than a slot's watcher lets it take.
_END_S = 10.0
# A fork server that has just been started answers when it has loaded everything.
_ANSWER_S = 30.0
# What takes slots long to load, if the job's functions need it: the driver has it then, too.
_LIBRARIES = ("numpy", "pandas", "pyarrow", "funke.datastream.connectors", "funke.table")
# What only slots need of them: the driver does without, which saves it a tenth of the import of tables.
_FOR_SLOTS = {"funke.table": "funke.engine.sql.operators.loaded"}


_lock = threading.Lock()
_fork_servers: dict[int, tuple[subprocess.Popen[bytes], DriverHost]] = {}


def open_fork_server() -> DriverHost:
    """The fork server of this process, with its run folder; started if there is none."""
    with _lock:
        server = _fork_servers.get(os.getpid())
        if server is None or server[0].poll() is not None:
            server = _fork_servers[os.getpid()] = _start_fork_server()
        libraries = [name for name in _LIBRARIES if name in sys.modules]
        libraries += [_FOR_SLOTS[name] for name in libraries if name in _FOR_SLOTS]
        return replace(server[1], libraries=tuple(libraries), working_folder=folder_of_program())


def _start_fork_server() -> tuple[subprocess.Popen[bytes], DriverHost]:
    folder = run_folder()
    path = os.path.join(make_private_folder("fork-", folder), "s")
    with listen_at(path) as listener:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "funke.engine.runtime.slots.fork_server",
                str(os.getpid()),
                str(listener.fileno()),
                folder,
            ],
            stdin=subprocess.PIPE,  # it is never written to: its end says that the driver has gone
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            # Who lives in the run folder holds its lock.
            pass_fds=(listener.fileno(), run_folder_lock()),
            start_new_session=True,
        )
    return process, DriverHost(folder, path, _interpreter())


def _interpreter() -> str:
    """This Python, however the path was written that it was called by; a link to another one is not followed."""
    folder, name = os.path.split(sys.executable)
    return os.path.join(os.path.realpath(folder), name)


def load_ahead() -> None:
    """Lets the fork server load what this process has loaded, before it is asked for the first slot."""
    host = open_fork_server()
    with contextlib.suppress(OSError), connect_to_own(host.fork_server_path, _ANSWER_S) as call:
        call.sendall("\0".join(["", *host.libraries]).encode())
        call.recv(1)


def fork_slot(host: DriverHost, launch_file: str, listeners: tuple[int, ...]) -> int | None:
    """Asks the driver's fork server for a slot. Returns its process id, or None when no fork server can make it."""
    if host.interpreter != _interpreter():
        return None
    try:
        with connect_to_own(host.fork_server_path, _ANSWER_S) as call:
            socket.send_fds(call, ["\0".join([launch_file, *host.libraries]).encode()], list(listeners))
            return int(call.recv(32))
    except (OSError, ValueError):
        return None


def serve(driver_pid: int, listener: socket.socket, folder: str) -> None:
    """Forks a slot for every call, as long as the driver lives."""
    # What user functions are made of: a name, because imports point down, and the children would all load it.
    _load(["funke.datastream"])
    adopts = adopt_orphans()
    children: set[int] = set()
    while os.getppid() == driver_pid:
        ready = select.select([listener, sys.stdin], [], [], _WATCH_INTERVAL_S)[0]
        if sys.stdin in ready:
            break
        if ready:
            with contextlib.suppress(OSError):
                children |= _answer(listener)
        ended = _ended()
        children -= ended
        if ended and adopts:
            _end_orphans(children)
    _end_all(children)
    if adopts:
        _end_orphans(set())
    _remove(folder)


def _remove(folder: str) -> None:
    """Removes the run folder; what still ends with the driver, as Spark does, may put something there meanwhile."""
    end = time.monotonic() + _END_S
    while os.path.isdir(folder) and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_WATCH_INTERVAL_S / 10)


def _answer(listener: socket.socket) -> set[int]:
    """Forks a slot, or only loads, if no slot is asked for."""
    call, _ = listener.accept()
    with call:
        require_same_user(call)
        message, inherited, _, _ = socket.recv_fds(call, 4096, 8)
        launch_file, *libraries = message.decode().split("\0")
        _load(libraries)
        if not launch_file:
            return set()
        pid = os.fork()
        if pid == 0:
            listener.close()
            call.close()
            _become_slot(launch_file, tuple(inherited))
        for descriptor in inherited:
            os.close(descriptor)
        call.sendall(str(pid).encode())
        return {pid}


def _load(libraries: Iterable[str]) -> None:
    if missing := [name for name in libraries if name not in sys.modules]:
        for name in missing:
            with contextlib.suppress(ImportError):  # the slot says so if it needs it
                importlib.import_module(name)
        gc.freeze()  # so that children share the memory of what is loaded


def _become_slot(launch_file: str, listeners: tuple[int, ...]) -> None:
    try:
        os.setsid()
        main(launch_file, listeners)
    finally:
        os._exit(1)


def _ended() -> set[int]:
    """The children, adopted ones too, that have ended; each is returned once."""
    ended: set[int] = set()
    with contextlib.suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            ended.add(pid)
    return ended


def _end_orphans(children: set[int]) -> None:
    """Ends what slots have left behind whose watcher was killed before it could do so."""
    while orphans := set(children_of(os.getpid())) - children:
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)  # what it leaves behind comes here in turn


def _end_all(children: set[int]) -> None:
    """Waits for the slots' watchers, which see by themselves that Spark is gone; those that cannot are killed."""
    end = time.monotonic() + _END_S
    while (children := children - _ended()) and time.monotonic() < end:
        time.sleep(_WATCH_INTERVAL_S / 10)
    for pid in children:  # not waited for yet, so the number is still theirs
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    # Under its real name, so that pickled references to classes of the package are found.
    from funke.engine.runtime.slots.fork_server import serve as run

    run(int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])), sys.argv[3])
