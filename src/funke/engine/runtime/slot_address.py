"""Where a slot is."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["SlotAddress", "local_host"]


@dataclass(frozen=True)
class SlotAddress:
    """Where a slot listens: a Unix socket for tasks on the same host, TCP for the others if there are any.

    The process is that of the slot's watcher, which ends with the slot, and the slot with it.
    """

    slot: int
    host: str
    port: int | None
    path: str
    pid: int
    executor: str


def local_host() -> str:
    """The address under which other hosts reach this one; Spark has already chosen it for its own services."""
    return os.environ.get("SPARK_LOCAL_IP") or os.environ.get("SPARK_LOCAL_HOSTNAME") or "127.0.0.1"
