"""Gives the operators of a subtask their part of a checkpoint, whatever the parallelism was then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funke.engine.operators.chain import OperatorChain
from funke.engine.operators.operator import Operator
from funke.engine.runtime.snapshot_files import SnapshotHandle, read_snapshot

__all__ = ["restore_chain"]


def restore_chain(
    chain: OperatorChain, handles: Iterable[SnapshotHandle], subtask: int, parallelism: int, max_parallelism: int
) -> None:
    """Reads the snapshots that hold state of the chain's operators and hands each what belongs to this subtask."""
    wanted = {
        spec.operator_id: chain.operators[spec.node_id] for spec in chain.specs if spec.node_id in chain.operators
    }
    found: dict[str, list[tuple[int, int, Any]]] = {}
    for handle in handles:
        if wanted.keys().isdisjoint(handle.operator_ids):
            continue
        for operator_id, snapshot in read_snapshot(handle).items():
            if operator_id in wanted:
                found.setdefault(operator_id, []).append((handle.subtask, handle.parallelism, snapshot))
    for operator_id, snapshots in found.items():
        _restore_own(wanted[operator_id], snapshots, subtask, parallelism)
        _restore_keyed(wanted[operator_id], snapshots, subtask, parallelism, max_parallelism)


def _restore_own(operator: Operator, snapshots: list[tuple[int, int, Any]], subtask: int, parallelism: int) -> None:
    states = {old: own for old, _, (own, _) in snapshots if own is not None}
    if not states:
        return
    if snapshots[0][1] == parallelism:
        if subtask in states:
            operator.restore(states[subtask])
    elif all(isinstance(state, list) for state in states.values()):
        joined = [item for old in sorted(states) for item in states[old]]
        operator.restore(joined[subtask::parallelism])
    else:  # the same in every subtask, such as broadcast state
        operator.restore(states[min(states)])


def _restore_keyed(
    operator: Operator, snapshots: list[tuple[int, int, Any]], subtask: int, parallelism: int, max_parallelism: int
) -> None:
    groups = {
        group: part
        for _, _, (_, keyed) in snapshots
        for group, part in (keyed or {}).items()
        if group * parallelism // max_parallelism == subtask
    }
    restore_keyed = getattr(operator, "restore_keyed", None)
    if groups and restore_keyed is not None:
        restore_keyed(groups)
