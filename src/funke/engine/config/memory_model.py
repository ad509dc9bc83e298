"""Flink's memory model: from the few sizes that a configuration names to all parts of a process, to the byte.

    total process = total Flink + metaspace + overhead
    total Flink   = framework heap + task heap + framework off-heap + task off-heap + managed + network   (worker)
                  = heap + off-heap                                                                       (driver)

A part is a fraction of a whole, kept between its least and its greatest size; what is left is the task heap or, where
that is named, the network's share. Sizes that contradict each other are rejected.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal

from funke.engine.config import memory_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError

__all__ = [
    "DriverMemory",
    "MemoryModelError",
    "WorkerMemory",
    "driver_memory",
    "least_network",
    "size_text",
    "worker_memory",
]

_UNITS = ("bytes", "kb", "mb", "gb", "tb")


class MemoryModelError(ConfigurationError):
    """Sizes that contradict each other, or none at all."""


@dataclass(frozen=True)
class WorkerMemory:
    """The parts of a worker's memory, in bytes."""

    framework_heap: int
    task_heap: int
    framework_off_heap: int
    task_off_heap: int
    managed: int
    network: int
    jvm_metaspace: int
    jvm_overhead: int

    @property
    def total_flink(self) -> int:
        """Without what the JVM needs for itself."""
        heap, off_heap = self.framework_heap + self.task_heap, self.framework_off_heap + self.task_off_heap
        return heap + off_heap + self.managed + self.network

    @property
    def total_process(self) -> int:
        """Of the process as a whole."""
        return self.total_flink + self.jvm_metaspace + self.jvm_overhead

    def jvm_arguments(self) -> tuple[str, ...]:
        """What a JVM is started with to keep to these sizes."""
        heap = self.framework_heap + self.task_heap
        direct = self.framework_off_heap + self.task_off_heap + self.network
        return (
            f"-Xmx{heap}",
            f"-Xms{heap}",
            f"-XX:MaxDirectMemorySize={direct}",
            f"-XX:MaxMetaspaceSize={self.jvm_metaspace}",
        )


@dataclass(frozen=True)
class DriverMemory:
    """The parts of the driver's memory, in bytes."""

    heap: int
    off_heap: int
    jvm_metaspace: int
    jvm_overhead: int
    is_direct_limited: bool = False

    @property
    def total_flink(self) -> int:
        """Without what the JVM needs for itself."""
        return self.heap + self.off_heap

    @property
    def total_process(self) -> int:
        """Of the process as a whole."""
        return self.total_flink + self.jvm_metaspace + self.jvm_overhead

    def jvm_arguments(self) -> tuple[str, ...]:
        """What a JVM is started with to keep to these sizes."""
        direct = (f"-XX:MaxDirectMemorySize={self.off_heap}",) if self.is_direct_limited else ()
        return (f"-Xmx{self.heap}", f"-Xms{self.heap}", *direct, f"-XX:MaxMetaspaceSize={self.jvm_metaspace}")


@dataclass(frozen=True)
class _Share:
    """A part that is a fraction of a whole, within limits."""

    name: str
    fraction: float
    least: int
    most: int

    @staticmethod
    def of(
        settings: Settings,
        name: str,
        fraction: ConfigOption[float],
        least: ConfigOption[int],
        most: ConfigOption[int],
    ) -> _Share:
        share = _Share(name, _single(settings.get(fraction)), settings.get(least), settings.get(most))
        if not 0 <= share.fraction < 1:
            raise MemoryModelError(f"{fraction.key} must be at least 0 and less than 1, got {share.fraction}")
        if share.least > share.most:
            raise MemoryModelError(
                f"{least.key} ({size_text(share.least)}) is more than {most.key} ({size_text(share.most)})"
            )
        return share

    def of_whole(self, whole: int) -> int:
        """Of a whole that it is a part of."""
        return self._within(_times(whole, self.fraction))

    def beside(self, rest: int) -> int:
        """Of a whole of which the other parts are known."""
        return self._within(_times(rest, self.fraction / (1 - self.fraction)))

    def require(self, size: int) -> int:
        """What is left for it, if that is within its limits."""
        if not self.least <= size <= self.most:
            raise MemoryModelError(
                f"{self.name} gets the remainder, {size_text(size)}, which is not between its least "
                f"({size_text(self.least)}) and its greatest size ({size_text(self.most)})"
            )
        return size

    def _within(self, size: int) -> int:
        return max(self.least, min(self.most, size))


