"""Files of checkpoints, on the local file system or any that a URI leads to, and handles to what they hold."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields, replace
from typing import Any, BinaryIO

from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.connectors.remote.file_systems import download, is_uri, open_file_system, upload
from funke.engine.errors import StateError, StorageUnavailableError
from funke.engine.runtime.epochs.results import describe
from funke.engine.trust.private_files import make_private_folders, open_own_file, private_opener, require_own_file

__all__ = [
    "NativeFile",
    "SnapshotHandle",
    "checksum_of",
    "copy_file",
    "create_folder",
    "delete_file",
    "delete_folder",
    "fetch_native",
    "file_size",
    "join_path",
    "list_folder",
    "local_path",
    "open_for_reading",
    "open_snapshot_file",
    "read_bytes",
    "require_checksum",
    "require_folder",
    "write_atomically",
]

_BEGUN = "_begun"
_READ_BYTES = 1 << 20
_MOST_SHOWN = 500
# Beside the folders of checkpoints: what several of them refer to, which never changes.
_SHARED = "/shared/"


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    """Whatever a file system raises means that a file cannot be written: its clients have exceptions of all kinds."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        raise StateError(f"{_display_path(path)} cannot be written: {_reason(error)}") from error


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """The same for what cannot be read.

    A missing file is damage; a file system that does not answer is not, except on this machine.
    """
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        is_there_nothing = isinstance(error, FileNotFoundError) or local_path(path) is not None
        kind = StateError if is_there_nothing else StorageUnavailableError
        raise kind(f"{_display_path(path)} cannot be read: {_reason(error)}") from error


def _display_path(path: str) -> str:
    """Complete, unless its length was forged."""
    return f"'{path}'" if len(path) <= _MOST_SHOWN else f"'{path[:_MOST_SHOWN]}…' ({len(path)} characters)"


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, OSError) else ": ".join(describe(error))


@dataclass(frozen=True)
class NativeFile:
    """A file of a state backend's own: where it is, and under which name the backend wants it back."""

    path: str
    name: str
    size: int
    # CRC-32 of the content; None in checkpoints of earlier versions.
    checksum: int | None = None


@dataclass(frozen=True)
class SnapshotHandle:
    """Where the state of a subtask is, and whose it is. Paths are relative to the checkpoint's folder.

    A small one has its content with it; then there is no file, and the path is only its name. One that no operator owns
    has what was on its way in a slot, whose number stands in place of the subtask.
    """

    operator_ids: tuple[str, ...]
    subtask: int
    parallelism: int
    path: str
    size: int
    # By operator id, what its backend keeps in files of its own, in place of keyed state in the snapshot.
    native: tuple[tuple[str, tuple[NativeFile, ...]], ...] = ()
    inline: bytes | None = None
    # By operator id, the names of states and the types they are declared with.
    types: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    @property
    def total_size(self) -> int:
        """Bytes of everything that belongs to it."""
        return self.size + sum(file.size for file in self.native_files())

    def within(self, folder: str) -> SnapshotHandle:
        """The same handle with full paths."""
        native = tuple(
            (operator_id, tuple(replace(file, path=join_path(folder, file.path)) for file in files))
            for operator_id, files in self.native
        )
        return replace(self, path=join_path(folder, self.path), native=native)

    def files(self) -> Iterator[tuple[str, int]]:
        """Path and size of every file that belongs to it."""
        if self.inline is None:
            yield self.path, self.size
        for file in self.native_files():
            yield file.path, file.size

    def native_files(self) -> Iterator[NativeFile]:
        """All files of state backends."""
        for _, files in self.native:
            yield from files

    def to_plain(self) -> dict[str, Any]:
        """As dictionaries and tuples."""
        native = [(operator_id, [astuple(file) for file in files]) for operator_id, files in self.native]
        return {**{item.name: getattr(self, item.name) for item in fields(self)}, "native": native}

    @staticmethod
    def from_plain(plain: dict[str, Any]) -> SnapshotHandle:
        """What `to_plain` was given."""
        native = tuple((owner, tuple(NativeFile(*file) for file in files)) for owner, files in plain["native"])
        return SnapshotHandle(**{**plain, "native": native})


