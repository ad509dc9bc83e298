"""Gives the operators of a subtask their part of a checkpoint, whatever the parallelism was then."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain as chain_of
from typing import Any

from funke.engine.errors import StateError, StorageUnavailableError
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.chain import OperatorChain
from funke.engine.operators.operator import Operator
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.snapshots.chain_snapshot import IN_FLIGHT
from funke.engine.runtime.snapshots.local_copies import LocalCopies
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, fetch_native, open_snapshot_file
from funke.engine.state.operator_state import OperatorStateSnapshot, redistribute
from funke.engine.state.snapshot.file_format import GroupPart, SnapshotReader

__all__ = ["SubtaskRange", "RestoreFailure", "read_in_flight", "restore_chain"]


class RestoreFailure(StateError):
    """A snapshot that was written cannot be read any more: another checkpoint may do."""


@dataclass(frozen=True)
class SubtaskRange:
    """A subtask of an operator: its number, how many there are, and into how many groups keys are divided."""

    subtask: int
    parallelism: int
    max_parallelism: int

    def owns(self, key_group: int) -> bool:
        """Whether the keys of a group belong to this subtask."""
        return key_group * self.parallelism // self.max_parallelism == self.subtask


class _OwnGroups:
    """The key groups of a subtask as a container."""

    def __init__(self, subtask_range: SubtaskRange) -> None:
        self._owns = subtask_range.owns

    def __contains__(self, key_group: object) -> bool:
        return isinstance(key_group, int) and self._owns(key_group)


def restore_chain(
    chain: OperatorChain,
    handles: Iterable[SnapshotHandle],
    subtask_range: SubtaskRange,
    scratch: str,
    copies: LocalCopies | None = None,
    moves: Mapping[str, StateMoves] | None = None,
) -> bool:
    """Reads the snapshots that hold state of the chain's operators and hands each what belongs to this subtask.

    Tells whether there was any. Files of a state backend's own are put into `scratch` for as long as it takes. What is
    among the copies on this host is taken from there. State of the operators in `moves` is moved on its way.
    """
    operators = {spec.operator_id: chain.operators[spec.node_id] for spec in chain.specs}
    useful = [handle for handle in handles if not operators.keys().isdisjoint(handle.operator_ids)]
    if useful:
        reach("restore")
    with _read_failures(), ExitStack() as closing:
        opened = [(handle, _open(handle, closing, copies)) for handle in useful]
        for operator_id, operator in operators.items():
            readers = [(handle, reader) for handle, reader in opened if operator_id in handle.operator_ids]
            for handle, _ in readers:
                operator.restore_types(dict(dict(handle.types).get(operator_id, ())))
            _restore_own(operator, {h.subtask: (h.parallelism, r.own(operator_id)) for h, r in readers}, subtask_range)
            native = _native(operator_id, [handle for handle, _ in readers], subtask_range, scratch, copies)
            parts = _keyed(operator_id, [reader for _, reader in readers], subtask_range)
            with native as folders:
                if moves and operator_id in moves:
                    # Entries are written anew, so that files of before cannot be used as they are.
                    parts = _moved(operator, chain_of(parts, _native_parts(folders, subtask_range)), moves[operator_id])
                elif folders:
                    operator.restore_native(folders, _OwnGroups(subtask_range))
                operator.restore_keyed(parts)
    return bool(useful)


def read_in_flight(handles: Iterable[SnapshotHandle], slot: int, copies: LocalCopies | None = None) -> list[Any]:
    """What was on its way in a slot when a checkpoint overtook it."""
    with _read_failures(), ExitStack() as closing:
        own = [handle for handle in handles if not handle.operator_ids and handle.subtask == slot]
        return [_open(handle, closing, copies).own(IN_FLIGHT) for handle in own]


@contextlib.contextmanager
def _read_failures() -> Iterator[None]:
    try:
        yield
    except StorageUnavailableError:
        raise
    except StateError as error:
        raise RestoreFailure(str(error)) from error


@contextlib.contextmanager
def _native(
    operator_id: str,
    handles: list[SnapshotHandle],
    subtask_range: SubtaskRange,
    scratch: str,
    copies: LocalCopies | None,
) -> Iterator[list[str]]:
    """Lays out the backend's own files, one folder for each old subtask that had key groups of this one."""
    with tempfile.TemporaryDirectory(prefix="restore-", dir=scratch) as folder:
        folders = []
        for handle in handles:
            files = dict(handle.native).get(operator_id)
            if files and _overlaps(handle, subtask_range):
                folders.append(os.path.join(folder, str(handle.subtask)))
                for file in files:
                    fetch_native(file, os.path.join(folders[-1], file.name), _copy(file.path, file.size, copies))
        if not folders:
            yield []
            return
        with _damage_failures(operator_id, handles[0].path):
            yield folders


