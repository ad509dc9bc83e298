"""The options of Flink's memory model: what a worker's process and the driver's may use, and for what."""

from __future__ import annotations

from funke.engine.config.config_option import boolean_option, float_option, memory_option, without_effect

_MB = 1 << 20
_GB = 1 << 30
_W = "taskmanager.memory."
_D = "jobmanager.memory."
_SPARKS = "spark.driver.memory sets the memory of Spark's driver; `funke memory` shows the result in Flink"

WORKER_PROCESS_SIZE = memory_option(f"{_W}process.size", None, "All memory of a worker's process; that of a container.")
WORKER_SIZE = memory_option(f"{_W}flink.size", None, "The same without metaspace and overhead of the JVM.")
TASK_HEAP_SIZE = memory_option(f"{_W}task.heap.size", None, "Heap of a worker's tasks; the remainder when not set.")
MANAGED_SIZE = memory_option(
    f"{_W}managed.size",
    None,
    "Memory of a worker's slots for RocksDB; 256 MB per slot when no size of a worker is set.",
    "taskmanager.memory.size",
)
MANAGED_FRACTION = float_option(f"{_W}managed.fraction", 0.4, "The part of a worker's memory that is managed.")
FRAMEWORK_HEAP_SIZE = memory_option(f"{_W}framework.heap.size", 128 * _MB, "Heap of the framework; not of slots.")
FRAMEWORK_OFF_HEAP_SIZE = memory_option(
    f"{_W}framework.off-heap.size", 128 * _MB, "Direct and native memory of the framework; not of slots."
)
TASK_OFF_HEAP_SIZE = memory_option(f"{_W}task.off-heap.size", 0, "Direct and native memory of tasks.")
NETWORK_FRACTION = float_option(
    f"{_W}network.fraction",
    0.1,
    "The part of a worker's memory for the network.",
    "taskmanager.network.memory.fraction",
)
NETWORK_MIN = memory_option(f"{_W}network.min", 64 * _MB, "At least that.", "taskmanager.network.memory.min")
NETWORK_MAX = memory_option(f"{_W}network.max", _GB, "At most that.", "taskmanager.network.memory.max")
METASPACE_SIZE = memory_option(f"{_W}jvm-metaspace.size", 96 * _MB, "Metaspace of a worker's JVM.")
OVERHEAD_FRACTION = float_option(f"{_W}jvm-overhead.fraction", 0.1, "The part of a worker's process for its JVM.")
OVERHEAD_MIN = memory_option(f"{_W}jvm-overhead.min", 192 * _MB, "At least that.")
OVERHEAD_MAX = memory_option(f"{_W}jvm-overhead.max", _GB, "At most that.")
SLOT_MEMORY_LIMIT = memory_option(
    "funke.slot-memory-limit",
    None,
    "The memory limit of a slot's process; above it the attempt fails. 0: no limit. "
    "By default its part of the worker's memory if that is set, else no limit.",
)

DRIVER_PROCESS_SIZE = without_effect(
    memory_option(f"{_D}process.size", None, "All memory of the driver's process."), _SPARKS
)
DRIVER_SIZE = without_effect(
    memory_option(f"{_D}flink.size", None, "The same without metaspace and overhead of the JVM."), _SPARKS
)
DRIVER_HEAP_SIZE = without_effect(
    memory_option(f"{_D}heap.size", None, "Heap of the driver; the remainder when not set."), _SPARKS
)
DRIVER_OFF_HEAP_SIZE = without_effect(
    memory_option(f"{_D}off-heap.size", 128 * _MB, "Direct and native memory of the driver."), _SPARKS
)
DRIVER_DIRECT_LIMIT = without_effect(
    boolean_option(
        f"{_D}enable-jvm-direct-memory-limit",
        False,
        "Whether direct memory of the driver is limited to its off-heap size.",
    ),
    _SPARKS,
)
DRIVER_METASPACE_SIZE = without_effect(
    memory_option(f"{_D}jvm-metaspace.size", 256 * _MB, "Metaspace of the driver's JVM."), _SPARKS
)
DRIVER_OVERHEAD_FRACTION = without_effect(
    float_option(f"{_D}jvm-overhead.fraction", 0.1, "The part of its process for its JVM."), _SPARKS
)
DRIVER_OVERHEAD_MIN = without_effect(memory_option(f"{_D}jvm-overhead.min", 192 * _MB, "At least that."), _SPARKS)
DRIVER_OVERHEAD_MAX = without_effect(memory_option(f"{_D}jvm-overhead.max", _GB, "At most that."), _SPARKS)
