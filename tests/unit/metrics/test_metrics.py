"""Metrics of user functions."""

from __future__ import annotations

from funke.engine.types.metrics import MetricRegistry
from funke.metrics import Counter, Distribution, Meter, MetricGroup


def test_metrics_are_reported_by_name() -> None:
    seconds = [100.0]
    metrics = MetricRegistry(lambda: seconds[0])
    counter, meter, distribution = metrics.counter("c"), metrics.meter("m", 10), metrics.distribution("d")
    assert isinstance(metrics, MetricGroup) and isinstance(counter, Counter)
    assert isinstance(meter, Meter) and isinstance(distribution, Distribution)
    counter.inc()
    counter.inc(5)
    counter.dec(2)
    meter.mark_event()
    meter.mark_event(9)
    distribution.update(4)
    distribution.update(8)
    metrics.gauge("g", lambda: 42)
    metrics.add_group("shop").counter("orders").inc()
    metrics.add_group("key", "value").counter("x").inc(2)
    assert counter.get_count() == 4 and meter.get_count() == 10
    assert metrics.report() == {
        "c": 4,
        "m": {"count": 10, "rate": 1.0},
        "d": {"count": 2, "sum": 12, "min": 4, "max": 8, "mean": 6.0},
        "g": 42,
        "shop.orders": 1,
        "key.value.x": 2,
    }


def test_the_rate_forgets_what_lies_before_its_time_span() -> None:
    seconds = [100.0]
    metrics = MetricRegistry(lambda: seconds[0])
    meter = metrics.meter("m", 10)
    meter.mark_event(20)
    seconds[0] = 109.9
    assert metrics.report()["m"] == {"count": 20, "rate": 2.0}
    seconds[0] = 110.0
    assert metrics.report()["m"] == {"count": 20, "rate": 0.0}


def test_a_name_belongs_to_one_metric() -> None:
    metrics = MetricRegistry()
    assert metrics.counter("n") is metrics.counter("n")
    metrics.counter("n").inc()
    metrics.distribution("n").update(5)
    assert metrics.report() == {"n": 1}
    assert MetricRegistry().report() == {}
    assert metrics.distribution("empty") is not None and metrics.report()["empty"]["mean"] is None
