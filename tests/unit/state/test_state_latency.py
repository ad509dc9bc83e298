"""Accesses to state that are measured: Flink's names, some of them only, and the state itself unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.graph.operations import Process
from funke.engine.jobs.checkpoints.backend_settings import backend_choice
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from funke.engine.state.interfaces import MapState
from funke.engine.types import Types
from tests.harness.operator_harness import OperatorHarness

TRACKED = {"state.latency-track.keyed-state-enabled": "true", "state.latency-track.sample-interval": "2"}


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        assert isinstance(self.seen, MapState)
        self.count.update((self.count.value() or 0) + 1)
        self.seen.put(value, value)
        yield self.count.value(), value in self.seen, sorted(self.seen)


@pytest.mark.parametrize("name", ["hashmap", "rocksdb"])
def test_some_accesses_are_measured(name: str, tmp_path: Path) -> None:
    choice = backend_choice(Settings({**TRACKED, "state.backend.type": name})).within(str(tmp_path))
    harness = OperatorHarness(Process(Counting(), lambda value: 0), backend=choice)
    harness.process_batch([5, 7, 5])
    assert harness.outputs() == [(1, True, [5]), (2, True, [5, 7]), (3, True, [5, 7])]
    metrics = harness.operator.metrics()
    results = metrics["count.valueStateGetLatency"]
    assert 0 < results["min"] <= results["p50"] <= results["p99"] <= results["max"]
    assert {"count.valueStateUpdateLatency", "seen.mapStatePutLatency"} <= metrics.keys()
    assert "count.valueStateClearLatency" not in metrics, "nobody has cleared it"


def test_nothing_is_measured_unless_it_is_asked_for() -> None:
    harness = OperatorHarness(Process(Counting(), lambda value: 0))
    harness.process_batch([5] * 300)
    assert not any("Latency" in name for name in harness.operator.metrics())
    with pytest.raises(ConfigurationError, match="sample-interval must be at least 1"):
        backend_choice(Settings({**TRACKED, "state.latency-track.sample-interval": "0"}))
