"""Slot-sharing groups: which operators may share a slot, and what such a slot needs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import total_ordering

from funke.engine.errors import ConfigurationError

__all__ = ["MemorySize", "SlotSharingGroup", "name_in_use"]

_KIBI = 1024
_UNITS = ((_KIBI**3, "gb"), (_KIBI**2, "mb"), (_KIBI, "kb"), (1, "bytes"))


@total_ordering
class MemorySize:
    """An amount of memory.

    >>> from funke.datastream import MemorySize
    >>> str(MemorySize.of_mebi_bytes(64)), MemorySize(2048).get_kibi_bytes()
    ('64 mb', 2)
    """

    def __init__(self, bytes_size: int | None = None) -> None:
        if bytes_size is None or bytes_size < 0:
            raise ConfigurationError(f"a MemorySize needs a number of bytes of at least 0, got {bytes_size}")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return an amount of mebibytes."""
        return MemorySize(bytes_size=mebi_bytes * _KIBI**2)

    def get_bytes(self) -> int:
        """Return the amount in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the amount in whole kibibytes."""
        return self._bytes // _KIBI

    def get_mebi_bytes(self) -> int:
        """Return the amount in whole mebibytes."""
        return self._bytes // _KIBI**2

    def get_gibi_bytes(self) -> int:
        """Return the amount in whole gibibytes."""
        return self._bytes // _KIBI**3

    def get_tebi_bytes(self) -> int:
        """Return the amount in whole tebibytes."""
        return self._bytes // _KIBI**4

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            raise TypeError(f"a MemorySize can only be compared with another one, got {other!r}")
        return self._bytes < other._bytes

    def __le__(self, other: MemorySize) -> bool:
        return self == other or self < other

    def __str__(self) -> str:
        # Flink prints multiples of a tebibyte, zero among them, in bytes.
        if self._bytes % _KIBI**4 == 0:
            return f"{self._bytes} bytes"
        factor, unit = next((factor, unit) for factor, unit in _UNITS if self._bytes % factor == 0)
        return f"{self._bytes // factor} {unit}"

    def __repr__(self) -> str:
        return f"MemorySize({self})"


@dataclass(frozen=True)
class _Resources:
    """What a slot of a group needs; None where the group does not say."""

    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external: dict[str, float] = field(default_factory=dict)


class SlotSharingGroup:
    """A named group of operators that may share a slot.

    >>> from funke.datastream import SlotSharingGroup, StreamExecutionEnvironment
    >>> heavy = SlotSharingGroup.builder("heavy").build()
    >>> words = StreamExecutionEnvironment.get_execution_environment().from_collection(["to", "be"])
    >>> upper = words.map(str.upper).slot_sharing_group(heavy)  # slots of its own, not those of the source
    >>> heavy.get_name()
    'heavy'
    """

    def __init__(self, name: str, resources: _Resources | None = None) -> None:
        self._name = name
        self._resources = resources or _Resources()
        self._is_in_use = False

    def get_name(self) -> str:
        """Return the name of the group."""
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        """Return the managed memory of a slot, or None."""
        return self._resources.managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the heap memory of a slot, or None."""
        return self._resources.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the off-heap memory of a slot, or None."""
        return self._resources.task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """Return the CPU cores of a slot, or None."""
        return self._resources.cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Return the other resources of a slot by name."""
        return dict(self._resources.external)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Start a group with the given name."""
        return SlotSharingGroup.Builder(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SlotSharingGroup):
            return False
        return (self._name, self._resources) == (other._name, other._resources)

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"SlotSharingGroup({self._name!r})"

    class Builder:
        """Collects the resources of a group."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap_memory: MemorySize | None = None
            self._task_off_heap_memory: MemorySize | None = None
            self._managed_memory: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the CPU cores of a slot."""
            if cpu_cores <= 0:
                raise ConfigurationError(f"slot sharing group '{self._name}' needs more than 0 cores, got {cpu_cores}")
            self._cpu_cores = cpu_cores
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap memory of a slot."""
            if task_heap_memory.get_bytes() == 0:
                raise ConfigurationError(f"slot sharing group '{self._name}' needs more than 0 bytes of heap memory")
            self._task_heap_memory = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap memory of a slot in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the off-heap memory of a slot."""
            self._task_off_heap_memory = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the off-heap memory of a slot in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory of a slot."""
            self._managed_memory = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory of a slot in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set another resource of a slot."""
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group; resources need both cores and heap memory, or neither."""
            if self._cpu_cores is not None and self._task_heap_memory is not None:
                return SlotSharingGroup(self._name, self._complete_resources())
            if self._names_any_resource():
                raise ConfigurationError(
                    f"slot sharing group '{self._name}' names resources; then it needs both CPU cores and heap memory"
                )
            return SlotSharingGroup(self._name)

        def _complete_resources(self) -> _Resources:
            nothing = MemorySize(0)
            return _Resources(
                cpu_cores=self._cpu_cores,
                task_heap_memory=self._task_heap_memory,
                task_off_heap_memory=self._task_off_heap_memory or nothing,
                managed_memory=self._managed_memory or nothing,
                external=dict(self._external),
            )

        def _names_any_resource(self) -> bool:
            named = (self._cpu_cores, self._task_heap_memory, self._task_off_heap_memory, self._managed_memory)
            return bool(self._external) or any(value is not None for value in named)


def name_in_use(group: SlotSharingGroup) -> str:
    """The name of a group that a program puts to use; the first time, says that its resources have no effect."""
    if group._resources != _Resources() and not group._is_in_use:
        sys.stderr.write(
            f"warning: the resources of slot sharing group '{group._name}' have no effect: a slot is a process that "
            "takes the cores and the memory it needs\n"
        )
    group._is_in_use = True
    return group._name
