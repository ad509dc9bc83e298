"""A start by which a whole job deals out keys as the first version did."""

from __future__ import annotations

from pathlib import Path

from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, write_checkpoint
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH


def first_key_hash_start(folder: Path) -> str:
    """The path of a savepoint without any state, with the first version of the hash."""
    return write_checkpoint(str(folder), Checkpoint("old", 1, 1, "savepoint", key_hash=FIRST_KEY_HASH)).path
