"""The plan as text: what runs at which level, in how many slots, and the Spark stages of one epoch."""

from __future__ import annotations

from funke.engine.graph.job_graph import JobEdge, JobVertex
from funke.engine.planner.exchange_mode import ExchangeMode
from funke.engine.planner.plan import SOURCE_LEVEL, Plan


def explain(plan: Plan, mode: ExchangeMode) -> str:
    """Levels with their vertices and edges, and how blocks travel between them."""
    kind = "batch" if plan.graph.is_batch else "streaming"
    lines = [f"Plan ({kind}): {_count(plan.levels + 1, 'level')}, {_count(plan.slots, 'slot')}"]
    for level in range(plan.levels + 1):
        lines.append(f"  level {level}{' (sources)' if level == SOURCE_LEVEL else ''}")
        for vertex in plan.graph.vertices:
            if plan.placements[vertex.id].level == level:
                lines.extend(_vertex_lines(plan, vertex))
    lines.append(f"Exchange {mode}")
    if mode.is_pipelined:
        lines.append("  one Spark job whose tasks stay with the slots, which push blocks to each other")
    else:
        lines.extend(f"  stage {number} of an epoch: {text}" for number, text in enumerate(_stages(plan)))
    return "\n".join(lines)


def _vertex_lines(plan: Plan, vertex: JobVertex) -> list[str]:
    names = ", ".join(operator.name for operator in vertex.operators)
    slots = _slots_text(plan.placements[vertex.id].first_slot, vertex.parallelism)
    lines = [f"    segment {vertex.id}: {names}  [{slots}]"]
    lines.extend(f"      -> {_edge_text(edge)}" for edge in plan.outputs_of(vertex.id))
    return lines


def _slots_text(first: int, count: int) -> str:
    return f"slot {first}" if count == 1 else f"slots {first} to {first + count - 1}"


def _edge_text(edge: JobEdge) -> str:
    side = f", side output '{edge.tag.tag_id}'" if edge.tag is not None else ""
    return f"segment {edge.target_vertex} {edge.partitioner.label}{side}"


def _stages(plan: Plan) -> list[str]:
    tasks = f"{_count(plan.slots, 'task')} (one per slot)"
    deliveries = (f"deliver level {level}, {tasks}" for level in range(SOURCE_LEVEL + 1, plan.levels + 1))
    return [f"read, {tasks}", *deliveries]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
