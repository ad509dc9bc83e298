"""Where a vertex's results leave it: a router for every exchange, which packs blocks."""

from __future__ import annotations

from collections.abc import Callable

from funke.engine.errors import SerializationError
from funke.engine.graph.job_graph import JobEdge, JobVertex
from funke.engine.operators.block_parts import Part
from funke.engine.operators.chain import Exit
from funke.engine.operators.operator import OperatorFailure
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.router import Router, create_router
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["Carrier", "make_exits"]

# Takes a block on its way: (exchange, sending subtask, receiving subtask, parts) -> its size in bytes.
Carrier = Callable[[JobEdge, int, int, list[Part]], int]


def make_exits(plan: Plan, vertex: JobVertex, subtask: int, carry: Carrier) -> tuple[list[Router], list[Exit]]:
    """The routers of one sending subtask, and the exits of its chain that lead to them."""
    routers, exits = [], []
    for exchange in plan.outputs_of(vertex.id):
        router = _make_router(plan, vertex, exchange, subtask, carry)
        receiver = plan.by_id[exchange.target_vertex].operators[0]
        tag_id = exchange.tag.tag_id if exchange.tag else None
        routers.append(router)
        exits.append(
            Exit(
                exchange.source_node,
                tag_id,
                router,
                receiver.name,
                receiver.user_line,
                receiver.operator_id,
                plan.type_of(exchange),
            )
        )
    return routers, exits


def _make_router(plan: Plan, vertex: JobVertex, exchange: JobEdge, subtask: int, carry: Carrier) -> Router:
    target = plan.by_id[exchange.target_vertex]
    sender = next(operator for operator in vertex.operators if operator.node_id == exchange.source_node)

    def send(receiver: int, parts: list[Part]) -> int:
        try:
            return carry(exchange, subtask, receiver, parts)
        except SerializationError as cause:
            raise OperatorFailure(sender.location(vertex.id, subtask)) from cause

    return create_router(
        exchange.partitioner,
        subtask,
        vertex.parallelism,
        target.parallelism,
        KeyGroups(target.max_parallelism, plan.graph.key_hash),
        send,
        EdgeForms(plan.type_of(exchange), wants_columns=target.operators[0].takes_columns),
    )
