"""Flame graphs: samples of slots merged into the tree of a vertex, taken when somebody looks and not more often."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from funke.engine.config.settings import Settings
from funke.engine.jobs.views.flame_graph import FlameGraphs
from funke.engine.planner.plan import Placement
from funke.engine.runtime.monitoring.flame_samples import WAITING, SampleCommand, SampledStack

# Vertex 7 has two subtasks, in slots 1 and 2; vertex 8 one, in slot 1.
VERTICES = {7: SimpleNamespace(name="map", parallelism=2)}
PLAN: Any = SimpleNamespace(by_id=VERTICES, placements={7: Placement(1, 1)})
TAKEN = {
    1: (
        SampledStack(7, ("process map.py", "slow job.py:3"), True, 6),
        SampledStack(7, ("process map.py", "send job.py:9"), False, 1),
        SampledStack(8, ("write sink.py",), True, 3),
    ),
    2: (SampledStack(7, ("process map.py", "slow job.py:3"), True, 4), SampledStack(None, (WAITING,), False, 5)),
}


class Slots:
    """Give their samples when they are let."""

    def __init__(self) -> None:
        self.commands: list[SampleCommand] = []
        self.may_answer = threading.Semaphore(0)
        self.now_s = 100.0
        self.failure: Exception | None = None

    def sample(self, command: SampleCommand) -> Any:
        self.commands.append(command)
        self.may_answer.acquire()
        if self.failure is not None:
            raise self.failure
        return TAKEN

    def graphs(self, **options: str) -> FlameGraphs:
        settings = {f"rest.flamegraph.{name.replace('_', '-')}": value for name, value in options.items()}
        return FlameGraphs(Settings(settings), PLAN, self.sample, lambda: self.now_s)

    def answer(self, graphs: FlameGraphs) -> None:
        self.may_answer.release()
        for thread in threading.enumerate():
            if thread.name == "funke-flames":
                thread.join()


def test_a_graph_of_all_subtasks_and_of_one() -> None:
    slots = Slots()
    graphs = slots.graphs()
    assert graphs.look(7, "FULL").end_timestamp == -3
    slots.answer(graphs)
    graph = graphs.look(7, "FULL")
    assert graph.end_timestamp > 0 and graph.data is not None
    assert (graph.data["name"], graph.data["value"]) == ("map", 19)
    assert [(each["name"], each["value"]) for each in graph.data["children"]] == [
        ("process map.py", 11),
        (WAITING, 5),
        ("waits: its slot works for others", 3),
    ]
    assert graph.data["children"][0]["children"][0] == {"name": "slow job.py:3", "value": 10, "children": []}
    computing, waiting = graphs.look(7, "ON_CPU").data, graphs.look(7, "OFF_CPU", 0).data
    assert computing is not None and computing["value"] == 10
    assert waiting is not None and waiting["value"] == 4
    assert slots.commands == [SampleCommand(100, 50, 100)]


def test_samples_are_taken_again_when_they_are_old() -> None:
    slots = Slots()
    graphs = slots.graphs(refresh_interval="10 s", cleanup_interval="60 s", num_samples="5")
    graphs.look(7, "FULL")
    graphs.look(7, "FULL")
    slots.answer(graphs)
    slots.now_s += 9
    assert graphs.look(7, "FULL").data and len(slots.commands) == 1
    slots.now_s += 1
    # What is known is shown meanwhile.
    assert graphs.look(7, "FULL").data and graphs.look(7, "FULL").data
    slots.answer(graphs)
    assert slots.commands == [SampleCommand(5, 50, 100)] * 2
    slots.now_s += 61
    assert graphs.look(7, "FULL").end_timestamp == -3
    slots.answer(graphs)


def test_slots_that_are_gone_and_graphs_that_are_off() -> None:
    slots = Slots()
    graphs = slots.graphs()
    slots.failure = ConnectionError("gone")
    graphs.look(7, "FULL")
    slots.answer(graphs)
    slots.failure = None
    assert graphs.look(7, "FULL").end_timestamp == -3
    slots.answer(graphs)
    assert graphs.look(7, "FULL").end_timestamp > 0
    assert slots.graphs(enabled="false").look(7, "FULL").end_timestamp == -2
    assert len(slots.commands) == 2
