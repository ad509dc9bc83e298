"""How records travel over an edge: Flink's partitioners as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Partitioner:
    """The rule that picks the receiving subtask of a record; `label` is Flink's name for it in plans."""

    label: ClassVar[str] = ""
    is_pointwise: ClassVar[bool] = False


@dataclass(frozen=True)
class Forward(Partitioner):
    """Subtask i sends to subtask i; needs equal parallelism."""

    label: ClassVar[str] = "FORWARD"
    is_pointwise: ClassVar[bool] = True


@dataclass(frozen=True)
class Rebalance(Partitioner):
    """Round robin over all receivers."""

    label: ClassVar[str] = "REBALANCE"


@dataclass(frozen=True)
class Rescale(Partitioner):
    """Round robin over the receivers that belong to the sender, by the two parallelisms."""

    label: ClassVar[str] = "RESCALE"
    is_pointwise: ClassVar[bool] = True


@dataclass(frozen=True)
class Shuffle(Partitioner):
    """Uniformly random receivers."""

    label: ClassVar[str] = "SHUFFLE"


@dataclass(frozen=True)
class Broadcast(Partitioner):
    """Every receiver gets every record."""

    label: ClassVar[str] = "BROADCAST"


@dataclass(frozen=True)
class Global(Partitioner):
    """The first receiver gets every record."""

    label: ClassVar[str] = "GLOBAL"


@dataclass(frozen=True)
class Hash(Partitioner):
    """The receiver that owns the key group of the record's key."""

    label: ClassVar[str] = "HASH"
    key_selector: Callable[[Any], Any]


@dataclass(frozen=True)
class Custom(Partitioner):
    """The user's partition(key, number of receivers) decides."""

    label: ClassVar[str] = "CUSTOM"
    partition: Callable[[Any, int], int]
    key_selector: Callable[[Any], Any]
