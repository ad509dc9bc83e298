"""Job records in HDFS: a rename that does not overwrite lets one process create the file of a number."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Hashable
from typing import Any

from funke.engine.connectors.remote.access import installed_access
from funke.engine.connectors.remote.spark_hadoop import HadoopFiles
from funke.engine.errors import UntrustedError
from funke.engine.jobs.records.record_store import WrittenStore
from funke.engine.runtime.snapshots.snapshot_files import join_path

__all__ = ["HdfsStore"]

_FOR_ITS_USER = "700"
_WRITTEN_BY_OTHERS = 0o022


class HdfsStore(WrittenStore):
    """Files below a URI, by Hadoop's client in a process of its own."""

    def __init__(self, uri: str, local_folder: str) -> None:
        self._uri = uri
        self._local = local_folder
        self._files = HadoopFiles(installed_access())

    def local_folder(self, folder: str) -> str:
        """The folder of this machine that has the same name below its own."""
        return self._local + folder.removeprefix(self._uri)

    def make_folder(self, folder: str) -> None:
        """Makes it there, and those above it."""

        def make(system: Any, path: Any) -> None:
            system.mkdirs(path, self._files.java().org.apache.hadoop.fs.permission.FsPermission(_FOR_ITS_USER))

        self._files.call(folder, make)

    def require_own(self, folder: str) -> None:
        """HDFS says who owns it."""

        def check(system: Any, path: Any) -> None:
            status = system.getFileStatus(path)
            users = self._files.java().org.apache.hadoop.security.UserGroupInformation
            user, owner = str(users.getCurrentUser().getShortUserName()), str(status.getOwner())
            if owner != user:
                raise UntrustedError(f"'{folder}' belongs to {owner}, not to {user}")
            if status.getPermission().toShort() & _WRITTEN_BY_OTHERS:
                raise UntrustedError(f"others may write to '{folder}': hdfs dfs -chmod 700 {folder}")

        self._files.call(folder, check)

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder."""
        return [name for name, status in self._listed(folder) if status.isDirectory()]

    def versions(self, folder: str) -> dict[str, Hashable]:
        """The files with the times of their last change."""
        files = self._listed(folder)
        return {name: (status.getModificationTime(), status.getLen()) for name, status in files}

    def read(self, path: str, most_bytes: int | None = None) -> bytes:
        """The content of a file."""

        def read(system: Any, target: Any) -> bytes:
            if most_bytes is not None and system.getFileStatus(target).getLen() > most_bytes:
                raise OSError(f"'{path}' is larger than {most_bytes} bytes")
            with contextlib.closing(system.open(target)) as opened:
                return bytes(opened.readAllBytes())

        return self._files.call(path, read)

    def write(self, path: str, content: bytes) -> None:
        """Replaces a file by an atomic rename."""
        draft = self._draft(path, content)

        def replace(system: Any, target: Any) -> None:
            kind = getattr(self._files.java().org.apache.hadoop.fs, "Options$Rename")
            system.rename(self._files.java_path(draft), target, self._files.java_array(kind, kind.OVERWRITE))

        self._files.call(path, replace)

    def create(self, path: str, content: bytes) -> str | None:
        """Renames a complete file, which HDFS refuses where there is one of that name."""
        draft = self._draft(path, content)
        with contextlib.suppress(OSError):
            if self._files.call(draft, lambda system, source: system.rename(source, self._files.java_path(path))):
                return _version_of(content)
        # The client repeats a request whose answer was lost.
        is_own = self._has(path, content)
        self.remove(draft)
        return _version_of(content) if is_own else None

    def rewrite(self, path: str, content: bytes, version: str) -> str:
        """Replaces a file; only the process that has claimed the number does."""
        if not self._has(path, version.encode()):
            raise OSError(f"'{path}' has been changed by another process")
        self.write(path, content)
        return _version_of(content)

    def remove(self, path: str) -> None:
        """Removes a file."""
        self._files.delete_file(path)

    def remove_folder(self, folder: str) -> None:
        """Removes a folder there, and the local one."""
        with contextlib.suppress(OSError):
            self._files.delete_dir(folder)
        shutil.rmtree(self.local_folder(folder), ignore_errors=True)

    def _draft(self, path: str, content: bytes) -> str:
        """A complete file beside a path."""
        folder, _, name = path.rpartition("/")
        draft = join_path(folder, f".{name}.{secrets.token_hex(8)}")

        def write(system: Any, target: Any) -> None:
            with contextlib.closing(system.create(target, False)) as out:
                out.write(bytearray(content))
                out.hsync()

        self._files.call(draft, write)
        return draft

    def _has(self, path: str, content: bytes) -> bool:
        try:
            return self.read(path) == content
        except FileNotFoundError:
            return False

    def _listed(self, folder: str) -> list[tuple[str, Any]]:
        try:
            statuses = self._files.call(folder, lambda system, path: list(system.listStatus(path)))
        except FileNotFoundError:
            return []
        return [(str(status.getPath().getName()), status) for status in statuses]


def _version_of(content: bytes) -> str:
    """A file has no tag; the content of a number's file is another one after each beat."""
    return content.decode()