def join_path(folder: str, name: str) -> str:
    """A path below a folder; `..` at its start leads upwards."""
    folder = folder.rstrip("/")
    while name.startswith("../"):
        folder, name = folder.rpartition("/")[0], name[3:]
    return f"{folder}/{name}"


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file that is there completely or not at all, and survives a crash of the machine."""
    local = local_path(path)
    with _writing(path):
        if local is None:
            # Other file systems show a file only once it is complete.
            system, name = open_file_system(path)
            with system.open_output_stream(name) as out:
                out.write(data)
            return
        make_private_folders(os.path.dirname(local))
        part = f"{local}.part"
        with open(part, "wb", opener=private_opener) as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.rename(part, local)


def read_bytes(path: str) -> bytes:
    """The content of a file."""
    with _reading(path), open_for_reading(path) as file:
        return file.read()


def open_for_reading(path: str) -> BinaryIO:
    """Opens a file for random access."""
    local = local_path(path)
    with _reading(path):
        if local is not None:
            return open_own_file(local)
        system, name = open_file_system(path)
        opened: BinaryIO = system.open_input_file(name)
        return opened


def open_snapshot_file(path: str, inline: bytes | None) -> BinaryIO:
    """Opens a snapshot, which may be inline instead of a file."""
    return open_for_reading(path) if inline is None else io.BytesIO(inline)


def file_size(path: str) -> int | None:
    """The size of a file; None if it is not there."""
    local = local_path(path)
    with _reading(path):
        if local is not None:
            return os.path.getsize(local) if os.path.isfile(local) else None
        system, name = open_file_system(path)
        info = system.get_file_info(name)
    return int(info.size) if info.is_file else None


def copy_file(source: str, target: str) -> None:
    """Copies a local file to where checkpoints are kept; it appears there complete or not at all."""
    local = local_path(target)
    with _writing(target):
        if local is None:
            upload(source, target)
            return
        make_private_folders(os.path.dirname(local))
        part = f"{local}.part"
        os.close(private_opener(part, os.O_WRONLY | os.O_CREAT))  # a copy into it keeps its mode
        shutil.copyfile(source, part)
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        os.rename(part, local)


def fetch_native(file: NativeFile, target: str, copy: str | None = None) -> None:
    """Makes a file of a state backend available at a local path, from an intact copy if there is one.

    StateError when it is not as it was written. To find that out takes a second for 2.2 GB.
    """
    # By a link only if the file will not be changed there.
    _fetch(copy or file.path, target, may_link=_SHARED in file.path)
    if copy is None and file.checksum is not None:
        with open(target, "rb") as content:
            require_checksum(file, content)


def require_checksum(file: NativeFile, content: BinaryIO) -> None:
    """StateError when a file of a state backend is not as it was written."""
    with _reading(file.path):
        if _checksum_of(content) != file.checksum:
            raise StateError(f"'{file.path}' is damaged: its checksum does not match")


def checksum_of(path: str) -> int:
    """The CRC-32 of a local file."""
    with open(path, "rb") as file:
        return _checksum_of(file)


def _checksum_of(content: BinaryIO) -> int:
    checksum = 0
    while chunk := content.read(_READ_BYTES):
        checksum = zlib.crc32(chunk, checksum)
    return checksum


def _fetch(source: str, target: str, may_link: bool) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    local = local_path(source)
    with _reading(source):
        if local is not None:
            if may_link:
                with contextlib.suppress(OSError):  # another disk, or one without links
                    os.link(local, target)
                    require_own_file(target)
                    return
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(target)
            with open_own_file(local) as source_file, open(target, "wb") as out:
                shutil.copyfileobj(source_file, out, _READ_BYTES)
            return
        download(source, target)


def list_folder(path: str) -> list[str]:
    """The names in a folder; none if it is not there."""
    local = local_path(path)
    with _reading(path):
        if local is not None:
            return os.listdir(local) if os.path.isdir(local) else []
        from pyarrow import fs

        system, name = open_file_system(path)
        infos = system.get_file_info(fs.FileSelector(name, allow_not_found=True))
    return [item.base_name for item in infos]


def create_folder(path: str) -> bool:
    """Makes a folder; False if it is there already, which two can tell at the same time only if it is local."""
    try:
        return require_folder(path)
    except StateError:  # the writer will report it
        return True


def require_folder(path: str) -> bool:
    """The same, with a StateError that says why it cannot be made."""
    local = local_path(path)
    try:
        with _writing(path):
            if local is not None:
                make_private_folders(os.path.dirname(local))
                os.mkdir(local, 0o700)
                return True
            system, name = open_file_system(path)
            if _is_there(system, name):
                return False
            # Object stores have no empty folders.
            with system.open_output_stream(f"{name}/{_BEGUN}") as out:
                out.write(b"\n")
    except StateError as error:
        if isinstance(error.__cause__, FileExistsError):
            return False
        raise
    return True


def delete_folder(path: str) -> None:
    """Removes a folder with all it holds, if it is there and can be removed."""
    local = local_path(path)
    with contextlib.suppress(Exception):
        if local is not None:
            shutil.rmtree(local, ignore_errors=True)
            return
        system, name = open_file_system(path)
        system.delete_dir(name)


def delete_file(path: str) -> None:
    """Removes a file, if it is there and can be removed."""
    local = local_path(path)
    with contextlib.suppress(Exception):
        if local is not None:
            os.unlink(local)
        else:
            system, name = open_file_system(path)
            system.delete_file(name)


def local_path(path: str) -> str | None:
    """The path for the operating system; None for a file system of another kind."""
    plain = without_file_scheme(path)
    if plain is not None:
        return "/" + plain.lstrip("/")
    return None if is_uri(path) else path


def _is_there(system: Any, name: str) -> bool:
    from pyarrow import fs

    return bool(system.get_file_info(name).type != fs.FileType.NotFound)
