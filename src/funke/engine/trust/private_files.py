"""Folders that other users cannot read, and files that no other user has written.

Everything a process keeps for itself stands in its run folder, made by `mkdtemp`: sockets, launch messages, state.
Its path is passed on and cannot be guessed. Files in places that others may write to must be the user's own.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from typing import BinaryIO

from funke.engine.errors import UntrustedError

__all__ = [
    "make_private_folder",
    "make_private_folders",
    "open_own_file",
    "open_private_folder",
    "private_opener",
    "require_own_file",
    "require_own_folder",
    "require_private_folder",
]


def make_private_folder(prefix: str, parent: str | None = None) -> str:
    """A new folder for this user alone; inside `parent`, which must be such a folder too, if one is given."""
    if parent is not None:
        require_private_folder(parent)
    return tempfile.mkdtemp(prefix=prefix, dir=parent)


def make_private_folders(path: str) -> None:
    """Makes a folder and those above it that are missing, for this user alone; others stay as they are."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(each, 0o700)


def private_opener(path: str, flags: int) -> int:
    """An opener for `open`: files that it makes are for this user alone, whatever the umask is."""
    return os.open(path, flags, 0o600)


def open_private_folder(path: str) -> str:
    """The folder at a path that others know: made for this user alone, or found to be so."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        require_private_folder(path)
    return path


def require_private_folder(path: str) -> None:
    """Raises UntrustedError unless the path is a folder, no link to one, that only this user may enter."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise UntrustedError(f"'{path}' is not a folder")
    if status.st_uid != os.geteuid():
        raise UntrustedError(f"'{path}' belongs to {_name_of(status.st_uid)}, who could read your files in it")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise UntrustedError(f"others may enter '{path}'; remove their permission: chmod 700 {path}")


def open_own_file(path: str) -> BinaryIO:
    """Opens a file for reading that this user, or root, has written; UntrustedError for other users' files."""
    file = open(path, "rb")  # noqa: SIM115
    try:
        _require_own(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def require_own_file(path: str) -> None:
    """Raises UntrustedError unless this user, or root, has written what is at a path."""
    _require_own(path, os.lstat(path))


def require_own_folder(path: str) -> None:
    """Raises UntrustedError unless a folder, or the nearest one above that is there, belongs to this user or root.

    The owner of a folder may exchange what stands in it.
    """
    path = os.path.abspath(path)
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    for status in (os.lstat(path), os.stat(path)):
        if status.st_uid not in (os.geteuid(), 0) and status.st_uid != _own_id_in(path):
            raise UntrustedError(
                f"'{path}' belongs to {_name_of(status.st_uid)}, who could replace the files in it; "
                "name a folder of your own"
            )


def _require_own(path: str, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0) and status.st_uid != _own_id_in(os.path.dirname(path)):
        raise UntrustedError(
            f"'{path}' belongs to {_name_of(status.st_uid)}, who could use it to run any code as you; "
            "if you trust its content, copy it: the copy is yours"
        )


def _own_id_in(folder: str) -> int | None:
    """As whom a file system that knows its own users (a mapped or shared one) sees this user; None if none says."""
    try:
        with tempfile.TemporaryFile(prefix=".funke-", dir=folder or ".") as probe:
            return os.fstat(probe.fileno()).st_uid
    except OSError:
        return None


def _name_of(uid: int) -> str:
    import pwd

    try:
        return f"user '{pwd.getpwuid(uid).pw_name}'"
    except KeyError:
        return f"user {uid}"
