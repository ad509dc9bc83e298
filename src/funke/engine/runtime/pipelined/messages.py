"""What driver and slots say to each other while a job streams."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from funke.engine.operators.source import ReadCommand, ReadReport
from funke.engine.runtime.epochs.results import SubtaskReport
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, CheckpointNotifications

__all__ = [
    "Begin",
    "Born",
    "Captured",
    "Cut",
    "Finish",
    "Finished",
    "GoOn",
    "Notify",
    "ReadCommands",
    "Passed",
    "Prepared",
    "Probe",
    "Ready",
    "Reports",
    "SplitsRead",
    "TakeCheckpoint",
]


# From the driver


@dataclass(frozen=True)
class Begin:
    """All slots are there: where the others are.

    All of them get it, so that its size counts with the square of slots: packed, it is a tenth.
    """

    packed: bytes

    @staticmethod
    def of(addresses: Iterable[SlotAddress]) -> Begin:
        """What those who connect with a slot must know of it."""
        rows = [(each.slot, each.host, each.port, each.path) for each in addresses]
        return Begin(zlib.compress(pickle.dumps(rows, 5), 1))

    @property
    def addresses(self) -> dict[int, SlotAddress]:
        """Where each slot listens."""
        rows = pickle.loads(zlib.decompress(self.packed))
        return {slot: SlotAddress(slot, host, port, path, pid=0, executor="") for slot, host, port, path in rows}


@dataclass(frozen=True)
class ReadCommands:
    """What sources are to read."""

    commands: tuple[ReadCommand, ...]


@dataclass(frozen=True)
class TakeCheckpoint:
    """Sources send barriers now."""

    command: CheckpointCommand
    # Event time comes to its end before.
    is_draining: bool = False
    # Sources read nothing more behind the barrier, until they get the command to go on.
    is_last: bool = False


@dataclass(frozen=True)
class GoOn:
    """The job does not end with its savepoint, which has failed."""


@dataclass(frozen=True)
class Notify:
    """What became of checkpoints."""

    notifications: CheckpointNotifications


@dataclass(frozen=True)
class Probe:
    """All input is read but for what goes round in iterations: sources send a probe behind everything."""


@dataclass(frozen=True)
class Finish:
    """All input is read: sources end, and all others behind them."""


# From a slot


@dataclass(frozen=True)
class Born:
    """A slot has started."""

    address: SlotAddress


@dataclass(frozen=True)
class Ready:
    """It is connected with all others."""


@dataclass(frozen=True)
class Cut:
    """A source has sent its barrier: what it had read before."""

    checkpoint_id: int
    vertex_id: int
    subtask: int
    report: ReadReport


@dataclass(frozen=True)
class Captured:
    """The state of the slot was captured: what it has said before belongs to the checkpoint."""

    checkpoint_id: int


@dataclass(frozen=True)
class Passed:
    """A probe has come through all subtasks: everything before it is done."""


@dataclass(frozen=True)
class Reports:
    """How subtasks stand."""

    reports: tuple[SubtaskReport, ...]


@dataclass(frozen=True)
class SplitsRead:
    """A source has read splits to their end, and may be given more: without all else that a report has."""

    vertex_id: int
    subtask: int
    report: ReadReport


@dataclass(frozen=True)
class Prepared:
    """What a sink has prepared to be committed with a checkpoint; with the next one, when that is None."""

    checkpoint_id: int | None
    operator_id: str
    committables: list[Any]


@dataclass(frozen=True)
class Finished:
    """All subtasks have ended."""
