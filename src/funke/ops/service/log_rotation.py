"""Rotates log files that processes go on writing to: their content moves on, and the file begins anew."""

from __future__ import annotations

import contextlib
import os
import shutil

from funke.engine.trust.private_files import private_opener

__all__ = ["remove_with_rotated", "rotate", "rotated_path"]

# Numbers of files that are looked for when a log is removed.
_MOST = 100


def rotated_path(path: str, number: int) -> str:
    """Where an earlier part of a log is; 1 is the newest.

    >>> rotated_path("/logs/service.log", 2)
    '/logs/service.2.log'
    """
    stem, suffix = os.path.splitext(path)
    return f"{stem}.{number}{suffix}"


def rotate(folder: str, max_bytes: int, kept: int) -> None:
    """Rotates every log in a folder that has grown too long; no lines are lost but those written in that instant.

    Writers have the files open for appending, and keep them: a renamed file would go on growing.
    """
    if max_bytes <= 0:
        return
    with os.scandir(folder) as entries:
        names = {each.name: each.stat().st_size for each in entries if each.name.endswith(".log")}
    for name, size in names.items():
        is_rotated = name.removesuffix(".log").rpartition(".")[2].isdecimal() and "." in name.removesuffix(".log")
        if size > max_bytes and not is_rotated:
            _rotate(os.path.join(folder, name), kept)


def _rotate(path: str, kept: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(rotated_path(path, max(kept, 1)))
    for number in reversed(range(1, kept)):
        with contextlib.suppress(FileNotFoundError):
            os.rename(rotated_path(path, number), rotated_path(path, number + 1))
    if kept > 0:
        with open(path, "rb") as source, open(rotated_path(path, 1), "wb", opener=private_opener) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    os.truncate(path, 0)


def remove_with_rotated(path: str) -> None:
    """Removes a log and its earlier parts."""
    for each in (path, *(rotated_path(path, number) for number in range(1, _MOST))):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(each)
