"""Files in a state backend's own format, of which an incremental checkpoint copies only those that are new."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LocalFile"]


@dataclass(frozen=True)
class LocalFile:
    """A file of a snapshot on the disk of the slot."""

    path: str
    # What it must be called in the folder that `restore_native` is given.
    name: str
    # Names the content, for files that later checkpoints have too; None for files of this checkpoint alone.
    shared_id: str | None = None
