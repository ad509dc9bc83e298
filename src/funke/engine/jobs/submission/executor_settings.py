"""What a job asks of a cluster: as many executors as its slots need, each with room for its part of them."""

from __future__ import annotations

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.config.slot_memory import slot_memory_limit

__all__ = ["executor_settings"]

_CORES = "spark.executor.cores"
_INSTANCES = "spark.executor.instances"
_OVERHEAD = "spark.executor.memoryOverhead"
_MOST_CORES = "spark.cores.max"
# What Spark itself adds for a JVM and its Python workers.
_SPARKS_OWN_MB = 384


def executor_settings(settings: Settings, master: str, slots: int) -> dict[str, str]:
    """Spark's settings that follow from slots per worker; nothing that is set, nor where Spark decides by itself.

    >>> executor_settings(Settings({"taskmanager.numberOfTaskSlots": "3"}), "yarn", 7)
    {'spark.executor.cores': '3', 'spark.executor.instances': '3'}
    """
    is_dynamic = str(settings.raw("spark.dynamicAllocation.enabled", "false")).lower() == "true"
    if master.startswith("local") or is_dynamic or not settings.is_set(options.TASK_SLOTS):
        return {}
    per_worker = max(1, settings.get(options.TASK_SLOTS))
    cores = int(settings.raw(_CORES, per_worker))
    workers = -(-slots // cores)
    derived = {_CORES: str(cores)}
    if master.startswith("spark:"):
        # A standalone cluster gives an application all that it has, unless told how many cores are enough.
        derived[_MOST_CORES] = str(workers * cores)
    else:
        derived[_INSTANCES] = str(workers)
        limit = slot_memory_limit(settings)
        if limit is not None:
            # Slots are processes beside the executor's JVM, in the same container.
            derived[_OVERHEAD] = f"{(limit.size * cores >> 20) + _SPARKS_OWN_MB}m"
    return {key: value for key, value in derived.items() if key not in settings}
