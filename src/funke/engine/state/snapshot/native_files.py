"""Files in a state backend's own format, of which an incremental checkpoint copies only those that are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["HeldState", "LocalFile"]


class HeldState(NamedTuple):
    """Roughly what a state takes in the files of a snapshot."""

    name: str
    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True)
class LocalFile:
    """A file of a snapshot on the disk of the slot."""

    path: str
    # What it must be called in the folder that `restore_native` is given.
    name: str
    # Names the content, for files that later checkpoints have too; None for files of this checkpoint alone.
    shared_id: str | None = None
    # In a file that describes the others: what they hold, as far as that is known.
    holds: tuple[HeldState, ...] = ()
