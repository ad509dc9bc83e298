"""The network buffers of a slot: what its channels take at least, and how the rest is shared out, as in Flink."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.config import memory_options as options
from funke.engine.errors import ConfigurationError
from funke.engine.graph.job_graph import JobEdge, JobVertex
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.router import receivers_of, senders_to
from funke.engine.runtime.pipelined.network_settings import NetworkSettings

__all__ = ["SlotBuffers", "require_buffers"]


@dataclass(frozen=True)
class _Pool:
    """The buffers that one subtask has for its input, or for what it sends over one exchange."""

    # By vertex for input, by exchange for output.
    location: tuple[str, int]
    # Those of single channels, which are not shared.
    exclusive: int
    least: int
    most: int


class SlotBuffers:
    """How many buffers each subtask of a slot has."""

    def __init__(self, slot: int, plan: Plan, network: NetworkSettings) -> None:
        """Raises ConfigurationError when there are not enough for all channels."""
        self._slot = slot
        self._plan = plan
        self._network = network
        pools = [pool for vertex, subtask in self._subtasks() for pool in self._pools(vertex, subtask)]
        self.required = 0
        for pool in pools:
            self._require(pool.exclusive + pool.least)
        self._sizes = self._shared_out(pools)

    def floating(self, vertex_id: int) -> int:
        """Those of a subtask's input that no channel owns."""
        return self._sizes.get(("input", vertex_id), 0)

    def outgoing(self, exchange_id: int) -> int:
        """Those for what a subtask sends over an exchange."""
        return self._sizes[("output", exchange_id)]

    def _subtasks(self) -> list[tuple[JobVertex, int]]:
        located = [(each, self._slot - self._plan.placements[each.id].first_slot) for each in self._plan.graph.vertices]
        return [(vertex, subtask) for vertex, subtask in located if 0 <= subtask < vertex.parallelism]

    def _pools(self, vertex: JobVertex, subtask: int) -> list[_Pool]:
        network, plan = self._network, self._plan
        pools = [self._output(edge, subtask) for edge in plan.outputs_of(vertex.id)]
        inputs = plan.inputs_of(vertex.id)
        if inputs:
            remote = sum(self._remote_senders(edge, subtask) for edge in inputs)
            most = max(len(inputs), network.floating_buffers)
            pools.append(_Pool(("input", vertex.id), remote * network.channel_buffers, len(inputs), most))
        return pools

    def _output(self, edge: JobEdge, subtask: int) -> _Pool:
        channels = len(receivers_of(edge.partitioner, subtask, *self._ends(edge)))
        most = channels * self._network.channel_buffers + self._network.floating_buffers
        return _Pool(("output", edge.id), 0, channels + 1, max(channels + 1, most))

    def _remote_senders(self, edge: JobEdge, subtask: int) -> int:
        senders = senders_to(edge.partitioner, subtask, *self._ends(edge))
        own = self._slot - self._plan.placements[edge.source_vertex].first_slot
        return len(senders) - (own in senders)

    def _ends(self, edge: JobEdge) -> tuple[int, int]:
        return self._plan.by_id[edge.source_vertex].parallelism, self._plan.by_id[edge.target_vertex].parallelism

    def _require(self, buffers: int) -> None:
        total = self._network.total_buffers
        if self.required + buffers > total:
            keys = options.NETWORK_FRACTION.key, options.NETWORK_MIN.key, options.NETWORK_MAX.key
            raise ConfigurationError(
                f"Insufficient number of network buffers: required {buffers}, but only {total - self.required} "
                f"available. The total number of network buffers is currently set to {total} of "
                f"{self._network.segment_bytes} bytes each. You can increase this number by setting the configuration "
                f"keys '{keys[0]}', '{keys[1]}', and '{keys[2]}'."
            )
        self.required += buffers

    def _shared_out(self, pools: list[_Pool]) -> dict[tuple[str, int], int]:
        """What all need at least, and of the rest in proportion to what each could use."""
        left = self._network.total_buffers - self.required
        usable = [min(left, pool.most - pool.least) for pool in pools]
        whole = sum(usable)
        sizes, used, handed_out = {}, 0, 0
        for pool, more in zip(pools, usable):
            used += more
            share = min(left, whole) * used // whole - handed_out if more else 0
            handed_out += share
            sizes[pool.location] = pool.least + share
        return sizes


def require_buffers(plan: Plan, network: NetworkSettings) -> None:
    """Rejects a job, before it starts, for whose channels a slot would not have enough buffers."""
    for slot in range(plan.slots):
        SlotBuffers(slot, plan, network)
