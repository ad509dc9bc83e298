"""When a part file is closed and the next one is begun."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.errors import ConfigurationError

__all__ = ["RollingPolicy"]

DEFAULT_PART_SIZE = 128 * 1024 * 1024
DEFAULT_INTERVAL_MS = 60_000


@dataclass(frozen=True)
class RollingPolicy:
    """Rolls by size, age and inactivity, or (`is_on_checkpoint`) at every checkpoint and only there."""

    part_size: int = DEFAULT_PART_SIZE
    rollover_interval_ms: int = DEFAULT_INTERVAL_MS
    inactivity_interval_ms: int = DEFAULT_INTERVAL_MS
    is_on_checkpoint: bool = False

    def __post_init__(self) -> None:
        """Rejects limits that can never or always be exceeded."""
        limits = (self.part_size, self.rollover_interval_ms, self.inactivity_interval_ms)
        if min(limits) <= 0:
            raise ConfigurationError(f"part size and intervals of a rolling policy must be positive, got {limits}")

    @classmethod
    def on_checkpoint(cls) -> RollingPolicy:
        """The policy that rolls at every checkpoint."""
        return cls(is_on_checkpoint=True)

    def should_roll_before_write(self, size: int) -> bool:
        """Whether the next record belongs into a new file, given the size of the present one."""
        return not self.is_on_checkpoint and size > self.part_size

    def should_roll_at_checkpoint(self, size: int) -> bool:
        """Whether a checkpoint closes a file of this size."""
        return self.is_on_checkpoint or size > self.part_size

    def should_roll_at_time(self, now_ms: int, created_ms: int, updated_ms: int) -> bool:
        """Whether the file is too old, or was not written to for too long."""
        if self.is_on_checkpoint:
            return False
        is_old = now_ms - created_ms >= self.rollover_interval_ms
        return is_old or now_ms - updated_ms >= self.inactivity_interval_ms
