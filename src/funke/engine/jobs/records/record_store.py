"""Where job records are stored: what a lease and a record need of a folder, an object store or HDFS.

A file appears completely or not at all, reads and listings show every write that was finished before they began, and a
number is claimed by one process only. Leases need nothing else: no locks, and no clock that two machines share.
"""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Claim", "RecordStore", "Sign", "WrittenStore", "parse_owner"]


@dataclass(frozen=True)
class Sign:
    """What the file of a claimed number shows."""

    owner: Mapping[str, Any]
    # Its owner has given it back, or is known to be dead.
    is_free: bool
    # Another value after each beat of the owner.
    beat: Hashable
    # How old the beat is by the clock of the store itself, where that is known.
    age_s: float | None = None


class Claim(ABC):
    """A number in the hands of this process."""

    @abstractmethod
    def beat(self) -> None:
        """Shows that the process lives."""

    @abstractmethod
    def release(self) -> None:
        """Gives the number back; it stays used."""


class RecordStore(ABC):
    """Files by their paths. Errors are OSError; FileNotFoundError where there is no file."""

    # Whether the death of an owner is seen at once; else only by beats that do not come.
    has_locks = False

    @abstractmethod
    def local_folder(self, folder: str) -> str:
        """The folder of this machine for what belongs to a folder of records and cannot be stored: sockets, locks."""

    @abstractmethod
    def make_folder(self, folder: str) -> None:
        """Makes a folder for this user alone."""

    @abstractmethod
    def require_own(self, folder: str) -> None:
        """Raises UntrustedError when another user may have written what is in a folder."""

    @abstractmethod
    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder; none when there is no such folder."""

    @abstractmethod
    def versions(self, folder: str) -> dict[str, Hashable]:
        """The files of a folder by name, each with a value that changes when the file is written."""

    @abstractmethod
    def read(self, path: str, most_bytes: int | None = None) -> bytes:
        """The content of a file; a larger one than `most_bytes` is an error."""

    @abstractmethod
    def write(self, path: str, content: bytes) -> None:
        """Replaces a file in one step, which survives a crash of the machine."""

    @abstractmethod
    def claim(self, path: str, owner: Mapping[str, Any]) -> Claim | None:
        """Creates the file of a number; None when another process was faster."""

    @abstractmethod
    def sign(self, path: str) -> Sign:
        """What the file of a number shows now."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Removes a file; nothing happens when there is none."""

    @abstractmethod
    def remove_folder(self, folder: str) -> None:
        """Removes a folder with all it holds, as far as that is possible."""


class WrittenStore(RecordStore):
    """A store of another machine, which knows no locks: an owner writes that it lives, or that it has gone."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> str | None:
        """Writes a file that is not there yet, and returns its version; None when there is one."""

    @abstractmethod
    def rewrite(self, path: str, content: bytes, version: str) -> str:
        """Replaces a file of a known version, and returns the next one; OSError when it has another version."""

    def claim(self, path: str, owner: Mapping[str, Any]) -> Claim | None:
        """Creates the file of a number; None when another process was faster."""
        # Two attempts of one process write different contents: an answer that was lost can be found out.
        content = {**owner, "token": secrets.token_hex(8)}
        version = self.create(path, json.dumps(content).encode())
        return None if version is None else WrittenClaim(self, path, content, version)

    def sign(self, path: str) -> Sign:
        """What the file of a number shows now."""
        content = self.read(path, _MOST_OWNER_BYTES)
        owner = parse_owner(content)
        return Sign(owner, bool(owner.get("is_released")), content)


_MOST_OWNER_BYTES = 4096


class WrittenClaim(Claim):
    """Counts its beats in the file."""

    def __init__(self, store: WrittenStore, path: str, content: dict[str, Any], version: str) -> None:
        self._store = store
        self._path = path
        self._content = content
        self._version = version
        self._beats = 0

    def beat(self) -> None:
        """Shows that the process lives."""
        self._beats += 1
        self._rewrite({**self._content, "beats": self._beats})

    def release(self) -> None:
        """Says that the number is free; if that fails, others wait for a beat in vain."""
        self._rewrite({**self._content, "is_released": True})

    def _rewrite(self, content: dict[str, Any]) -> None:
        self._version = self._store.rewrite(self._path, json.dumps(content).encode(), self._version)


def parse_owner(content: bytes) -> dict[str, Any]:
    """Who has claimed a number; nothing when the content is damaged.

    >>> parse_owner(b'{"pid": 1}'), parse_owner(b'{"pi')
    ({'pid': 1}, {})
    """
    try:
        members = json.loads(content)
    except ValueError:
        return {}
    return dict(members) if isinstance(members, dict) else {}
