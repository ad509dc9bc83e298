"""Where the process of a slot begins."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import sys
import time

from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.runtime.epochs.epoch_host import EpochHost
from funke.engine.runtime.pipelined.streaming_host import StreamingHost
from funke.engine.runtime.slots.slot_host import SOCKET_NAME, SlotLaunch
from funke.engine.runtime.slots.slot_watch import CRASH_FILE, WatchCommand, become_watched
from funke.engine.trust.private_files import open_own_file

__all__ = ["keep_large_blocks_apart", "main"]

# Where PyFlink functions find how much memory their process may take.
_MEMORY_VARIABLE = "_PYTHON_WORKER_MEMORY_LIMIT"
# A parameter of glibc's `mallopt`, and how a user sets it.
_M_MMAP_THRESHOLD, _THRESHOLD_VARIABLE = -3, "MALLOC_MMAP_THRESHOLD_"
_LARGE_BLOCK_BYTES = 4 << 20


def main(launch_file: str, listeners: tuple[int, ...]) -> None:
    """Reads the launch message and serves on the given sockets."""
    claimed_file = f"{launch_file}.taken"
    os.rename(launch_file, claimed_file)  # only one process can be launched by it
    with open_own_file(claimed_file) as message:
        launch: SlotLaunch = pickle.load(message)
    os.unlink(claimed_file)
    os.environ.update(launch.environment)
    keep_large_blocks_apart()
    os.environ[_MEMORY_VARIABLE] = str(_memory_of(launch.deployment.memory_limit))
    if launch.deployment.time_zone is not None:
        os.environ["TZ"] = launch.deployment.time_zone
        time.tzset()
    for path in launch.sys_path:
        if path not in sys.path:
            sys.path.append(path)
    host = launch.deployment.driver_host
    if launch.deployment.archives:
        os.chdir(launch.folder)
    elif host is not None and host.working_folder is not None:
        os.chdir(host.working_folder)
    path = os.path.join(launch.folder, SOCKET_NAME)
    deployment = launch.deployment
    command = WatchCommand(
        launch.folder, path, launch.watched_pid, deployment.heartbeat, listeners, deployment.memory_limit
    )
    watcher = become_watched(command)
    # What C code and other programs print on standard output is for the log of the executor.
    os.dup2(2, 1)
    faulthandler.enable(open(os.path.join(launch.folder, CRASH_FILE), "w"), all_threads=False)  # noqa: SIM115
    process = (EpochHost if launch.deployment.control is None else StreamingHost)(launch, watcher)
    process.listen(listeners)
    process.start()
    process.serve()


def keep_large_blocks_apart() -> None:
    """Large blocks of memory stay outside of the heap, so that the system gets them back whole.

    By itself glibc moves them into the heap after the first one is freed, and arrays that grow leave holes there: of
    four million stored rows of a join, each took 71 bytes beside its columns in place of 50. Blocks of a batch must not
    be large: they would be mapped anew each time, which at 1 MiB took a fifth of the CPU of Nexmark q17.
    """
    if _THRESHOLD_VARIABLE not in os.environ:
        # Other C libraries than glibc do not have it.
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


if __name__ == "__main__":
    # Under its real name, so that pickled references to this module's classes are found.
    from funke.engine.runtime.slots.slot_process import main as run

    run(sys.argv[1], tuple(map(int, sys.argv[2:])))


def _memory_of(limit: MemoryLimit | None) -> int:
    """In bytes; without a limit it is what the machine has."""
    return limit.size if limit is not None else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
