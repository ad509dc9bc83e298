"""Where a segment's results leave it: a router for every exchange, which packs blocks."""

from __future__ import annotations

from typing import Any

from funke.engine.errors import SerializationError
from funke.engine.operators.chain import Exit
from funke.engine.operators.operator import OperatorFailure
from funke.engine.planner.segments import Exchange, Plan, Segment
from funke.engine.runtime.block_codec import encode
from funke.engine.runtime.frames import Frame
from funke.engine.runtime.router import Router, create_router

__all__ = ["make_exits"]


def make_exits(plan: Plan, segment: Segment, subtask: int, outbox: list[Frame]) -> tuple[list[Router], list[Exit]]:
    """The routers of one sending subtask, and the exits of its chain that lead to them; blocks go to the outbox."""
    routers, exits = [], []
    for exchange in plan.outputs_of(segment.id):
        router = _make_router(plan, segment, exchange, subtask, outbox)
        receiver = plan.by_id[exchange.target_segment].operators[0]
        tag_id = exchange.tag.tag_id if exchange.tag else None
        routers.append(router)
        exits.append(
            Exit(exchange.source_node, tag_id, router, receiver.name, receiver.user_line, receiver.operator_id)
        )
    return routers, exits


def _make_router(plan: Plan, segment: Segment, exchange: Exchange, subtask: int, outbox: list[Frame]) -> Router:
    target = plan.by_id[exchange.target_segment]
    sender = next(operator for operator in segment.operators if operator.node_id == exchange.source_node)

    def send(receiver: int, parts: list[Any]) -> int:
        try:
            payload = encode(parts)
        except SerializationError as cause:
            raise OperatorFailure(sender.place(segment.id, subtask)) from cause
        outbox.append(Frame(target.first_slot + receiver, exchange.id, subtask, payload))
        return len(payload)

    return create_router(
        exchange.partitioner, subtask, segment.parallelism, target.parallelism, target.max_parallelism, send
    )
