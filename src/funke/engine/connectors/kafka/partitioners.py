"""Which partition a row goes to: always the same one for a writer, or what a class of the program says."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["FixedPartitioner", "Partitioner", "find_partitioner"]


class Partitioner(ABC):
    """Flink's FlinkKafkaPartitioner; a program's class needs its methods, not this base."""

    @abstractmethod
    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Called once by each writer."""

    @abstractmethod
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: Sequence[int]
    ) -> int:
        """One of the partitions, for a row with its key and value as they are written."""


class FixedPartitioner(Partitioner):
    """All that a writer writes goes to one partition."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._number = parallel_instance_id

    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: Sequence[int]
    ) -> int:
        return partitions[self._number % len(partitions)]


def find_partitioner(name: str) -> Any:
    """An object of a Python class that is named with its module; None if there is none that could be one."""
    module, _, simple = name.rpartition(".")
    try:
        partitioner = getattr(importlib.import_module(module), simple)()
    except (ImportError, AttributeError, ValueError, TypeError):
        return None
    return (
        partitioner if all(callable(getattr(partitioner, method, None)) for method in ("open", "partition")) else None
    )
