"""How many slots a job may have: each is a process, and embedded Spark has one machine for all of them."""

from __future__ import annotations

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.attempts.slot_pool import SlotPool
from funke.engine.runtime.spark.spark_session import spark_master

__all__ = ["most_slots", "require_slots"]

# On 2 cores they took 3.7 GB and 23 s to start.
_MOST_EMBEDDED_SLOTS = 128


def require_slots(slots: int, settings: Settings, is_embedded: bool) -> None:
    """Rejects a job that would start more processes than the configuration, or one machine, allows."""
    limit = settings.get(options.MAX_SLOTS) or (_MOST_EMBEDDED_SLOTS if is_embedded else slots)
    if slots > limit:
        raise ConfigurationError(
            f"the job needs {slots} slots, each of which is a process, and at most {limit} are allowed; lower its "
            f"parallelism, or set {options.MAX_SLOTS.key} to {slots}"
        )


def most_slots(settings: Settings) -> int | None:
    """How many slots a job can have, by its configuration and the service; None if only a cluster's size says so."""
    pool = SlotPool.of(settings)
    is_embedded = spark_master(settings.to_dict()).startswith("local")
    limits = [settings.get(options.MAX_SLOTS), _MOST_EMBEDDED_SLOTS if is_embedded else None, pool and pool.total]
    return min((limit for limit in limits if limit), default=None)
