"""How a stream gets its timestamps and watermarks."""

from __future__ import annotations

from dataclasses import replace
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any

from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.types import Duration, TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkSpec
from funke.engine.types.watermark_spec import WatermarkGeneratorFactory

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "TimestampAssigner",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

_DEFAULT_ALIGNMENT_INTERVAL = Duration.of_seconds(1)


class WatermarkStrategy:
    """Describes which timestamps elements have, and how far event time has come.

    >>> from funke.common import Duration, WatermarkStrategy
    >>> from funke.common.watermark_strategy import TimestampAssigner
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> class Second(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value["second"] * 1000
    >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    >>> strategy = strategy.with_timestamp_assigner(Second()).with_idleness(Duration.of_minutes(1))
    >>> events = StreamExecutionEnvironment.get_execution_environment().from_collection([{"second": 7}])
    >>> timed = events.assign_timestamps_and_watermarks(strategy)
    >>> Second().extract_timestamp({"second": 7}, -1)
    7000
    """

    def __init__(self, spec: WatermarkSpec) -> None:
        self._spec = spec

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps never go back within a split; the watermark follows the newest one."""
        return WatermarkStrategy(WatermarkSpec(kind="monotonous"))

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Elements are late by at most the given duration; the watermark stays that much behind the newest one."""
        if max_out_of_orderness.to_nanos() < 0:
            raise ConfigurationError("max_out_of_orderness must not be negative")
        return WatermarkStrategy(WatermarkSpec(kind="bounded", out_of_orderness_ms=max_out_of_orderness.to_millis()))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Event time does not advance before the input ends."""
        return WatermarkStrategy(WatermarkSpec(kind="none"))

    @staticmethod
    def for_generator(factory: WatermarkGeneratorFactory) -> WatermarkStrategy:
        """Watermarks come from a :class:`WatermarkGenerator`; the factory creates one per split (beyond PyFlink)."""
        return WatermarkStrategy(WatermarkSpec(kind="custom", generator_factory=factory))

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        """Read timestamps with the given assigner; changes this strategy, as in PyFlink, and returns it."""
        extract = getattr(timestamp_assigner, "extract_timestamp", None)
        if extract is None:
            raise ConfigurationError(f"a TimestampAssigner is needed, got {timestamp_assigner!r}")
        if isgeneratorfunction(extract) or iscoroutinefunction(extract):
            raise ConfigurationError(
                f"{type(timestamp_assigner).__name__}.extract_timestamp() must return the timestamp in milliseconds, "
                "but it is a generator or a coroutine; write `return` instead of `yield`"
            )
        self._spec = replace(self._spec, timestamp_assigner=timestamp_assigner)
        return self

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """Let a split without elements for the given time no longer hold back the watermark."""
        if idle_timeout.to_nanos() <= 0:
            raise ConfigurationError("idle_timeout must be greater than zero")
        return WatermarkStrategy(replace(self._spec, idle_timeout_ms=idle_timeout.to_millis()))

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Pause a source that is ahead of the slowest of its group by more than the given drift."""
        interval = update_interval or _DEFAULT_ALIGNMENT_INTERVAL
        return WatermarkStrategy(
            replace(
                self._spec,
                alignment_group=watermark_group,
                alignment_drift_ms=max_allowed_watermark_drift.to_millis(),
                alignment_interval_ms=interval.to_millis(),
            )
        )

    def to_spec(self) -> WatermarkSpec:
        """Return the description that the engine works with."""
        return self._spec

    @property
    def _timestamp_assigner(self) -> TimestampAssigner | None:
        return self._spec.timestamp_assigner


class AssignerWithPeriodicWatermarksWrapper:
    """Stands for a Java assigner in PyFlink; write a :class:`WatermarkGenerator` in Python instead.

    >>> from funke.common import AssignerWithPeriodicWatermarksWrapper
    >>> AssignerWithPeriodicWatermarksWrapper("an object of the JVM")  # WatermarkStrategy.for_generator() works
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: AssignerWithPeriodicWatermarksWrapper is not supported: it wraps...
    """

    def __init__(self, assigner: Any) -> None:
        raise UnsupportedFeatureError(
            "AssignerWithPeriodicWatermarksWrapper",
            "it wraps a Java object; use WatermarkStrategy.for_generator() with a WatermarkGenerator",
        )
