"""YARN and HDFS on loopback: a ResourceManager, two NodeManagers, a NameNode and a DataNode, all in one Java process.

They are Hadoop's own classes, which this process starts and asks over Py4J. The Java process ends with this one.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tests.harness.jars import fetched_jars

_OPTIONS = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_NODES = 2
_WAIT_S = 300.0
# Small containers, and no application waits for another.
_YARN = {
    "yarn.scheduler.minimum-allocation-mb": "64",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
    # A container's processes reserve far more addresses than memory.
    "yarn.nodemanager.vmem-check-enabled": "false",
    # The machine's disk is not the cluster's.
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
}
_FOR_CLIENTS = (
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.resource-tracker.address",
    "yarn.resourcemanager.admin.address",
    "yarn.resourcemanager.webapp.address",
)


class HadoopUnavailableError(Exception):
    """No cluster can be started here; says why in one line."""


class HadoopCluster:
    """Runs until it is closed; programs reach it with the variables `environment`."""

    def __init__(self, folder: Path) -> None:
        import pyspark
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        self._spark = Path(pyspark.__file__).parent / "jars"
        self.folder = folder
        self._log = (folder / "hadoop.txt").open("w")
        # Hadoop's own folders, the logs of containers among them.
        options = [*_OPTIONS, f"-Dtest.build.data={folder}/yarn", f"-Dhadoop.log.dir={folder}/logs"]
        port, token = launch_gateway(
            jarpath=glob.glob(f"{self._spark}/py4j*.jar")[0],
            classpath=f"{fetched_jars('hadoop', HadoopUnavailableError)}/*:{self._spark}/*",
            javaopts=options,
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=self._log,
            redirect_stderr=self._log,
        )
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=parameters)
        hadoop = self._gateway.jvm.org.apache.hadoop
        self._hdfs = self._start_hdfs(hadoop)
        self._yarn = self._start_yarn(hadoop)
        self.hdfs = str(self._hdfs.getURI().toString())
        site = {"fs.defaultFS": self.hdfs, "dfs.replication": "1"}
        for_files = hadoop.conf.Configuration()
        for key, value in site.items():
            for_files.set(key, value)
        self._files = hadoop.fs.FileSystem.get(for_files)
        settings = self._yarn.getConfig()
        self._pages = str(settings.get("yarn.resourcemanager.webapp.address"))
        (folder / "conf").mkdir()
        _write_site(folder / "conf" / "core-site.xml", site)
        _write_site(folder / "conf" / "yarn-site.xml", {key: settings.get(key) for key in _FOR_CLIENTS})
        wait_until(lambda: len(self._ask("nodes")["nodes"]["node"]) == _NODES, "the nodes register")

    def _start_hdfs(self, hadoop: Any) -> Any:
        settings = hadoop.conf.Configuration()
        settings.set("hdfs.minidfs.basedir", str(self.folder / "hdfs"))
        # Its own wait for a DataNode is ten seconds.
        started = getattr(hadoop.hdfs, "MiniDFSCluster$Builder")(settings).numDataNodes(0).build()
        started.startDataNodes(settings, 1, True, None, None)
        started.waitActive()
        return started

    def _start_yarn(self, hadoop: Any) -> Any:
        settings = hadoop.yarn.conf.YarnConfiguration()
        for key, value in _YARN.items():
            settings.set(key, value)
        cluster = hadoop.yarn.server.MiniYARNCluster("tests", _NODES, 1, 1)
        cluster.init(settings)
        cluster.start()
        return cluster

    @property
    def environment(self) -> dict[str, str]:
        """Where Hadoop's clients, Spark among them, find the cluster."""
        return {"HADOOP_CONF_DIR": str(self.folder / "conf")}

    @property
    def options(self) -> dict[str, str]:
        """What Spark is told beside: its jars are on every node."""
        java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        return {
            "spark.master": "yarn",
            "spark.yarn.jars": f"local:{self._spark}/*",
            "spark.yarn.am.memory": "256m",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            **{f"spark.{kind}.extraJavaOptions": java for kind in ("driver", "executor", "yarn.am")},
        }

    def write(self, path: str, text: str) -> None:
        """Writes a file of HDFS."""
        with contextlib.closing(self._files.create(self._path(path))) as out:
            out.write(bytearray(text.encode()))

    def lines(self, folder: str) -> list[str]:
        """The lines of all finished files in a folder of HDFS."""
        results = []
        files = self._files.listFiles(self._path(folder), True)
        while files.hasNext():
            status = files.next()
            if not status.getPath().getName().startswith("."):
                with contextlib.closing(self._files.open(status.getPath())) as opened:
                    content = opened.readAllBytes()
                results += bytes(content).decode().splitlines()
        return results

    def names(self, folder: str) -> list[str]:
        """What is in a folder of HDFS."""
        return [str(status.getPath().getName()) for status in self._files.listStatus(self._path(folder))]

    def _path(self, path: str) -> Any:
        return self._gateway.jvm.org.apache.hadoop.fs.Path(self.hdfs + path)

    def _ask(self, page: str) -> Any:
        with urllib.request.urlopen(f"http://{self._pages}/ws/v1/cluster/{page}", timeout=20) as answer:
            return json.load(answer)

    def applications(self) -> list[dict[str, Any]]:
        """The applications that YARN knows, the oldest first."""
        results = (self._ask("apps")["apps"] or {"app": []})["app"]
        return sorted(results, key=lambda application: str(application["id"]))

    def attempts(self, application: str) -> int:
        """How many application masters an application has had."""
        return len(self._ask(f"apps/{application}/appattempts")["appAttempts"]["appAttempt"])

    def containers(self, application: str, main_class: str) -> list[int]:
        """The Java processes of an application's containers that run a class."""
        results = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = entry.read_text(errors="replace").split("\0")
                in_container = any(f"/{application}/container_" in word for word in words)
                if in_container and words[0].endswith("java") and main_class in words:
                    results.append(int(entry.parent.name))
        return sorted(results)

    def kill_container(self, application: str, main_class: str) -> int:
        """SIGKILL to the oldest such container; returns its process."""
        wait_until(lambda: self.containers(application, main_class), f"a container runs {main_class}")
        victim = self.containers(application, main_class)[0]
        os.kill(victim, signal.SIGKILL)
        return victim

    def logs(self, application: str) -> str:
        """What the containers of an application have printed."""
        files = sorted((self.folder / "yarn").rglob(f"{application}/container_*/std*"))
        return "\n".join(f"== {file}\n{file.read_text(errors='replace')}" for file in files)

    def close(self) -> None:
        """Ends all of it."""
        with contextlib.suppress(Exception):
            self._yarn.stop()
            self._hdfs.shutdown(True)
        self._gateway.shutdown()
        self._log.close()


def _write_site(path: Path, settings: dict[str, Any]) -> None:
    lines = [
        f"<property><name>{key}</name><value>{escape(value)}</value></property>" for key, value in settings.items()
    ]
    path.write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


def wait_until(is_reached: Callable[[], Any], what: str) -> None:
    """Waits for other processes, on a machine that runs other tests beside."""
    end = time.monotonic() + _WAIT_S
    while not is_reached():
        assert time.monotonic() < end, f"not within {_WAIT_S:.0f} s: {what}"
        time.sleep(0.1)
