"""How much may be on its way between two subtasks: Flink's network buffers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DebloatSettings", "NetworkSettings"]


@dataclass(frozen=True)
class DebloatSettings:
    """How blocks are fitted to the rate of their receiver (taskmanager.network.memory.buffer-debloat.…)."""

    target_s: float = 1.0
    period_s: float = 0.2
    samples: int = 20
    # Changes of a smaller share are not announced.
    threshold: float = 0.25
    # taskmanager.memory.starting-segment-size
    first_bytes: int = 1 << 10
    # taskmanager.memory.min-segment-size
    least_bytes: int = 256


@dataclass(frozen=True)
class NetworkSettings:
    """Sizes under Flink's names, with its defaults."""

    # taskmanager.memory.segment-size
    segment_bytes: int = 32 << 10
    # taskmanager.network.memory.buffers-per-channel
    channel_buffers: int = 2
    # taskmanager.network.memory.floating-buffers-per-gate
    floating_buffers: int = 8
    debloat: DebloatSettings | None = None
    # How long a subtask's busy and backpressured time is measured over: web.backpressure.num-samples times the delay.
    measured_s: float = 5.0
    # Where slots and the driver listen for other hosts: the first of these ports that is free; 0 is any.
    slot_ports: tuple[int, ...] = (0,)
    driver_ports: tuple[int, ...] = (0,)
    # All that a slot has: its network memory (taskmanager.memory.network.…) in buffers.
    total_buffers: int = 2048
