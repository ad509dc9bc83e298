"""A real Spark standalone cluster on loopback: one master and two workers of one core each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.harness.own_servers import free_port

_PACKAGE = "org.apache.spark.deploy"


class StandaloneCluster:
    """Runs until it is closed; workers can be killed with what runs on them."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._home = Path(pyspark.__file__).parent
        self.folder = folder
        self._log = (folder / "daemons.txt").open("w")
        port, page_port = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        address = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page_port)]
        self.workers: list[subprocess.Popen[bytes]] = []
        self._master = self._start(f"{_PACKAGE}.master.Master", *address)
        try:
            wait_for_port(port)
            self.workers += [self._start_worker(number) for number in range(2)]
            wait_until(lambda: _alive_workers(page_port) == 2)
        except BaseException:
            self.close()
            raise

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        size = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
        work = str(self.folder / f"worker-{number}")
        return self._start(f"{_PACKAGE}.worker.Worker", *size, "--work-dir", work, self.url)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        home, folder = str(self._home), str(self.folder)
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": home, "SPARK_LOG_DIR": folder}
        command = [str(self._home / "bin" / "spark-class"), *arguments]
        return subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log, start_new_session=True)

    def executors(self, number: int) -> list[int]:
        """The processes of the executors on a worker."""
        return _children(self.workers[number].pid)

    def kill_worker(self, number: int) -> None:
        """SIGKILL to a worker and to its executors."""
        for pid in [*self.executors(number), self.workers[number].pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop_worker(self, number: int) -> list[int]:
        """SIGSTOP to a worker and to all that runs on it; returns the processes, the worker's first."""
        stopped = [self.workers[number].pid]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
            stopped += _children(pid)
        return stopped

    def close(self) -> None:
        """Ends all of it."""
        for process in (self._master, *self.workers):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)
        self._log.close()


def _children(parent: int) -> list[int]:
    results = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int(entry.read_text(errors="replace").rpartition(")")[2].split()[1]) == parent:
                results.append(int(entry.parent.name))
    return results


def wait_for_port(port: int) -> None:
    """Waits until somebody listens."""
    wait_until(lambda: _is_open(port))


def wait_until(is_reached: Callable[[], bool], seconds: float = 120) -> None:
    """Waits for other processes, which take their time on a machine that runs more tests beside."""
    end = time.monotonic() + seconds
    while not is_reached():
        assert time.monotonic() < end, "what other processes do takes too long"
        time.sleep(0.1)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _alive_workers(page_port: int) -> int:
    """How many workers the master knows."""
    with (
        contextlib.suppress(OSError, ValueError),  # a page that is not ready yet is no JSON
        urllib.request.urlopen(f"http://127.0.0.1:{page_port}/json/", timeout=10) as page,
    ):
        return int(json.load(page)["aliveworkers"])
    return 0
