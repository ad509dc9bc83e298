"""Makes the view of a running job: what its graphs say once, and what its parts know at the moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from funke.engine.config.secret_keys import masked
from funke.engine.graph.execution_graph import ExecutionState, ExecutionVertex
from funke.engine.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from funke.engine.graph.operations import CustomOperator, MatchPattern
from funke.engine.graph.plan_json import to_plan_json
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.job_lifecycle import JobLifecycle
from funke.engine.jobs.views.back_pressure import Pressures, PressureView, together
from funke.engine.jobs.views.job_view import EdgeView, JobView, OperatorView, StatementView, SubtaskView, VertexView
from funke.engine.operators.patterns.picture import shown_states
from funke.engine.planner.plan import Plan
from funke.engine.types.job_status import JobStatus

__all__ = ["planned_view", "with_executions", "with_pressures", "with_status"]

# Runs of subtasks in earlier attempts: a job of a thousand subtasks tells about the last attempt only.
_MOST_PRIOR = 1_000


def planned_view(
    job_id: str, graph: StreamGraph, job_graph: JobGraph, plan: Plan, configuration: Mapping[str, str]
) -> JobView:
    """What of a job does not change while it runs."""
    return JobView(
        job_id,
        job_graph.name,
        JobStatus.CREATED,
        parallelism=max((vertex.parallelism for vertex in job_graph.vertices), default=0),
        slots=plan.slots,
        is_batch=job_graph.is_batch,
        vertices=tuple(_vertex_view(vertex, plan.placements[vertex.id].level) for vertex in job_graph.vertices),
        edges=tuple(_edge_view(job_graph, edge) for edge in job_graph.edges),
        configuration=masked(configuration),
        plan=to_plan_json(graph),
        statements=tuple(
            StatementView(node.statement.sql, node.statement.plan)
            for node in graph.nodes.values()
            if node.statement is not None
        ),
    )


def _vertex_view(vertex: JobVertex, level: int) -> VertexView:
    return VertexView(
        vertex.id,
        vertex.name,
        tuple(map(_operator_view, vertex.operators)),
        vertex.parallelism,
        vertex.max_parallelism,
        vertex.slot_sharing_group,
        level,
    )


def _operator_view(operator: ChainedOperator) -> OperatorView:
    view = OperatorView(operator.operator_id, operator.name, operator.uid, operator.user_line)
    if not isinstance(operator.operation, (MatchPattern, CustomOperator)):
        return view
    # Most jobs of the DataStream API do not load SQL.
    from funke.engine.sql.patterns import pattern_of

    pattern = pattern_of(operator.operation)
    return view if pattern is None else replace(view, pattern=shown_states(pattern))


def _edge_view(graph: JobGraph, edge: JobEdge) -> EdgeView:
    operator_ids = {each.node_id: each.operator_id for vertex in graph.vertices for each in vertex.operators}
    return EdgeView(
        edge.source_vertex,
        operator_ids[edge.source_node],
        edge.target_vertex,
        operator_ids[edge.target_node],
        edge.partitioner.label,
        edge.tag.tag_id if edge.tag is not None else None,
    )


def with_status(view: JobView, lifecycle: JobLifecycle) -> JobView:
    """How the job stands, how it has stood, and what went wrong."""
    entries, status = lifecycle.entries, lifecycle.status
    return replace(
        view,
        status=status,
        status_history=entries,
        ended_ms=entries[-1].since_ms if status.is_globally_terminal_state() else None,
        restarts=lifecycle.restarts,
        exceptions=tuple(lifecycle.exceptions),
        failures=lifecycle.failures,
    )


def with_executions(view: JobView, executions: JobExecutions, hosts: Mapping[int, str]) -> JobView:
    """Where the subtasks stand; `hosts` tells where slots are."""
    current, prior = _by_vertex(executions.current), _by_vertex(_latest(executions.prior_attempts))

    def seen(subtask: ExecutionVertex, host: str | None) -> SubtaskView:
        slot = executions.slot_of(subtask)
        return SubtaskView(subtask.subtask, subtask.attempt, subtask.state, dict(subtask.entered_ms), slot, host)

    vertices = tuple(
        replace(
            vertex,
            subtasks=tuple(seen(each, hosts.get(executions.slot_of(each))) for each in current[vertex.id]),
            prior=tuple(seen(each, None) for each in prior[vertex.id]),
        )
        for vertex in view.vertices
    )
    return replace(view, vertices=vertices)


def with_pressures(view: JobView, pressures: Pressures) -> JobView:
    """How subtasks that run, and their vertices, are pressed by those behind them."""
    return replace(view, vertices=tuple(_with_pressures(each, pressures.get(each.id, {})) for each in view.vertices))


def _with_pressures(vertex: VertexView, measured: Mapping[int, PressureView]) -> VertexView:
    subtasks = tuple(
        replace(each, pressure=measured.get(each.subtask) if each.state is ExecutionState.RUNNING else None)
        for each in vertex.subtasks
    )
    running = [each.pressure for each in subtasks if each.pressure is not None]
    return replace(vertex, subtasks=subtasks, pressure=together(running) if running else None)


def _latest(attempts: list[tuple[ExecutionVertex, ...]]) -> list[ExecutionVertex]:
    kept: list[ExecutionVertex] = []
    for attempt in reversed(attempts):
        if len(kept) + len(attempt) > _MOST_PRIOR:
            break
        kept = [*attempt, *kept]
    return kept


def _by_vertex(subtasks: Iterable[ExecutionVertex]) -> dict[int, list[ExecutionVertex]]:
    by_vertex: dict[int, list[ExecutionVertex]] = defaultdict(list)
    for subtask in subtasks:
        by_vertex[subtask.vertex_id].append(subtask)
    return by_vertex
