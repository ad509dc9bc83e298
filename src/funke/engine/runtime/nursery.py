"""A process beside each executor that has everything loaded and forks slots: they start in milliseconds.

A new interpreter takes a slot 0.3 s. The first job of an executor starts its slots that way, and a nursery for the
jobs that follow. A nursery runs no user code, has one thread, and ends with its executor.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import socket
import subprocess
import sys
import tempfile

from funke.engine.runtime.process_ties import is_alive
from funke.engine.runtime.slot_process import main

__all__ = ["fork_slot", "start_nursery"]

_WATCH_INTERVAL_S = 0.5
_ANSWER_S = 2.0


def _folder_of(executor_pid: int) -> str:
    # One for each Python: what one version has pickled, another may not read.
    name = f"funke-nursery-{os.getuid()}-{executor_pid}-{sys.implementation.cache_tag}"
    return os.path.join(tempfile.gettempdir(), name)


def fork_slot(executor_pid: int, birth_file: str, listeners: tuple[int, ...]) -> int | None:
    """Asks the executor's nursery for a slot; its process id, or None when there is no nursery."""
    try:
        with socket.socket(socket.AF_UNIX) as nursery:
            nursery.settimeout(_ANSWER_S)
            nursery.connect(os.path.join(_folder_of(executor_pid), "s"))
            socket.send_fds(nursery, [birth_file.encode()], list(listeners))
            return int(nursery.recv(32))
    except (OSError, ValueError):
        return None


def start_nursery(executor_pid: int) -> None:
    """Starts the nursery of an executor, unless somebody else does."""
    folder = _folder_of(executor_pid)
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        return
    subprocess.Popen(
        [sys.executable, "-m", "funke.engine.runtime.nursery", str(executor_pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,
    )


def serve(executor_pid: int) -> None:
    """Forks a slot for every call, as long as the executor lives."""
    folder = _folder_of(executor_pid)
    # What user functions are made of: a name, because imports point down, and the children would all load it.
    importlib.import_module("funke.datastream")
    gc.freeze()  # so that children share the memory of what is loaded
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(folder, "s"))
        listener.listen(64)
        while is_alive(executor_pid):
            if select.select([listener], [], [], _WATCH_INTERVAL_S)[0]:
                with contextlib.suppress(OSError):
                    _answer(listener)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, "s"))
        os.rmdir(folder)


def _answer(listener: socket.socket) -> None:
    call, _ = listener.accept()
    with call:
        message, inherited, _, _ = socket.recv_fds(call, 4096, 8)
        pid = os.fork()
        if pid == 0:
            listener.close()
            call.close()
            _become_slot(message.decode(), tuple(inherited))
        for descriptor in inherited:
            os.close(descriptor)
        call.sendall(str(pid).encode())


def _become_slot(birth_file: str, listeners: tuple[int, ...]) -> None:
    try:
        os.setsid()
        main(birth_file, listeners)
    finally:
        os._exit(1)


if __name__ == "__main__":
    # Under its real name, so that pickled references to classes of the package are found.
    from funke.engine.runtime.nursery import serve as run

    run(int(sys.argv[1]))
