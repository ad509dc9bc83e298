"""Rates of counters, over a clock that the test moves."""

from __future__ import annotations

from funke.engine.runtime.monitoring.counter_rates import CounterRates


def test_a_counter_has_a_rate_over_the_last_seconds() -> None:
    now = [100.0]
    rates = CounterRates(lambda: now[0])
    assert rates.with_rates(1, {"numRecordsIn": 0, "other": "x"}) == {
        "numRecordsIn": 0,
        "other": "x",
        "numRecordsInPerSecond": 0.0,
    }
    for second in range(1, 31):
        now[0] = 100.0 + second
        result = rates.with_rates(1, {"numRecordsIn": 50 * second})
        assert result["numRecordsInPerSecond"] == 50.0
    # Nothing comes any more: after a while the rate is none.
    now[0] += 5
    assert 0 < rates.with_rates(1, {"numRecordsIn": 1500})["numRecordsInPerSecond"] < 50
    now[0] += 20
    rates.with_rates(1, {"numRecordsIn": 1500})
    now[0] += 11
    assert rates.with_rates(1, {"numRecordsIn": 1500})["numRecordsInPerSecond"] == 0.0


def test_owners_do_not_mix() -> None:
    now = [0.0]
    rates = CounterRates(lambda: now[0])
    rates.with_rates("a", {"numRecordsOut": 0})
    rates.with_rates("b", {"numRecordsOut": 0})
    now[0] = 2.0
    assert rates.with_rates("a", {"numRecordsOut": 10})["numRecordsOutPerSecond"] == 5.0
    assert rates.with_rates("b", {"numRecordsOut": 0})["numRecordsOutPerSecond"] == 0.0
    assert rates.with_rates("c", {"busy": 1}) == {"busy": 1}
