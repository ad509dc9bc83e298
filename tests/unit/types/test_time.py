"""Durations, instants and intervals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from funke.engine.types import Duration, Instant, Time


def test_durations_of_different_units_are_equal() -> None:
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440) == Duration.of_seconds(86400)
    assert Duration.of_millis(5) == Duration.of_nanos(5_000_000)
    assert Duration.of_nanos(1_999_999).to_millis() == 1


def test_intervals() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86400) == Time.milliseconds(86_400_000)
    assert str(Time.seconds(5)) == "5000 ms" and Time.seconds(5).to_milliseconds() == 5000


def test_instants() -> None:
    assert repr(Instant.of_epoch_milli(1500)) == "Instant<1, 500000000>"
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert Instant(5, 123_456_789).to_epoch_milli() == 5123
    assert Instant(-1, 500_000_000).to_epoch_milli() == -500


@given(st.integers(-(10**15), 10**15))
def test_instants_keep_their_milliseconds(millis: int) -> None:
    assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis
