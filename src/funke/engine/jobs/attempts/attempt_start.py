"""Where an attempt begins: the newest checkpoint that is intact, or the savepoint the job was started from."""

from __future__ import annotations

import time

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import RecoveryRejectedError, StateError, StorageUnavailableError
from funke.engine.jobs.attempts.job_sinks import JobCommits
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint

__all__ = ["find_start"]


def find_start(coordinator: CheckpointCoordinator, commits: JobCommits, configured: Settings) -> Checkpoint | None:
    """The checkpoint to restore; RecoveryRejectedError when a user has to decide; nothing is removed."""
    if coordinator.last_savepoint is not None:
        return coordinator.last_savepoint
    try:
        return _intact_start(coordinator, commits, configured)
    except StorageUnavailableError:
        raise
    except StateError as error:
        raise RecoveryRejectedError(str(error)) from error


def _intact_start(coordinator: CheckpointCoordinator, commits: JobCommits, configured: Settings) -> Checkpoint | None:
    store = coordinator.store
    while (start := store.latest()) is not None and start.checkpoint_id != coordinator.committed_id:
        try:
            commits.verify(start)
            break
        except StorageUnavailableError:
            raise
        except StateError as error:
            store.discard(error)
    if start is not None and store.losses:
        _require_repeatable(start, store.losses, commits.committing, configured)
        store.go_back(start)
    return start


def _require_repeatable(
    start: Checkpoint, losses: list[str], committing: tuple[str, ...], configured: Settings
) -> None:
    """Going back repeats output committed since then; StateError unless a user has allowed that."""
    if not committing or configured.get(options.RECOVERY_ON_DAMAGE) != "refuse":
        return
    sinks = ", ".join(f"'{name}'" for name in committing)
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(start.created_ms / 1000))
    raise StateError(
        f"{'; '.join(losses)}. To go back to '{start.path}' would write once more what {sinks} committed since "
        f"{since}: the output of every later checkpoint. Put back what is damaged, or allow it with "
        f"{options.RECOVERY_ON_DAMAGE.key}=repeat (funke recover --on-damage repeat)"
    )
