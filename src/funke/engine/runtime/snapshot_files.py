"""Files that hold the state of one subtask at a checkpoint, on the local file system or any that pyarrow can open."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import StateError
from funke.engine.runtime.block_codec import decode, encode

__all__ = ["SnapshotHandle", "delete_folder", "read_bytes", "read_snapshot", "write_atomically", "write_snapshot"]


@dataclass(frozen=True)
class SnapshotHandle:
    """Where the state of a subtask is, and whose it is."""

    operator_ids: tuple[str, ...]
    subtask: int
    parallelism: int
    path: str
    size: int


def write_snapshot(path: str, content: Any) -> int:
    """Writes the state of a subtask; returns its size."""
    data = encode(content)
    write_atomically(path, data)
    return len(data)


def read_snapshot(handle: SnapshotHandle) -> Any:
    """The state of a subtask; StateError when the file is not what was written."""
    data = read_bytes(handle.path)
    if len(data) != handle.size:
        raise StateError(f"the snapshot '{handle.path}' has {len(data)} bytes instead of {handle.size}")
    return decode(data)


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file that is there completely or not at all, and survives a crash of the machine."""
    local = _local(path)
    if local is None:
        _write_remote(path, data)
        return
    os.makedirs(os.path.dirname(local), exist_ok=True)
    part = f"{local}.part"
    with open(part, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    os.rename(part, local)


def read_bytes(path: str) -> bytes:
    """The content of a file."""
    local = _local(path)
    try:
        if local is not None:
            with open(local, "rb") as file:
                return file.read()
        system, name = _remote(path)
        with system.open_input_stream(name) as stream:
            return bytes(stream.read())
    except OSError as error:
        raise StateError(f"the snapshot '{path}' cannot be read: {error}") from error


def delete_folder(path: str) -> None:
    """Removes a folder with all it holds, if it is there."""
    local = _local(path)
    if local is not None:
        shutil.rmtree(local, ignore_errors=True)
        return
    system, name = _remote(path)
    system.delete_dir(name)


def _local(path: str) -> str | None:
    if path.startswith("file:"):
        return "/" + path[len("file:") :].lstrip("/")
    return None if "://" in path else path


def _remote(path: str) -> tuple[Any, str]:
    from pyarrow import fs

    found: tuple[Any, str] = fs.FileSystem.from_uri(path)
    return found


def _write_remote(path: str, data: bytes) -> None:
    # Object stores show a file only once it is complete; on others the rename does it.
    system, name = _remote(path)
    system.create_dir(name.rpartition("/")[0], recursive=True)
    with system.open_output_stream(f"{name}.part") as out:
        out.write(data)
    system.move(f"{name}.part", name)
