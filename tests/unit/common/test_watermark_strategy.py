"""Watermark strategies become specifications."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import AssignerWithPeriodicWatermarksWrapper, Duration, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.types import WatermarkSpec


class First(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


class Punctuated(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)


def test_strategies() -> None:
    assert WatermarkStrategy.no_watermarks().to_spec() == WatermarkSpec("none")
    assert WatermarkStrategy.for_monotonous_timestamps().to_spec() == WatermarkSpec("monotonous")
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    assert bounded.to_spec() == WatermarkSpec("bounded", out_of_orderness_ms=5000)
    assert WatermarkStrategy.for_generator(Punctuated).to_spec() == WatermarkSpec(
        "custom", generator_factory=Punctuated
    )


def test_the_assigner_changes_the_strategy_and_the_rest_returns_a_new_one() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assigner = First()
    assert strategy.with_timestamp_assigner(assigner) is strategy
    idle = strategy.with_idleness(Duration.of_seconds(1))
    assert strategy.to_spec().idle_timeout_ms is None
    assert (idle.to_spec().idle_timeout_ms, idle.to_spec().timestamp_assigner) == (1000, assigner)


def test_alignment() -> None:
    spec = WatermarkStrategy.no_watermarks().with_watermark_alignment("g", Duration.of_seconds(20)).to_spec()
    assert (spec.alignment_group, spec.alignment_drift_ms, spec.alignment_interval_ms) == ("g", 20_000, 1000)
    slow = WatermarkStrategy.no_watermarks().with_watermark_alignment(
        "g", Duration.of_seconds(1), Duration.of_minutes(1)
    )
    assert slow.to_spec().alignment_interval_ms == 60_000


def test_generators_may_leave_out_the_periodic_part() -> None:
    class Recorded(WatermarkOutput):
        marks: list[int]

        def __init__(self) -> None:
            self.marks = []

        def emit_watermark(self, timestamp_ms: int) -> None:
            self.marks.append(timestamp_ms)

        def mark_idle(self) -> None:
            self.marks.append(-1)

        def mark_active(self) -> None:
            self.marks.append(-2)

    output = Recorded()
    generator = Punctuated()
    generator.on_event("x", 5, output)
    generator.on_periodic_emit(output)
    assert output.marks == [5]


def test_rejections() -> None:
    with pytest.raises(ConfigurationError, match="greater than zero"):
        WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(0))
    with pytest.raises(ConfigurationError, match="negative"):
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1))
    with pytest.raises(UnsupportedFeatureError, match="WatermarkGenerator"):
        AssignerWithPeriodicWatermarksWrapper(object())


class Yielding(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        yield value[0]


class Awaited(TimestampAssigner):
    async def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:  # type: ignore[override]
        return value[0]


@pytest.mark.parametrize("assigner", [Yielding(), Awaited()])
def test_an_assigner_that_yields_is_rejected_at_once(assigner: TimestampAssigner) -> None:
    with pytest.raises(ConfigurationError, match=r"\.extract_timestamp\(\) must return the timestamp in milliseconds"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(assigner)


def test_an_assigner_has_a_method() -> None:
    with pytest.raises(ConfigurationError, match="a TimestampAssigner is needed, got <function"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, timestamp: 0)  # type: ignore[arg-type]
