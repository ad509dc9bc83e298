"""How much may be on its way between two subtasks: Flink's network buffers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NetworkSettings"]


@dataclass(frozen=True)
class NetworkSettings:
    """Sizes under Flink's names, with its defaults."""

    # taskmanager.memory.segment-size
    segment_bytes: int = 32 << 10
    # taskmanager.network.memory.buffers-per-channel
    channel_buffers: int = 2
    # taskmanager.network.memory.floating-buffers-per-gate
    floating_buffers: int = 8
