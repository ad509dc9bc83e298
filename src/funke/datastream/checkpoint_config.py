"""When checkpoints are taken, what they guarantee, and what happens to them when the job ends."""

from __future__ import annotations

from enum import Enum
from typing import Any

from funke.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from funke.datastream.checkpointing_mode import CheckpointingMode
from funke.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.types.enum_members import require_member
from funke.engine.types.time import Duration

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup"]

_MAX_INT = 2**31 - 1
_MINIMAL_TIME_MS = 10


class ExternalizedCheckpointCleanup(Enum):
    """What happens to the last checkpoint when the job is cancelled, under its name in Flink 1.x.

    >>> from funke.datastream import ExternalizedCheckpointCleanup, StreamExecutionEnvironment
    >>> config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    >>> _ = config.enable_externalized_checkpoints(ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION)
    >>> config.is_externalized_checkpoints_enabled()
    True
    """

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


class CheckpointConfig:
    """The settings of checkpointing, kept as Flink's own options.

    >>> from funke.datastream import CheckpointConfig, CheckpointingMode, StreamExecutionEnvironment
    >>> config: CheckpointConfig = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    >>> _ = config.set_checkpoint_interval(5000).set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)
    >>> config.is_checkpointing_enabled(), config.get_checkpoint_interval()
    (True, 5000)
    """

    DEFAULT_MODE = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = 1

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._storage: CheckpointStorage | None = None

    def is_checkpointing_enabled(self) -> bool:
        """Tell whether checkpoints are taken."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the guarantee; a job without checkpoints gives none of them, so at-least-once is reported then."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return CheckpointingMode[self._settings.get(options.CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Choose between exactly-once and at-least-once."""
        mode = require_member(CheckpointingMode, checkpointing_mode, "set_checkpointing_mode()")
        return self._set(options.CHECKPOINTING_MODE, mode.name)

    def get_checkpoint_interval(self) -> int:
        """Return the time between the starts of two checkpoints in milliseconds, or -1."""
        interval = self._settings.get(options.CHECKPOINTING_INTERVAL)
        return -1 if interval is None else int(interval.to_millis())

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Take a checkpoint every `checkpoint_interval` milliseconds."""
        _require_at_least(_MINIMAL_TIME_MS, checkpoint_interval, "the checkpoint interval", "ms")
        return self._set(options.CHECKPOINTING_INTERVAL, Duration.of_millis(checkpoint_interval))

    def get_checkpoint_timeout(self) -> int:
        """Return after how many milliseconds a checkpoint is given up."""
        return self._millis(options.CHECKPOINTING_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Give a checkpoint up after `checkpoint_timeout` milliseconds."""
        _require_at_least(_MINIMAL_TIME_MS, checkpoint_timeout, "the checkpoint timeout", "ms")
        return self._set(options.CHECKPOINTING_TIMEOUT, Duration.of_millis(checkpoint_timeout))

    def get_min_pause_between_checkpoints(self) -> int:
        """Return how many milliseconds pass at least between two checkpoints."""
        return self._millis(options.CHECKPOINTING_MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Let at least that many milliseconds pass between two checkpoints."""
        _require_at_least(0, min_pause_between_checkpoints, "the pause between checkpoints", "ms")
        return self._set(options.CHECKPOINTING_MIN_PAUSE, Duration.of_millis(min_pause_between_checkpoints))

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may be under way at once."""
        return int(self._settings.get(options.MAX_CONCURRENT_CHECKPOINTS))

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set how many checkpoints may be under way at once."""
        _require_at_least(1, max_concurrent_checkpoints, "the number of concurrent checkpoints")
        return self._set(options.MAX_CONCURRENT_CHECKPOINTS, max_concurrent_checkpoints)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Tell whether the first failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Let the job fail with the first failed checkpoint, or with none."""
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else _MAX_INT)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints in a row may fail."""
        return int(self._settings.get(options.TOLERABLE_FAILED_CHECKPOINTS))

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Set how many checkpoints in a row may fail before the job does."""
        _require_at_least(0, tolerable_checkpoint_failure_number, "the number of tolerable checkpoint failures")
        return self._set(options.TOLERABLE_FAILED_CHECKPOINTS, tolerable_checkpoint_failure_number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Choose what happens to the last checkpoint when the job is cancelled."""
        mode = require_member(
            ExternalizedCheckpointRetention, retention_mode, "set_externalized_checkpoint_retention()"
        )
        return self._set(options.EXTERNALIZED_CHECKPOINT_RETENTION, mode.name)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Tell whether checkpoints are kept outside the job."""
        return (
            self.get_externalized_checkpoint_retention()
            is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return what happens to the last checkpoint when the job is cancelled."""
        return ExternalizedCheckpointRetention[self._settings.get(options.EXTERNALIZED_CHECKPOINT_RETENTION)]

    def enable_externalized_checkpoints(self, cleanup_mode: ExternalizedCheckpointCleanup) -> CheckpointConfig:
        """Flink 1.x's name for `set_externalized_checkpoint_retention`."""
        return self.set_externalized_checkpoint_cleanup(cleanup_mode)

    def set_externalized_checkpoint_cleanup(self, cleanup_mode: ExternalizedCheckpointCleanup) -> CheckpointConfig:
        """Flink 1.x's name for `set_externalized_checkpoint_retention`."""
        mode = require_member(ExternalizedCheckpointCleanup, cleanup_mode, "set_externalized_checkpoint_cleanup()")
        return self._set(options.EXTERNALIZED_CHECKPOINT_RETENTION, mode.name)

    def get_externalized_checkpoint_cleanup(self) -> ExternalizedCheckpointCleanup:
        """Flink 1.x's name for `get_externalized_checkpoint_retention`."""
        return ExternalizedCheckpointCleanup[self.get_externalized_checkpoint_retention().name]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Tell whether checkpoints may overtake data; only exactly-once jobs can do that."""
        is_enabled = self._settings.get(options.UNALIGNED_CHECKPOINTS)
        return is_enabled and self.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Let checkpoints overtake data."""
        return self._set(options.UNALIGNED_CHECKPOINTS, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Let checkpoints wait for data."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Let an aligned checkpoint become unaligned after that time."""
        return self._set(options.ALIGNED_CHECKPOINT_TIMEOUT, alignment_timeout)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return after which time an aligned checkpoint becomes unaligned."""
        return Duration.of_millis(self._millis(options.ALIGNED_CHECKPOINT_TIMEOUT))

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Older name of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Use unaligned checkpoints even where they are not known to be safe."""
        return self._set(options.FORCE_UNALIGNED_CHECKPOINTS, force_unaligned_checkpoints)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Tell whether unaligned checkpoints are forced."""
        return self._settings.get(options.FORCE_UNALIGNED_CHECKPOINTS)

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Flink 1.x's way to choose where checkpoints are written."""
        self._storage = storage
        self._settings.update(Settings(storage.to_options()))
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Flink 1.x's way to write checkpoints into a directory."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return what `set_checkpoint_storage` was given, or None."""
        return self._storage

    def _set(self, option: ConfigOption[Any], value: Any) -> CheckpointConfig:
        self._settings.set(option, value)
        return self

    def _millis(self, option: ConfigOption[Any]) -> int:
        return int(self._settings.get(option).to_millis())


def _require_at_least(minimum: int, value: int, what: str, unit: str = "") -> None:
    if value < minimum:
        raise ConfigurationError(f"{what} must be at least {f'{minimum} {unit}'.rstrip()}, got {value}")
