"""Where part files are kept: the local file system, or anything that a URI leads to."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from typing import IO, Any
from urllib.parse import unquote

from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.connectors.named_file import open_to_write, sync
from funke.engine.connectors.remote.file_systems import open_file_system
from funke.engine.errors import SinkError
from funke.engine.trust.private_files import open_own_file

__all__ = ["ArrowStorage", "LocalStorage", "Storage", "open_storage", "to_absolute_path"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


class Storage(ABC):
    """The few things the file sink does with files; `root` is the sink's base path in the form the methods take."""

    # Whether a file can be cut to a length and written on after a restart.
    can_resume: bool

    def __init__(self, root: str, uri: str | None = None) -> None:
        self.root = root
        # What leads to the storage from another process; None for files of the machine.
        self.uri = uri

    def join(self, *parts: str) -> str:
        """The path of something below a directory; empty parts do not count."""
        return "/".join(part for part in parts if part)

    @abstractmethod
    def create(self, path: str) -> IO[bytes]:
        """Opens a new file for writing, making its directory."""

    @abstractmethod
    def read(self, path: str) -> IO[bytes]:
        """Opens a file for reading."""

    @abstractmethod
    def resume(self, path: str, size: int) -> IO[bytes]:
        """Opens a file for writing on after its first `size` bytes; what follows them is dropped."""

    @abstractmethod
    def sync(self, stream: IO[bytes]) -> None:
        """Makes what was written survive a crash, as far as the storage can."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """The size of a file, None when there is none."""

    @abstractmethod
    def truncate(self, path: str, size: int) -> None:
        """Cuts a closed file to its first `size` bytes."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Renames a file."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes a file if it is there."""

    @abstractmethod
    def list_names(self, directory: str) -> list[str]:
        """The names of the files in a directory; none when it does not exist."""


class LocalStorage(Storage):
    """Files of the machine itself."""

    can_resume = True

    def create(self, path: str) -> IO[bytes]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open_to_write(path, "x")

    def read(self, path: str) -> IO[bytes]:
        """Opens a file of this user's: what was staged for a commit is acted upon."""
        return open_own_file(path)

    def resume(self, path: str, size: int) -> IO[bytes]:
        """Cuts the file and opens it at its end."""
        self.truncate(path, size)
        return open_to_write(path, "a")

    def sync(self, stream: IO[bytes]) -> None:
        """Flushes down to the disk."""
        sync(stream)

    def size(self, path: str) -> int | None:
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return None

    def truncate(self, path: str, size: int) -> None:
        os.truncate(path, size)

    def move(self, source: str, target: str) -> None:
        """Renames in one step."""
        os.replace(source, target)

    def delete(self, path: str) -> None:
        try:
            os.remove(path)
        except FileNotFoundError:
            return

    def list_names(self, directory: str) -> list[str]:
        try:
            with os.scandir(directory) as entries:
                return sorted(entry.name for entry in entries if entry.is_file())
        except FileNotFoundError:
            return []


class ArrowStorage(Storage):
    """Files of another file system; object stores cannot write on after a restart."""

    can_resume = False

    def __init__(self, file_system: Any, root: str, uri: str | None = None) -> None:
        super().__init__(root, uri)
        self._file_system = file_system

    def create(self, path: str) -> IO[bytes]:
        self._file_system.create_dir(path.rpartition("/")[0], recursive=True)
        stream: IO[bytes] = self._file_system.open_output_stream(path)
        return stream

    def read(self, path: str) -> IO[bytes]:
        stream: IO[bytes] = self._file_system.open_input_stream(path)
        return stream

    def resume(self, path: str, size: int) -> IO[bytes]:
        """Never called: `can_resume` is False."""
        raise SinkError(f"{path} cannot be appended to: this storage cannot append to files")

    def sync(self, stream: IO[bytes]) -> None:
        """Flushes; the store keeps the file once it is closed."""
        stream.flush()

    def size(self, path: str) -> int | None:
        info = self._file_system.get_file_info(path)
        return info.size if info.is_file else None

    def truncate(self, path: str, size: int) -> None:
        """Never needed: files are closed before anything is remembered about them."""
        raise SinkError(f"{path} cannot be cut to {size} bytes: this storage cannot change files")

    def move(self, source: str, target: str) -> None:
        """Renames; object stores copy and delete."""
        self._file_system.move(source, target)

    def delete(self, path: str) -> None:
        if self.size(path) is not None:
            self._file_system.delete_file(path)

    def list_names(self, directory: str) -> list[str]:
        from pyarrow.fs import FileSelector

        infos = self._file_system.get_file_info(FileSelector(directory, allow_not_found=True))
        return sorted(info.base_name for info in infos if info.is_file)


def to_absolute_path(path: str) -> str:
    """A local path without scheme and relative parts, since workers run elsewhere; other URIs as they are.

    >>> to_absolute_path("file:///tmp/out/"), to_absolute_path("s3://bucket/out")
    ('/tmp/out', 's3://bucket/out')
    """
    plain = without_file_scheme(path)
    if plain is not None:
        return os.path.abspath(unquote(plain))
    return os.path.abspath(path) if _SCHEME.match(path) is None else path


def open_storage(base_path: str) -> Storage:
    """Connects to the storage of a base path that `to_absolute_path` has made."""
    if _SCHEME.match(base_path) is None:
        return LocalStorage(base_path)
    try:
        file_system, root = open_file_system(base_path)
    except OSError as error:
        raise SinkError(f"the storage of {base_path!r} cannot be reached: {error}") from error
    return ArrowStorage(file_system, root, base_path)
