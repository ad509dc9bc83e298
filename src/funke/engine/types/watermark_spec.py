"""How a stream gets timestamps and watermarks: the description, and the classes users derive their own from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "NO_TIMESTAMP",
    "TimestampAssigner",
    "WatermarkGenerator",
    "WatermarkGeneratorFactory",
    "WatermarkOutput",
    "WatermarkSpec",
]

NO_TIMESTAMP = -(1 << 63)
"""The timestamp that an assigner sees for a record without one."""


class TimestampAssigner(ABC):
    """Reads the event time out of an element.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.common.watermark_strategy import TimestampAssigner
    >>> class Second(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value["second"] * 1000
    >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    >>> Second().extract_timestamp({"second": 7}, -1)
    7000
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the event time of ``value`` in milliseconds since the epoch.

        ``record_timestamp`` is the timestamp the element already has, or a negative number when it has none.
        """


class WatermarkOutput(ABC):
    """Where a watermark generator sends what it knows about the progress of event time.

    >>> from funke.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
    >>> class Print(WatermarkOutput):  # a job has one of its own
    ...     def emit_watermark(self, timestamp_ms):
    ...         print("watermark", timestamp_ms)
    ...     def mark_idle(self):
    ...         print("idle")
    ...     def mark_active(self):
    ...         print("active")
    >>> class AtMarkers(WatermarkGenerator):
    ...     def on_event(self, event, event_timestamp, output: WatermarkOutput):
    ...         if event == "marker":
    ...             output.emit_watermark(event_timestamp)
    >>> AtMarkers().on_event("marker", 5000, Print())
    watermark 5000
    """

    @abstractmethod
    def emit_watermark(self, timestamp_ms: int) -> None:
        """Declare that no element with a timestamp at or before ``timestamp_ms`` will follow."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Declare that this input must not hold back the watermark for now."""

    @abstractmethod
    def mark_active(self) -> None:
        """Declare that this input counts again; emitting a watermark says so too."""


class WatermarkGenerator(ABC):
    """Produces watermarks from the elements it sees; one instance serves one input split.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.common.watermark_strategy import WatermarkGenerator
    >>> class AtMarkers(WatermarkGenerator):
    ...     def on_event(self, event, event_timestamp, output):
    ...         if event["is_marker"]:
    ...             output.emit_watermark(event_timestamp)
    >>> strategy = WatermarkStrategy.for_generator(AtMarkers)  # one generator for each split
    >>> type(strategy).__name__
    'WatermarkStrategy'
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Look at one element; emitting here makes a punctuated watermark, placed right after the element."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit a watermark if it has changed; called at the auto-watermark interval."""


WatermarkGeneratorFactory = Callable[[], WatermarkGenerator]


@dataclass(frozen=True)
class WatermarkSpec:
    """The complete description of a watermark strategy."""

    kind: Literal["none", "monotonous", "bounded", "custom"] = "none"
    out_of_orderness_ms: int = 0
    generator_factory: WatermarkGeneratorFactory | None = None
    timestamp_assigner: TimestampAssigner | None = None
    idle_timeout_ms: int | None = None
    alignment_group: str | None = None
    alignment_drift_ms: int | None = None
    alignment_interval_ms: int | None = None
