"""What a watermark strategy knows of one input: the highest timestamp, or the state of the user's generator."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.types.watermark_spec import WatermarkGenerator, WatermarkOutput, WatermarkSpec

__all__ = ["BoundedTracker", "CustomTracker", "create_tracker"]


class BoundedTracker:
    """Timestamps lag behind the highest one by at most `delay_ms`; 0 for ascending timestamps.

    The watermark is the highest timestamp minus the delay minus 1: a record with the same timestamp may still come.
    """

    # The end of each batch or epoch is early enough.
    wants_turns = False

    def __init__(self, delay_ms: int) -> None:
        self._delay_ms = delay_ms
        self._highest: int | None = None
        self.watermark = MIN_WATERMARK
        self.is_idle = False
        self.last_event_ms: int | None = None

    def observe(self, highest: int) -> None:
        """Takes note of the highest timestamp of a batch."""
        if self._highest is None or highest > self._highest:
            self._highest = highest

    def on_periodic_emit(self) -> None:
        """Brings the watermark up to date."""
        if self._highest is not None:
            self.watermark = max(self.watermark, MIN_WATERMARK, self._highest - self._delay_ms - 1)


class CustomTracker(WatermarkOutput):
    """Runs the user's generator; it is also the output that the generator emits to."""

    def __init__(self, generator: WatermarkGenerator) -> None:
        self._generator = generator
        own = getattr(type(generator), "on_periodic_emit", None)
        self.wants_turns = own is not None and own is not WatermarkGenerator.on_periodic_emit
        self.watermark = MIN_WATERMARK
        self.is_idle = False
        self.last_event_ms: int | None = None
        # Set when the generator has said something that has to take effect at this record.
        self.has_change = False

    def emit_watermark(self, timestamp_ms: int) -> None:
        """The generator has seen everything up to `timestamp_ms`."""
        # Users may hand over a Watermark object as well as a number.
        timestamp = getattr(timestamp_ms, "timestamp", timestamp_ms)
        self.mark_active()
        if timestamp > self.watermark:
            self.watermark = min(timestamp, MAX_WATERMARK)
            self.has_change = True

    def mark_idle(self) -> None:
        """The generator says that this input does not count for now."""
        self.has_change = self.has_change or not self.is_idle
        self.is_idle = True

    def mark_active(self) -> None:
        """The generator says that this input counts again."""
        self.has_change = self.has_change or self.is_idle
        self.is_idle = False

    def on_event(self, value: Any, timestamp: int) -> bool:
        """Shows one record to the generator; tells whether it said anything."""
        self._generator.on_event(value, timestamp, self)
        said, self.has_change = self.has_change, False
        return said

    def on_periodic_emit(self) -> None:
        """Gives the generator its turn."""
        on_periodic_emit = getattr(self._generator, "on_periodic_emit", None)
        if on_periodic_emit is not None:
            on_periodic_emit(self)
        self.has_change = False


def create_tracker(spec: WatermarkSpec) -> BoundedTracker | CustomTracker | None:
    """The tracker of a strategy for one input; None for a strategy without watermarks."""
    if spec.kind == "none":
        return None
    if spec.kind == "custom":
        if spec.generator_factory is None:
            raise ValueError("a custom watermark strategy needs a generator")
        return CustomTracker(spec.generator_factory())
    return BoundedTracker(spec.out_of_orderness_ms if spec.kind == "bounded" else 0)
