"""A Spark standalone cluster between hosts: a master, workers of two cores, and a host for drivers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.harness.hosts import Host, Network, await_reached

_PACKAGE = "org.apache.spark.deploy"
_WORKERS = ("worker1", "worker2")
# Processes that live shortly: what the optimising compiler would make is not worth its time.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class HostCluster:
    """Runs until it is closed; started as the documentation says, without a variable or an address."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.network = Network(folder, ("master", *_WORKERS, "client"))
        self.url = "spark://master:7077"
        self.client = self.network["client"]
        self.workers = [self.network[name] for name in _WORKERS]
        # Of all daemons and programs.
        self.log = folder / "log.txt"
        self._spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        try:
            self.start_master()
            # Workers that find no master try again only after ten seconds and more.
            await_reached(self.state, 300, "the master answers")
            for worker in self.workers:
                self.start_worker(worker)
            self.await_workers()
        except BaseException:
            self.close()
            raise

    @property
    def shared(self) -> Path:
        """The folder that all hosts see."""
        return self.network.shared

    def start_master(self) -> None:
        self._start(self.network["master"], f"{_PACKAGE}.master.Master")

    def start_worker(self, host: Host, user: str | None = None) -> None:
        own = ["--cores", "2", "--memory", "2g", "--work-dir", f"/tmp/work-{user}"]
        self._start(host, f"{_PACKAGE}.worker.Worker", *own, self.url, user=user)

    def _start(self, host: Host, *arguments: str, user: str | None = None) -> None:
        host.start(self.log, self._spark_class, *arguments, user=user, variables={"SPARK_DAEMON_JAVA_OPTS": _JAVA})

    def await_workers(self) -> None:
        """Waits until the master knows all workers."""
        await_reached(lambda: self.state().get("aliveworkers") == len(_WORKERS), 300, "the workers have registered")

    def state(self) -> dict[str, Any]:
        """What the master tells about itself; nothing when it does not."""
        ask = "import urllib.request as u; print(u.urlopen('http://master:8080/json/', timeout=5).read().decode())"
        said = self.network["master"].run(sys.executable, "-c", ask).stdout
        state: dict[str, Any] = json.loads(said) if said else {}
        return state

    def program(self, name: str, text: str) -> str:
        """A program on the driver's host."""
        path = self.shared / name
        path.write_text(text)
        return str(path)

    def run(self, program: str, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        """Runs a program on the driver's host to its end."""
        return self.client.run(*self.command(program, arguments, options), timeout_s=240)

    def command(self, program: str, arguments: Sequence[str], options: dict[str, str]) -> list[str]:
        """The documented command."""
        java = {f"spark.{kind}.extraJavaOptions": _JAVA for kind in ("driver", "executor")}
        settings = {"spark.master": self.url, "spark.executor.memory": "512m", **java, **options}
        own_options = [f"-D{key}={value}" for key, value in settings.items()]
        return self.funke("run", *own_options, program, *arguments)

    def funke(self, *arguments: str) -> list[str]:
        """A command of the command line."""
        return [sys.executable, "-m", "funke", *arguments]

    def close(self) -> None:
        self.network.close()
