"""Which topics and partitions a source reads, and which topics a table may write to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from funke.engine.connectors.kafka.offsets import Partition

__all__ = ["Subscription"]


@dataclass(frozen=True)
class Subscription:
    """Which partitions are meant: those of some topics, of all topics whose name fits, or some by themselves."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[Partition, ...] = ()

    def filter(self) -> Callable[[str], bool]:
        """Whether a topic is meant by the pattern."""
        fits = re.compile(self.pattern or "").fullmatch
        return lambda topic: fits(topic) is not None

    @property
    def only(self) -> str | None:
        """The topic, if it is one that is named."""
        return self.topics[0] if len(self.topics) == 1 else None

    def has(self, topic: str | None) -> bool:
        """Whether a topic is one of them."""
        return topic is not None and (topic in self.topics if self.pattern is None else self.filter()(topic))

    @property
    def summary(self) -> str:
        """The topics, for people."""
        return ", ".join(self.topics) if self.pattern is None else f"those that match '{self.pattern}'"
