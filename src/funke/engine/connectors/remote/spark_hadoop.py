"""Hadoop's file systems with pyarrow's interface: a small JVM beside this process runs the client that Spark brings.

Slots have no JVM, and the driver's may die and be replaced; so each process that needs Hadoop's client starts one of
its own, which ends with the process.
"""

from __future__ import annotations

import functools
import glob
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pyarrow import fs

from funke.engine.connectors.remote.access import StorageAccess
from funke.engine.connectors.remote.copied_files import CopiedFiles

__all__ = ["HadoopFiles"]

T = TypeVar("T")

_JVM_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]


class HadoopFiles(CopiedFiles):
    """Files of any file system that Hadoop's client reaches; paths are complete URIs."""

    def __init__(self, access: StorageAccess) -> None:
        self._access = access
        self._lock = threading.Lock()
        # Java's file systems, each by scheme and host.
        self._systems: dict[str, Any] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HadoopFiles) and other._access == self._access

    def __hash__(self) -> int:
        return hash(self._access)

    def get_type_name(self) -> str:
        """The kind of file system."""
        return "hadoop"

    # Files as a whole

    def upload(self, local: str, path: str) -> None:
        """Copies a local file; it appears under its name when it is complete."""

        def copy(system: Any, target: Any) -> None:
            part = self.java_path(f"{path}.part")
            system.copyFromLocalFile(False, True, self.java_path(_local_uri(local)), part)
            if system.exists(target):
                system.delete(target, False)
            if not system.rename(part, target):
                raise OSError(f"'{path}.part' cannot be renamed")

        self.call(path, copy)

    def download(self, path: str, local: str) -> None:
        """Copies a file to a local one."""
        target = _local_uri(local)
        self.call(path, lambda system, source: system.copyToLocalFile(False, source, self.java_path(target), True))

    # pyarrow's interface

    def get_file_info(self, paths: list[str]) -> list[Any]:
        """What is at some paths."""
        return [self.call(path, functools.partial(_info_at, path)) for path in paths]

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        """What is in a folder."""
        folder = selector.base_dir.rstrip("/")
        infos = []
        try:
            statuses = self.call(folder, lambda system, target: list(system.listStatus(target)))
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise
        for status in statuses:
            info = _info_of(f"{folder}/{status.getPath().getName()}", status)
            infos.append(info)
            if selector.recursive and info.type == fs.FileType.Directory:
                infos += self.get_file_info_selector(fs.FileSelector(info.path, recursive=True))
        return infos

    def create_dir(self, path: str, recursive: bool) -> None:
        """Makes a folder, and those above it."""
        self.call(path, lambda system, target: system.mkdirs(target))

    def delete_dir(self, path: str) -> None:
        """Removes a folder with all it holds."""
        self.call(path, lambda system, target: system.delete(target, True))

    def delete_file(self, path: str) -> None:
        """Removes a file."""
        self.call(path, lambda system, target: system.delete(target, False))

    def move(self, src: str, dest: str) -> None:
        """Renames a file."""
        if not self.call(src, lambda system, source: system.rename(source, self.java_path(dest))):
            raise OSError(f"'{src}' cannot be renamed to '{dest}'")

    # The JVM

    def java(self) -> Any:
        """Java's packages."""
        return _gateway(self._access.classpath).jvm

    def java_path(self, uri: str) -> Any:
        """A path as Hadoop has it."""
        return self.java().org.apache.hadoop.fs.Path(uri)

    def java_array(self, kind: Any, *values: Any) -> Any:
        """An array of Java."""
        array = _gateway(self._access.classpath).new_array(kind, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    def call(self, uri: str, use: Callable[[Any, Any], T]) -> T:
        """Calls Hadoop with the file system of a URI and its path; what Java raises becomes an OSError."""
        from py4j.protocol import Py4JError, Py4JJavaError

        try:
            with self._lock:
                path = self.java_path(uri)
                system = self._system(path.toUri())
            return use(system, path)
        except Py4JJavaError as error:
            text = str(error.java_exception.toString())
            kind = FileNotFoundError if "FileNotFoundException" in text.partition(":")[0] else OSError
            raise kind(f"Hadoop's client cannot access '{uri}': {text}") from None
        except (Py4JError, ConnectionError) as error:
            with self._lock:  # the next call starts another process
                self._systems.clear()
                _gateway.cache_clear()
            raise OSError(f"the process of Hadoop's client ended while it accessed '{uri}': {error}") from error

    def _system(self, uri: Any) -> Any:
        name = f"{uri.getScheme()}://{uri.getAuthority()}"
        if name not in self._systems:
            hadoop = self.java().org.apache.hadoop
            settings = hadoop.conf.Configuration()
            for key, value in self._access.hadoop:
                settings.set(key, value)
            self._log_in(hadoop.security.UserGroupInformation, settings)
            # Hadoop would give out one that was made with other settings.
            self._systems[name] = hadoop.fs.FileSystem.newInstance(uri, settings)
        return self._systems[name]

    def _log_in(self, users: Any, settings: Any) -> None:
        """With Kerberos: from a keytab if this host has it, else with the ticket or the tokens of this process."""
        users.setConfiguration(settings)
        principal, keytab = self._access.get("spark.kerberos.principal"), self._access.get("spark.kerberos.keytab")
        if principal and keytab and users.isSecurityEnabled() and os.path.isfile(keytab):
            users.loginUserFromKeytab(principal, keytab)


def _info_at(path: str, system: Any, target: Any) -> Any:
    if not system.exists(target):
        return fs.FileInfo(path, fs.FileType.NotFound)
    return _info_of(path, system.getFileStatus(target))


def _info_of(path: str, status: Any) -> Any:
    kind = fs.FileType.File if status.isFile() else fs.FileType.Directory
    return fs.FileInfo(path, kind, size=status.getLen() if status.isFile() else None)


def _local_uri(path: str) -> str:
    return f"file://{os.path.abspath(path)}"


@functools.lru_cache(maxsize=8)
def _gateway(classpath: tuple[str, ...]) -> Any:
    """Starts a JVM that ends when this process does; returns the way to it."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    server = _gateway_jar()
    jars = os.path.dirname(server)
    further = (os.environ.get("HADOOP_CONF_DIR"), *classpath, os.environ.get("SPARK_DIST_CLASSPATH"))
    home = os.environ.get("JAVA_HOME")
    try:
        port, token, process = launch_gateway(
            jarpath=server,
            classpath=os.pathsep.join([*(path for path in further if path), os.path.join(jars, "*")]),
            javaopts=_JVM_OPTIONS,
            die_on_exit=True,
            java_path=os.path.join(home, "bin", "java") if home else "java",
            # Ctrl-C ends the driver in its own time, which still has files to remove.
            create_new_process_group=True,
            enable_auth=True,
            return_proc=True,
        )
    except Exception as error:
        raise OSError(f"Java, which Hadoop's client needs, does not start: {error}") from error
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token), java_process=process)


def _gateway_jar() -> str:
    """Py4J's jar, which is among Spark's: in a container of YARN, PySpark is an archive without them."""
    import pyspark

    homes = [os.environ.get("SPARK_HOME"), os.path.dirname(pyspark.__file__)]
    homes += [os.path.join(path, "pyspark") for path in sys.path]
    folders = [os.path.join(home, "jars") for home in homes if home]
    # Where a container has the jars that Spark's client has sent.
    folders.append(os.path.join(os.environ.get("PWD", ""), "__spark_libs__"))
    for folder in folders:
        if jars := glob.glob(os.path.join(folder, "py4j*.jar")):
            return jars[0]
    raise OSError(f"Spark's jars, with Hadoop's client among them, are not in '{folders[0]}'; set SPARK_HOME")
