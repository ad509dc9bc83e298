"""Where a job starts from: a savepoint or checkpoint of an earlier program, matched with the operators of this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from funke.engine.errors import StateError
from funke.engine.graph.job_graph import JobGraph, JobVertex
from funke.engine.graph.operations import AssignTimestamps, Operation
from funke.engine.graph.state_meaning import StateMeaning, StateMoves, meaning_of, moves_between
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry
from funke.engine.jobs.checkpoints.matched_operators import with_matched_uids

__all__ = ["matched_graph", "operator_entries", "require_same_channels", "state_moves", "undescribed"]


def operator_entries(graph: JobGraph) -> dict[str, OperatorEntry]:
    """The operators of a job as its checkpoints describe them."""
    return {
        operator.operator_id: OperatorEntry(
            operator.operator_id,
            operator.name,
            vertex.parallelism,
            vertex.max_parallelism,
            operator.has_user_uid,
            uid=operator.uid,
            # The progress of event time may be lost, as in Flink.
            is_required=not isinstance(operator.operation, AssignTimestamps),
            meaning=_meaning_of(operator.operation),
        )
        for vertex in graph.vertices
        for operator in vertex.operators
    }


def _meaning_of(operation: Operation) -> str | None:
    meaning = meaning_of(operation)
    return None if meaning is None else meaning.to_text()


def state_moves(checkpoint: Checkpoint, operators: Mapping[str, OperatorEntry]) -> dict[str, StateMoves]:
    """How the state of operators, by their ids, is moved to where they have it now; those where it stands are left out.

    StateError, with what it was and what it is now, when the state of an operator means something else.
    """
    moves: dict[str, StateMoves] = {}
    for operator_id in sorted(checkpoint.stateful_ids() & checkpoint.operators.keys() & operators.keys()):
        before, now = checkpoint.operators[operator_id], operators[operator_id]
        if before.meaning is None or now.meaning is None or before.meaning == now.meaning:
            continue
        try:
            operator_moves = moves_between(StateMeaning.from_text(before.meaning), StateMeaning.from_text(now.meaning))
        except StateError as error:
            raise StateError(
                f"the state of '{now.name}' (uid '{now.uid}') in '{checkpoint.path}' is not that of this job: {error}; "
                "start the unchanged job, or start without this state"
            ) from error
        if operator_moves:
            moves[operator_id] = operator_moves
    return moves


def undescribed(checkpoint: Checkpoint, operators: Mapping[str, OperatorEntry]) -> list[str]:
    """The names of operators whose state an earlier version has written without saying what it means."""
    ids = checkpoint.stateful_ids() & checkpoint.operators.keys() & operators.keys()
    return sorted(
        {operators[each].name for each in ids if operators[each].meaning and not checkpoint.operators[each].meaning}
    )


def matched_graph(
    graph: JobGraph, stream_graph: StreamGraph, checkpoint: Checkpoint, is_unclaimed_state_allowed: bool
) -> JobGraph:
    """The job graph with the numbers of key groups, and the hash for them, that the state was written with.

    StateError when there is state that no operator claims, or when a maximum parallelism was changed.
    """
    graph = with_matched_uids(graph, checkpoint)
    if not is_unclaimed_state_allowed:
        _require_all_claimed(graph, checkpoint)
    vertices = tuple(_matched_vertex(vertex, stream_graph, checkpoint) for vertex in graph.vertices)
    return replace(graph, vertices=vertices, key_hash=checkpoint.key_hash)


def require_same_channels(checkpoint: Checkpoint, fingerprint: str | None) -> None:
    """StateError when records were on their way in the checkpoint for which there are no channels now."""
    if checkpoint.channels_of and checkpoint.channels_of != fingerprint:
        raise StateError(
            f"the barriers of the checkpoint '{checkpoint.path}' have overtaken records, which belong to channels that "
            "this job does not have: start the job as it was (operators, parallelism), and change it with a savepoint"
        )


def _require_all_claimed(graph: JobGraph, checkpoint: Checkpoint) -> None:
    operator_ids = {operator.operator_id for vertex in graph.vertices for operator in vertex.operators}
    unclaimed = [
        checkpoint.operators.get(operator_id) or OperatorEntry(operator_id, operator_id, 1, 1)
        for operator_id in sorted(checkpoint.stateful_ids() - operator_ids)
    ]
    unclaimed = [entry for entry in unclaimed if entry.is_required]
    if not unclaimed:
        return
    hint = (
        "" if all(entry.has_user_uid for entry in unclaimed) else "; give stateful operators a uid before a savepoint"
    )
    raise StateError(
        f"'{checkpoint.path}' has state that no operator of this job claims: {_described(unclaimed)}; "
        "to leave it out, allow it with --allowNonRestoredState (execution.state-recovery.ignore-unclaimed-state)"
        f"{hint}"
    )


def _described(entries: Iterable[OperatorEntry]) -> str:
    return ", ".join(
        f"'{entry.name}' ({f'uid {entry.uid!r}' if entry.uid else f'no uid, id {entry.operator_id}'})"
        for entry in sorted(entries, key=lambda entry: entry.name)
    )


def _matched_vertex(vertex: JobVertex, stream_graph: StreamGraph, checkpoint: Checkpoint) -> JobVertex:
    stateful = checkpoint.stateful_ids()
    entries = [
        checkpoint.operators[operator.operator_id]
        for operator in vertex.operators
        if operator.operator_id in stateful and operator.operator_id in checkpoint.operators
    ]
    for entry in entries:
        if entry.max_parallelism == vertex.max_parallelism:
            continue
        if _is_explicit(vertex, stream_graph):
            raise StateError(
                f"the state of '{entry.name}' was written with a maximum parallelism of {entry.max_parallelism}, "
                f"and this job sets {vertex.max_parallelism}; it cannot be changed, so set it to "
                f"{entry.max_parallelism} again"
            )
        if vertex.parallelism > entry.max_parallelism:
            raise StateError(
                f"the state of '{entry.name}' was written with a maximum parallelism of {entry.max_parallelism}, "
                f"so it cannot run with a parallelism of {vertex.parallelism}"
            )
        vertex = replace(vertex, max_parallelism=entry.max_parallelism)
    if len({entry.max_parallelism for entry in entries}) > 1:
        raise StateError(
            f"the operators of '{vertex.name}' were written with different maximum parallelisms "
            f"({_parallelisms(entries)}) and cannot be chained; start a new chain between them"
        )
    return vertex


def _parallelisms(entries: list[OperatorEntry]) -> str:
    return ", ".join(f"'{entry.name}': {entry.max_parallelism}" for entry in entries)


def _is_explicit(vertex: JobVertex, stream_graph: StreamGraph) -> bool:
    own = stream_graph.nodes[vertex.id].max_parallelism
    return own is not None or stream_graph.default_max_parallelism is not None
