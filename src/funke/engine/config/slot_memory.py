"""How much memory the process of a slot may take: its part of what the memory model gives a worker."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.config import flink_options as options
from funke.engine.config import memory_options as memory
from funke.engine.config.memory_model import least_network, worker_memory
from funke.engine.config.settings import Settings

__all__ = ["MemoryLimit", "slot_memory_limit", "slot_network_memory"]

# What Flink derives the model from; a task heap counts together with managed memory only.
_WHOLES = (memory.WORKER_PROCESS_SIZE, memory.WORKER_SIZE)


@dataclass(frozen=True)
class MemoryLimit:
    """What a slot may take, in bytes, and which settings say so."""

    size: int
    origin: str


def slot_memory_limit(settings: Settings) -> MemoryLimit | None:
    """The limit of a slot; None where the configuration names no size of a worker.

    >>> sizes = {"taskmanager.memory.process.size": "2g", "taskmanager.numberOfTaskSlots": "4"}
    >>> limit = slot_memory_limit(Settings(sizes))
    >>> limit.size >> 20, limit.origin
    (512, 'taskmanager.memory.process.size, divided by taskmanager.numberOfTaskSlots (4)')
    """
    own = settings.get(memory.SLOT_MEMORY_LIMIT)
    if own is not None:
        return MemoryLimit(own, memory.SLOT_MEMORY_LIMIT.key) if own else None
    origin = _origin(settings)
    if not origin:
        return None
    slots = max(1, settings.get(options.TASK_SLOTS))
    size = worker_memory(settings).total_process // slots
    return MemoryLimit(size, f"{origin}, divided by {options.TASK_SLOTS.key} ({slots})")


def slot_network_memory(settings: Settings) -> int:
    """A slot's part of the worker's network memory; the least that a worker has if its size is unknown.

    >>> sizes = {"taskmanager.memory.flink.size": "2g", "taskmanager.numberOfTaskSlots": "2"}
    >>> slot_network_memory(Settings(sizes)) >> 20
    102
    """
    if not _origin(settings):
        return least_network(settings)
    slots: int = max(1, settings.get(options.TASK_SLOTS))
    return worker_memory(settings).network // slots


def _origin(settings: Settings) -> str:
    for option in _WHOLES:
        if settings.is_set(option):
            return option.key
    if settings.is_set(memory.TASK_HEAP_SIZE) and settings.is_set(memory.MANAGED_SIZE):
        return f"{memory.TASK_HEAP_SIZE.key} and {memory.MANAGED_SIZE.key}"
    return ""
