"""The plan as text: what runs at which level, in how many slots, and the Spark stages of one epoch."""

from __future__ import annotations

from funke.engine.planner.exchange_mode import ExchangeMode
from funke.engine.planner.segments import SOURCE_LEVEL, Exchange, Plan, Segment


def explain(plan: Plan, mode: ExchangeMode) -> str:
    """Levels with their segments and exchanges, and how blocks travel between them."""
    kind = "batch" if plan.is_batch else "streaming"
    lines = [f"Plan ({kind}): {_count(plan.levels + 1, 'level')}, {_count(plan.slots, 'slot')}"]
    for level in range(plan.levels + 1):
        lines.append(f"  level {level}{' (sources)' if level == SOURCE_LEVEL else ''}")
        for segment in plan.segments:
            if segment.level == level:
                lines.extend(_segment_lines(plan, segment))
    lines.append(f"Exchange {mode}")
    if mode.is_pipelined:
        lines.append("  one Spark job whose tasks stay with the slots, which push blocks to each other")
    else:
        lines.extend(f"  stage {number} of an epoch: {text}" for number, text in enumerate(_stages(plan)))
    return "\n".join(lines)


def _segment_lines(plan: Plan, segment: Segment) -> list[str]:
    names = ", ".join(operator.name for operator in segment.operators)
    lines = [f"    segment {segment.id}: {names}  [{_place(segment)}]"]
    lines.extend(f"      -> {_exchange_text(exchange)}" for exchange in plan.outputs_of(segment.id))
    return lines


def _place(segment: Segment) -> str:
    last = segment.first_slot + segment.parallelism - 1
    return f"slot {last}" if segment.parallelism == 1 else f"slots {segment.first_slot} to {last}"


def _exchange_text(exchange: Exchange) -> str:
    side = f", side output '{exchange.tag.tag_id}'" if exchange.tag is not None else ""
    return f"segment {exchange.target_segment} {exchange.partitioner.label}{side}"


def _stages(plan: Plan) -> list[str]:
    tasks = f"{_count(plan.slots, 'task')} (one per slot)"
    deliveries = (f"deliver level {level}, {tasks}" for level in range(SOURCE_LEVEL + 1, plan.levels + 1))
    return [f"read, {tasks}", *deliveries]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
