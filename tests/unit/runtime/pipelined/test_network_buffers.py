"""How many network buffers a slot's subtasks take, and who gets the rest; by hand after Flink's rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from funke.engine.config.settings import Settings
from funke.engine.config.slot_memory import slot_network_memory
from funke.engine.errors import ConfigurationError
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.pipelined.network_buffers import SlotBuffers, require_buffers
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from tests.harness.stream_threads import run_stream
from tests.unit.graph.sample_graphs import GraphBuilder
from tests.unit.runtime.pipelined.test_streams import Shape

DEFAULT = NetworkSettings()


@pytest.fixture
def plan() -> Plan:
    """Three sources, which send to three reduces."""
    builder = GraphBuilder(3)
    builder.sink(builder.reduce(builder.map(builder.source(parallelism=3))))
    return to_plan(to_job_graph(builder.graph))


def pools(plan: Plan, total: int) -> tuple[int, int, int]:
    """What is required, and what input and output of a slot get."""
    buffers = SlotBuffers(0, plan, replace(DEFAULT, total_buffers=total))
    (edge,) = plan.graph.edges
    return buffers.required, buffers.floating(edge.target_vertex), buffers.outgoing(edge.id)


def test_what_is_left_goes_in_proportion_to_who_could_use_it(plan: Plan) -> None:
    # Output: 3 channels and one more. Input: 2 for each channel from another slot, and one.
    required = (3 + 1) + (2 * 2 + 1)
    # Output could use 3 * 2 + 8 - 4 = 10 more, input 8 - 1 = 7.
    assert pools(plan, required) == (required, 1, 4)
    assert pools(plan, required + 8) == (required, 1 + 4, 4 + 4)
    assert pools(plan, required + 17) == (required, 8, 14)
    assert pools(plan, 2048) == (required, 8, 14)


def test_too_few_are_rejected_in_flinks_words(plan: Plan) -> None:
    with pytest.raises(ConfigurationError) as rejected:
        require_buffers(plan, replace(DEFAULT, total_buffers=8))
    assert str(rejected.value) == (
        "Insufficient number of network buffers: required 5, but only 4 available. The total number of network buffers "
        "is currently set to 8 of 32768 bytes each. You can increase this number by setting the configuration keys "
        "'taskmanager.memory.network.fraction', 'taskmanager.memory.network.min', and 'taskmanager.memory.network.max'."
    )


@pytest.mark.parametrize(
    ("sizes", "megabytes"),
    [
        ({}, 64),
        ({"taskmanager.numberOfTaskSlots": "4"}, 64),
        ({"taskmanager.memory.network.min": "16 mb"}, 16),
        ({"taskmanager.memory.flink.size": "2 gb", "taskmanager.numberOfTaskSlots": "4"}, 51),
        ({"taskmanager.memory.flink.size": "2 gb", "taskmanager.memory.network.fraction": "0.2"}, 409),
        ({"taskmanager.memory.flink.size": "2 gb", "taskmanager.memory.network.max": "80 mb"}, 80),
    ],
)
def test_a_slot_has_its_part_of_the_workers_network_memory(sizes: dict[str, str], megabytes: int) -> None:
    assert slot_network_memory(Settings(sizes)) >> 20 == megabytes


def test_a_stream_runs_with_the_least_that_it_can_have() -> None:
    shape = Shape(seed=3, parallelism=3, records=200)
    plan = to_plan(to_job_graph(shape.builder.graph))
    least = max(SlotBuffers(slot, plan, DEFAULT).required for slot in range(plan.slots))
    run = run_stream(shape.builder.graph, replace(DEFAULT, total_buffers=least))
    assert Counter(run.collected) == shape.expected