def worker_memory(settings: Settings) -> WorkerMemory:
    """The memory of a worker; MemoryModelError when its sizes contradict each other, or none is set.

    >>> worker_memory(Settings({"taskmanager.memory.flink.size": "1000 mb"})).network >> 20
    100
    """
    flink, process = settings.get(options.WORKER_SIZE), settings.get(options.WORKER_PROCESS_SIZE)
    heap, managed = settings.get(options.TASK_HEAP_SIZE), settings.get(options.MANAGED_SIZE)
    overhead = _Share.of(
        settings, "the JVM's overhead", options.OVERHEAD_FRACTION, options.OVERHEAD_MIN, options.OVERHEAD_MAX
    )
    metaspace = settings.get(options.METASPACE_SIZE)
    if heap is not None and managed is not None:
        parts = _parts_by_heap_and_managed(settings, heap, managed, flink)
    elif flink is not None:
        parts = _parts_of(settings, flink)
    elif process is not None:
        jvm = metaspace + overhead.of_whole(process)
        if jvm > process:
            raise _too_much(f"metaspace and overhead of the JVM ({size_text(jvm)})", options.WORKER_PROCESS_SIZE.key)
        return WorkerMemory(*_parts_of(settings, process - jvm), metaspace, jvm - metaspace)
    else:
        raise MemoryModelError(
            f"the memory of workers is unknown: set {options.WORKER_SIZE.key}, {options.WORKER_PROCESS_SIZE.key}, "
            f"or both {options.TASK_HEAP_SIZE.key} and {options.MANAGED_SIZE.key}"
        )
    return WorkerMemory(*parts, metaspace, _overhead_beside(sum(parts) + metaspace, process, overhead))


_Parts = tuple[int, int, int, int, int, int]


def _parts_of(settings: Settings, total: int) -> _Parts:
    """The parts of a worker's memory without the JVM's."""
    framework, framework_off, task_off = _fixed(settings)
    managed = settings.get(options.MANAGED_SIZE)
    if managed is None:
        managed = _times(total, _managed_fraction(settings))
    network, heap = _network(settings), settings.get(options.TASK_HEAP_SIZE)
    sum_of_parts = framework + framework_off + task_off + managed
    if heap is not None:
        return framework, heap, framework_off, task_off, managed, network.require(_left(total, sum_of_parts + heap))
    share = network.of_whole(total)
    return framework, _left(total, sum_of_parts + share), framework_off, task_off, managed, share


def _parts_by_heap_and_managed(settings: Settings, heap: int, managed: int, total: int | None) -> _Parts:
    framework, framework_off, task_off = _fixed(settings)
    network, sum_of_parts = _network(settings), framework + framework_off + task_off + heap + managed
    share = network.beside(sum_of_parts) if total is None else network.require(_left(total, sum_of_parts))
    return framework, heap, framework_off, task_off, managed, share


def _fixed(settings: Settings) -> tuple[int, int, int]:
    return (
        settings.get(options.FRAMEWORK_HEAP_SIZE),
        settings.get(options.FRAMEWORK_OFF_HEAP_SIZE),
        settings.get(options.TASK_OFF_HEAP_SIZE),
    )


def _network(settings: Settings) -> _Share:
    return _Share.of(settings, "the network", options.NETWORK_FRACTION, options.NETWORK_MIN, options.NETWORK_MAX)


def least_network(settings: Settings) -> int:
    """The network's share where the size of the worker is unknown."""
    return _network(settings).of_whole(0)


