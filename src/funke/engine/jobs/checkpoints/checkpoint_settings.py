"""What the configuration says about checkpoints and savepoints."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.runtime.snapshots.snapshot_files import delete_folder
from funke.engine.trust.private_files import make_private_folder
from funke.engine.trust.run_folders import run_folder

__all__ = ["CheckpointSettings", "local_copy_folders"]

_MOST_INLINE_BYTES = _BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class CheckpointSettings:
    """Flink's settings in plain numbers; with an interval of None there are only savepoints."""

    interval_ms: int | None = None
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    folder: str = ""
    is_temporary: bool = False
    retained: int = 1
    is_kept_on_cancellation: bool = False
    is_kept_on_failure: bool = False
    compress: bool = False
    is_incremental: bool = False
    savepoint_folder: str | None = None
    # While a source reads old data; 0 means no checkpoints then.
    backlog_interval_ms: int | None = None
    # Up to which size the state of a subtask needs no file; and how much is gathered for one.
    inline_bytes: int = 0
    buffer_bytes: int = 1 << 20
    # Whether barriers may overtake what is on its way, and how long they wait before they do.
    is_unaligned: bool = False
    alignment_ms: int = 0
    # Else at least once: barriers block no channels.
    is_exactly_once: bool = True

    def remove_temporary(self) -> None:
        """Removes checkpoints that have no folder of their own."""
        if self.is_temporary:
            delete_folder(self.folder)

    @staticmethod
    def of(settings: Settings, default_folder: str | None = None) -> CheckpointSettings:
        """Reads the settings of a job; checkpoints go to a temporary folder unless a folder is named."""
        interval = settings.get(options.CHECKPOINTING_INTERVAL)
        interval_ms = interval.to_millis() if interval is not None and interval.to_millis() > 0 else None
        folder = settings.get(options.CHECKPOINTS_DIRECTORY) or default_folder
        is_temporary = interval_ms is not None and folder is None
        if is_temporary:
            folder = make_private_folder("checkpoints-", run_folder())
        min_pause_ms = settings.get(options.CHECKPOINTING_MIN_PAUSE).to_millis()
        backlog_interval = settings.get(options.CHECKPOINTING_INTERVAL_DURING_BACKLOG)
        retention = str(settings.get(options.EXTERNALIZED_CHECKPOINT_RETENTION)).upper()
        is_exactly_once = settings.get(options.CHECKPOINTING_MODE) == "EXACTLY_ONCE"
        # As in Flink: where barriers block nothing they need not overtake.
        is_unaligned = settings.get(options.UNALIGNED_CHECKPOINTS) and is_exactly_once
        inline_bytes = min(settings.get(options.INLINE_THRESHOLD), _MOST_INLINE_BYTES)
        return CheckpointSettings(
            interval_ms,
            settings.get(options.CHECKPOINTING_TIMEOUT).to_millis(),
            min_pause_ms,
            # A pause after a checkpoint only makes sense if no other one is under way, and so does overtaking.
            1 if min_pause_ms > 0 or is_unaligned else max(1, settings.get(options.MAX_CONCURRENT_CHECKPOINTS)),
            settings.get(options.TOLERABLE_FAILED_CHECKPOINTS),
            (folder or "").rstrip("/"),
            is_temporary,
            max(1, settings.get(options.RETAINED_CHECKPOINTS)),
            "RETAIN" in retention,
            "NO_EXTERNALIZED" not in retention,
            settings.get(options.SNAPSHOT_COMPRESSION),
            settings.get(options.INCREMENTAL_CHECKPOINTS),
            settings.get(options.SAVEPOINT_DIRECTORY),
            None if backlog_interval is None else backlog_interval.to_millis(),
            inline_bytes,
            max(settings.get(options.WRITE_BUFFER_SIZE) or _BUFFER_BYTES, inline_bytes),
            is_unaligned,
            settings.get(options.ALIGNED_CHECKPOINT_TIMEOUT).to_millis(),
            is_exactly_once,
        )


def local_copy_folders(settings: Settings) -> tuple[str, ...]:
    """Where workers keep copies of what they write to other file systems; nowhere unless that is switched on."""
    if not settings.get(options.LOCAL_RECOVERY):
        return ()
    return tuple(settings.get(options.LOCAL_BACKUP_FOLDERS)) or (tempfile.gettempdir(),)
