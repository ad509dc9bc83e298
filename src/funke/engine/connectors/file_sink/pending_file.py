"""A complete file that is not visible yet."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.connectors.file_sink.storage import Storage
from funke.engine.errors import SinkError

__all__ = ["PendingFile", "cut_to_size"]


@dataclass(frozen=True)
class PendingFile:
    """A complete file that waits under its hidden name to be committed."""

    in_progress_path: str
    final_path: str
    size: int


def cut_to_size(storage: Storage, pending: PendingFile) -> bool:
    """Leaves in a hidden file what the checkpoint saw; returns False when there is no hidden file."""
    size = storage.size(pending.in_progress_path)
    if size is None:
        return False
    if size < pending.size:
        raise SinkError(f"{pending.in_progress_path} has {size} bytes and should have {pending.size}: data was lost")
    if size > pending.size:
        # An attempt that failed after the checkpoint wrote on; those records will be written again.
        storage.truncate(pending.in_progress_path, pending.size)
    return True
