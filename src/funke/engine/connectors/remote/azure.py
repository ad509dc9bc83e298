"""Azure's files by tokens, through a process of their own.

pyarrow's client for Azure ends the process that it runs in when a token is rejected: what the library for tokens throws
is caught in few places. So that this is a failed call and not the end of a driver or a slot, the client runs beside it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import IO, Any

from pyarrow import fs

from funke.engine.connectors.remote.copied_files import CopiedFiles

__all__ = ["AzureFiles", "serve"]

_COPY_BYTES = 1 << 20
_COMMAND = "import sys; from funke.engine.connectors.remote.azure import serve; serve(sys.argv[1], int(sys.argv[2]))"
# How much of the client's last output a message quotes.
_MOST_WORDS = 1000


@dataclass(frozen=True)
class _Client:
    """The process, and the way to it."""

    owner: int
    process: subprocess.Popen[bytes]
    connection: Connection
    words: IO[bytes]


class AzureFiles(CopiedFiles):
    """Files of one storage account."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._client: _Client | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AzureFiles) and other._account == self._account

    def __hash__(self) -> int:
        return hash(self._account)

    def get_type_name(self) -> str:
        """The kind of file system."""
        return "abfs"

    def upload(self, local: str, path: str) -> None:
        """Copies a local file."""
        self._call("upload", local, path)

    def download(self, path: str, local: str) -> None:
        """Copies a file to a local one."""
        self._call("download", path, local)

    def get_file_info(self, paths: list[str]) -> list[Any]:
        """What is at some paths."""
        return [_to_info(each) for each in self._call("infos", list(paths))]

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        """What is in a folder."""
        entries = self._call("listing", selector.base_dir, selector.allow_not_found, selector.recursive)
        return [_to_info(each) for each in entries]

    def create_dir(self, path: str, recursive: bool) -> None:
        """Makes a folder."""
        self._call("create_dir", path, recursive)

    def delete_dir(self, path: str) -> None:
        """Removes a folder with all it holds."""
        self._call("delete_dir", path)

    def delete_file(self, path: str) -> None:
        """Removes a file."""
        self._call("delete_file", path)

    def move(self, src: str, dest: str) -> None:
        """Renames a file."""
        self._call("move", src, dest)

    def _call(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            client = self._started()
            try:
                client.connection.send((name, arguments))
                is_done, answer = client.connection.recv()
            except (OSError, EOFError):
                raise OSError(f"Azure's client ended: {self._last_words(client)}") from None
        if is_done:
            return answer
        kind, text = answer
        raise (FileNotFoundError if kind == "FileNotFoundError" else OSError)(text)

    def _started(self) -> _Client:
        client = self._client
        # A forked process must not talk to its parent's.
        if client is None or client.owner != os.getpid() or client.process.poll() is not None:
            client = self._client = _start(self._account)
        return client

    def _last_words(self, client: _Client) -> str:
        self._client = None
        status = client.process.wait()
        with contextlib.suppress(OSError), client.words as words:
            client.connection.close()
            words.seek(max(0, os.fstat(words.fileno()).st_size - _MOST_WORDS))
            said = " ".join(words.read().decode("utf-8", "replace").split())
            return said or f"status {status}"
        return f"status {status}"


def _start(account: str) -> _Client:
    own, others = socket.socketpair()
    with others:
        words = tempfile.TemporaryFile(prefix="funke-azure-")  # noqa: SIM115
        paths = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, account, str(others.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env={**os.environ, "PYTHONPATH": paths},
            pass_fds=[others.fileno()],
            # Ctrl-C ends the driver in its own time, which still has files to remove.
            start_new_session=True,
        )
    return _Client(os.getpid(), process, Connection(own.detach()), words)


def serve(account: str, descriptor: int) -> None:
    """Answers calls until the caller closes the pipe."""
    system = fs.AzureFileSystem(account)
    calls: dict[str, Callable[..., Any]] = {
        "upload": partial(_upload, system),
        "download": partial(_download, system),
        "infos": lambda paths: [_to_plain(each) for each in system.get_file_info(paths)],
        "listing": lambda folder, allow_not_found, recursive: [
            _to_plain(each) for each in system.get_file_info(fs.FileSelector(folder, allow_not_found, recursive))
        ],
        "create_dir": lambda path, recursive: system.create_dir(path, recursive=recursive),
        "delete_dir": system.delete_dir,
        "delete_file": system.delete_file,
        "move": system.move,
    }
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, arguments = connection.recv()
            try:
                answer = True, calls[name](*arguments)
            except Exception as error:
                answer = False, (type(error).__name__, f"Azure's client failed: {error}")
            connection.send(answer)


def _upload(system: Any, local: str, path: str) -> None:
    with open(local, "rb") as content, system.open_output_stream(path) as out:
        shutil.copyfileobj(content, out, _COPY_BYTES)


def _download(system: Any, path: str, local: str) -> None:
    with system.open_input_stream(path) as content, open(local, "wb") as out:
        shutil.copyfileobj(content, out, _COPY_BYTES)


def _to_plain(info: Any) -> tuple[str, int, int | None]:
    return info.path, info.type.value, info.size


def _to_info(plain: tuple[str, int, int | None]) -> Any:
    path, kind, size = plain
    return fs.FileInfo(path, fs.FileType(kind), size=size)