def _managed_fraction(settings: Settings) -> float:
    fraction = _single(settings.get(options.MANAGED_FRACTION))
    if not 0 <= fraction < 1:
        raise MemoryModelError(f"{options.MANAGED_FRACTION.key} must be at least 0 and less than 1, got {fraction}")
    return fraction


def _left(total: int, sum_of_parts: int) -> int:
    if sum_of_parts > total:
        raise _too_much(f"its parts ({size_text(sum_of_parts)})", f"the whole ({size_text(total)})")
    return total - sum_of_parts


def _overhead_beside(rest: int, process: int | None, overhead: _Share) -> int:
    if process is None:
        return overhead.beside(rest)
    if rest > process:
        raise _too_much(f"memory and metaspace ({size_text(rest)})", f"the process ({size_text(process)})")
    return overhead.require(process - rest)


def driver_memory(settings: Settings) -> DriverMemory:
    """The memory of the driver; MemoryModelError when its sizes contradict each other, or none is set."""
    flink, process = settings.get(options.DRIVER_SIZE), settings.get(options.DRIVER_PROCESS_SIZE)
    heap = settings.get(options.DRIVER_HEAP_SIZE)
    overhead = _Share.of(
        settings,
        "the JVM's overhead",
        options.DRIVER_OVERHEAD_FRACTION,
        options.DRIVER_OVERHEAD_MIN,
        options.DRIVER_OVERHEAD_MAX,
    )
    metaspace, is_limited = settings.get(options.DRIVER_METASPACE_SIZE), settings.get(options.DRIVER_DIRECT_LIMIT)
    if heap is None and flink is None:
        if process is None:
            raise MemoryModelError(
                f"the memory of the driver is unknown: set {options.DRIVER_SIZE.key}, "
                f"{options.DRIVER_PROCESS_SIZE.key} or {options.DRIVER_HEAP_SIZE.key}"
            )
        jvm = metaspace + overhead.of_whole(process)
        if jvm > process:
            raise _too_much(f"metaspace and overhead of the JVM ({size_text(jvm)})", options.DRIVER_PROCESS_SIZE.key)
        parts = _driver_parts(settings, None, process - jvm)
        return DriverMemory(*parts, metaspace, jvm - metaspace, is_limited)
    parts = _driver_parts(settings, heap, flink)
    beside = _overhead_beside(sum(parts) + metaspace, process, overhead)
    return DriverMemory(*parts, metaspace, beside, is_limited)


def _driver_parts(settings: Settings, heap: int | None, total: int | None) -> tuple[int, int]:
    off_heap = settings.get(options.DRIVER_OFF_HEAP_SIZE)
    if total is None:
        assert heap is not None
        return heap, off_heap
    if heap is None:
        return _left(total, off_heap), off_heap
    left = _left(total, heap)
    if settings.is_set(options.DRIVER_OFF_HEAP_SIZE) and left != off_heap:
        raise MemoryModelError(
            f"heap ({size_text(heap)}) and off-heap ({size_text(off_heap)}) of the driver do not add up to its memory "
            f"({size_text(total)})"
        )
    return heap, left


def _times(size: int, factor: float) -> int:
    """Flink multiplies decimal numbers and cuts off what is less than a byte."""
    return int(Decimal(size) * Decimal(repr(factor)))


def _single(number: float) -> float:
    """A fraction as Flink reads it, in single precision: 0.1 is a little more than a tenth."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _too_much(part: str, whole: str) -> MemoryModelError:
    return MemoryModelError(f"{part} are more than {whole}")


def size_text(size: int) -> str:
    """A size as people read it, with its exact value where that differs.

    >>> size_text(1 << 30), size_text(1500)
    ('1 gb', '1.465kb (1500 bytes)')
    """
    unit = max((number for number in range(len(_UNITS)) if size >= 1024**number), default=0)
    if size % 1024**unit == 0:
        return f"{size >> (10 * unit)} {_UNITS[unit]}"
    return f"{size / 1024**unit:.3f}{_UNITS[unit]} ({size} bytes)"
