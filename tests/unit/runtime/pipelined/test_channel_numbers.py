"""The numbers of channels: the same at both ends, in all slots, and in checkpoints of earlier versions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from funke.engine.graph.partitioners import Broadcast, Forward, Partitioner, Rebalance, Rescale
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.blocks.router import rescale_receivers
from funke.engine.runtime.pipelined.channel_numbers import ChannelNumbers
from tests.unit.graph.sample_graphs import GraphBuilder


def plan_of(widths: list[int], partitioners: list[Partitioner]) -> Plan:
    """A row of vertices, with an exchange between each two."""
    builder = GraphBuilder(1, is_chaining_enabled=False)
    last = builder.source(parallelism=widths[0])
    for width, partitioner in zip(widths[1:], partitioners):
        last = builder._add(last.operation, "next", [last], partitioner, parallelism=width)
    return to_plan(to_job_graph(builder.graph))


def listed(plan: Plan) -> dict[tuple[int, int, int], int]:
    """All channels, by exchange, sender and receiver, counted one by one."""
    numbers: dict[tuple[int, int, int], int] = {}
    for exchange in plan.graph.edges:
        senders = plan.by_id[exchange.source_vertex].parallelism
        receivers = plan.by_id[exchange.target_vertex].parallelism
        for receiver in range(receivers):
            for sender in range(senders):
                is_connected = True
                if isinstance(exchange.partitioner, Forward):
                    is_connected = sender == receiver
                elif isinstance(exchange.partitioner, Rescale):
                    is_connected = receiver in rescale_receivers(sender, senders, receivers)
                if is_connected:
                    numbers[exchange.id, sender, receiver] = len(numbers)
    return numbers


widths = some.integers(1, 12)


@given(
    some.lists(widths, min_size=3, max_size=3),
    some.lists(some.sampled_from([Rebalance(), Rescale(), Broadcast(), Forward()]), min_size=2, max_size=2),
)
def test_they_are_those_of_counting_one_by_one(parallelisms: list[int], partitioners: list[Partitioner]) -> None:
    for number, partitioner in enumerate(partitioners):
        if isinstance(partitioner, Forward):
            parallelisms[number + 1] = parallelisms[number]
    plan = plan_of(parallelisms, partitioners)
    numbers, expected = ChannelNumbers(plan), listed(plan)
    assert len(plan.graph.edges) == 2
    into, out = {}, {}
    for exchange in plan.graph.edges:
        for receiver in range(plan.by_id[exchange.target_vertex].parallelism):
            into |= {(exchange.id, sender, receiver): number for sender, number in numbers.into(exchange, receiver)}
        for sender in range(plan.by_id[exchange.source_vertex].parallelism):
            out |= {(exchange.id, sender, receiver): number for receiver, number in numbers.out_of(exchange, sender)}
    assert into == expected
    assert out == expected
    assert numbers.count == len(expected)


def test_a_slot_of_thousands_takes_those_of_its_own_subtasks() -> None:
    plan = plan_of([5000, 5000], [Rebalance()])
    (exchange,) = plan.graph.edges
    numbers = ChannelNumbers(plan)
    assert [number for _, number in numbers.into(exchange, 1)] == list(range(5000, 10_000))
    assert [number for _, number in numbers.out_of(exchange, 1)] == list(range(1, 25_000_000, 5000))