def _native_parts(folders: Iterable[str], subtask_range: SubtaskRange) -> Iterator[tuple[int, GroupPart]]:
    if folders:
        # Not at the top: a slot starts faster without what its job does not use.
        from funke.engine.state.rocksdb.copies import parts_of_copy

        for folder in folders:
            yield from parts_of_copy(folder, _OwnGroups(subtask_range))


def _moved(
    operator: Operator, parts: Iterable[tuple[int, GroupPart]], moves: StateMoves
) -> Iterator[tuple[int, GroupPart]]:
    return ((group, operator.moved(part, moves)) for group, part in parts)


@contextlib.contextmanager
def _damage_failures(operator_id: str, path: str) -> Iterator[None]:
    """RocksDB has no exception of its own for files that are not as they were written."""
    try:
        yield
    except Exception as error:
        if "Corruption" in str(error) and not isinstance(error, StateError):
            raise StateError(f"the files of operator '{operator_id}' beside '{path}' are damaged: {error}") from error
        raise


def _overlaps(handle: SnapshotHandle, subtask_range: SubtaskRange) -> bool:
    old = replace(subtask_range, subtask=handle.subtask, parallelism=handle.parallelism)
    return any(subtask_range.owns(group) and old.owns(group) for group in range(subtask_range.max_parallelism))


def _open(handle: SnapshotHandle, closing: ExitStack, copies: LocalCopies | None) -> SnapshotReader:
    copy = None if handle.inline is not None else _copy(handle.path, handle.size, copies)
    path = copy or handle.path
    return SnapshotReader(closing.enter_context(open_snapshot_file(path, handle.inline)), path)


def _copy(path: str, size: int, copies: LocalCopies | None) -> str | None:
    return None if copies is None else copies.find(path, size)


def _keyed(
    operator_id: str, readers: list[SnapshotReader], subtask_range: SubtaskRange
) -> Iterator[tuple[int, GroupPart]]:
    for reader in readers:
        yield from reader.keyed(operator_id, _OwnGroups(subtask_range))


def _restore_own(operator: Operator, states: dict[int, tuple[int, Any]], subtask_range: SubtaskRange) -> None:
    """Gives back what each subtask had, or deals it out when there are more or fewer subtasks now."""
    own_states = {subtask: own for subtask, (_, own) in sorted(states.items()) if own is not None}
    if not own_states:
        return
    is_same = all(parallelism == subtask_range.parallelism for parallelism, _ in states.values())
    if all(isinstance(own, OperatorStateSnapshot) for own in own_states.values()):
        share = redistribute(list(own_states.values()), subtask_range.parallelism)[subtask_range.subtask]
        if is_same:
            # Lists move only when they have to; union lists go to all subtasks in any case.
            share = replace(
                share, lists=own_states[subtask_range.subtask].lists if subtask_range.subtask in own_states else {}
            )
        operator.restore(share)
    elif is_same:
        if subtask_range.subtask in own_states:
            operator.restore(own_states[subtask_range.subtask])
    elif all(isinstance(own, list) for own in own_states.values()):
        joined = [item for own in own_states.values() for item in own]
        operator.restore(joined[subtask_range.subtask :: subtask_range.parallelism])
    elif all(isinstance(own, dict) for own in own_states.values()):
        operator.restore(next(iter(own_states.values())))  # the same in every subtask, such as broadcast state
    # Anything else, such as the progress of event time, only made sense where it was.
