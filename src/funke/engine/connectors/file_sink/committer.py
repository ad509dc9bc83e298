"""Makes finished part files visible by giving them their final names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.connectors.file_sink.storage import Storage, open_storage
from funke.engine.connectors.sink import Committer
from funke.engine.errors import SinkError

__all__ = ["FileCommitter", "PendingFile"]


@dataclass(frozen=True)
class PendingFile:
    """A complete file that waits under its hidden name to be committed."""

    in_progress_path: str
    final_path: str
    size: int


class FileCommitter(Committer):
    """Renames pending files.

    It may be interrupted anywhere and called again: a file is either still hidden, or renamed already.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path
        self._storage: Storage | None = None

    def commit(self, committables: list[Any]) -> None:
        """Makes all files visible."""
        if committables and self._storage is None:
            self._storage = open_storage(self._base_path)
        for pending in committables:
            assert self._storage is not None
            _commit_file(self._storage, pending)


def _commit_file(storage: Storage, pending: PendingFile) -> None:
    size = storage.size(pending.in_progress_path)
    if size is None:
        _check_committed_before(storage, pending)
        return
    if size < pending.size:
        raise SinkError(f"{pending.in_progress_path} has {size} bytes and should have {pending.size}: data was lost")
    if size > pending.size:
        # An attempt that failed after the checkpoint wrote on; those records will be written again.
        storage.truncate(pending.in_progress_path, pending.size)
    storage.move(pending.in_progress_path, pending.final_path)


def _check_committed_before(storage: Storage, pending: PendingFile) -> None:
    if storage.size(pending.final_path) is None:
        raise SinkError(
            f"{pending.final_path} cannot be committed: neither it nor {pending.in_progress_path} exists; "
            "was the directory cleaned while the job was running?"
        )
