"""The numbers of channels, which are the same in all slots: blocks, and checkpoints that overtook some, name them."""

from __future__ import annotations

from collections.abc import Iterator

from funke.engine.graph.job_graph import JobEdge
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.router import receivers_of, senders_to

__all__ = ["ChannelNumbers"]


class ChannelNumbers:
    """Counts channels by exchange, receiving subtask and sending subtask.

    They are computed: of the millions of channels that a thousand slots have together, a slot has some thousands.
    """

    def __init__(self, plan: Plan) -> None:
        self._parallelism = {vertex.id: vertex.parallelism for vertex in plan.graph.vertices}
        # By exchange, the number of its first channel.
        self._first: dict[int, int] = {}
        self.count = 0
        for exchange in plan.graph.edges:
            self._first[exchange.id] = self.count
            senders, receivers = self._ends(exchange)
            self.count += max(senders, receivers) if exchange.partitioner.is_pointwise else senders * receivers

    def into(self, exchange: JobEdge, receiver: int) -> Iterator[tuple[int, int]]:
        """The channels that end at a subtask: sender and number."""
        for sender in senders_to(exchange.partitioner, receiver, *self._ends(exchange)):
            yield sender, self._number(exchange, sender, receiver)

    def out_of(self, exchange: JobEdge, sender: int) -> Iterator[tuple[int, int]]:
        """The channels that begin at a subtask: receiver and number."""
        for receiver in receivers_of(exchange.partitioner, sender, *self._ends(exchange)):
            yield receiver, self._number(exchange, sender, receiver)

    def _ends(self, exchange: JobEdge) -> tuple[int, int]:
        return self._parallelism[exchange.source_vertex], self._parallelism[exchange.target_vertex]

    def _number(self, exchange: JobEdge, sender: int, receiver: int) -> int:
        senders, receivers = self._ends(exchange)
        if exchange.partitioner.is_pointwise:
            # Each of those who are more has one channel.
            return self._first[exchange.id] + (sender if senders > receivers else receiver)
        return self._first[exchange.id] + receiver * senders + sender
