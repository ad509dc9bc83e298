"""Slots that only talk: a process holds the sockets of many, which speak the slots' protocol and read no records."""

from __future__ import annotations

import contextlib
import heapq
import os
import select
import tempfile
import time
from dataclasses import replace
from typing import Any

from funke.engine.connectors.source import Split
from funke.engine.operators.source import ReadCommand, ReadReport
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.epochs.results import SubtaskReport
from funke.engine.runtime.pipelined.connection import MESSAGE, Connection
from funke.engine.runtime.pipelined.meeting import call_driver, send_message
from funke.engine.runtime.pipelined.messages import (
    Begin,
    Born,
    Captured,
    Cut,
    Finish,
    Finished,
    ReadCommands,
    Ready,
    Reports,
    TakeCheckpoint,
)
from funke.engine.runtime.pipelined.slot_loop import SlotLoop
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.runtime.slots.worker_setup import JobDeployment, unpack
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics, CheckpointCommand, SnapshotAck
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle

__all__ = ["run_slots"]

_REPORT_S = 1.0
_SLOTS_PER_HOST = 16
_STALL_MS, _WRITE_MS = 1.5, 20.0


class _Example:
    """What one real slot says of itself after some records; the simulated ones say the same."""

    def __init__(self, plan: Plan, deployment: JobDeployment) -> None:
        # One subtask of each vertex: what it says does not depend on how many there are.
        single = to_plan(
            replace(plan.graph, vertices=tuple(replace(each, parallelism=1) for each in plan.graph.vertices))
        )
        loop = SlotLoop(0, single, deployment, tempfile.mkdtemp())
        try:
            loop.open()
            loop.connect({})
            sources = [each for each in single.graph.vertices if single.placements[each.id].is_source]
            splits = (Split("0-0", None, is_endless=True),)
            loop._obey(ReadCommands(tuple(ReadCommand(each.id, 0, splits) for each in sources)))
            while loop._turn():
                pass
            loop._report()
            self.reports: tuple[SubtaskReport, ...] = decode(loop._outbox.pop()).reports
            command = CheckpointCommand(1, tempfile.mkdtemp(), inline_bytes=20 << 10)
            self.written = loop._subtasks.write(command, {}, None, command.folder)
        finally:
            loop.close()


class _Slot:
    def __init__(self, number: int, plan: Plan, example: _Example, deployment: JobDeployment) -> None:
        self._number = number
        self._example = example
        self._attempt = deployment.attempt
        self._parallelism = {each.id: each.parallelism for each in plan.graph.vertices}
        self._sources = [each.id for each in plan.graph.vertices if plan.placements[each.id].is_source]
        self._splits: dict[int, tuple[Split, ...]] = {}
        self._records = 0
        assert deployment.control is not None
        called = call_driver(deployment.control, deployment.credentials)
        folder = f"/tmp/spark-worker/app-20260101000000-0000/{number}/slot"
        host, port = f"worker-{number // _SLOTS_PER_HOST}.cluster.example", 40_000 + number % _SLOTS_PER_HOST
        send_message(called, Born(SlotAddress(number, host, port, f"{folder}/s", os.getpid(), folder)))
        self.connection = Connection(called)

    def say(self, message: Any) -> None:
        self.connection.send(MESSAGE, encode(message))

    def obey(self, message: Any) -> None:
        if isinstance(message, Begin):
            self.say(Ready())
        elif isinstance(message, ReadCommands):
            for command in message.commands:
                self._splits[command.vertex_id] = (*self._splits.get(command.vertex_id, ()), *command.splits)
        elif isinstance(message, TakeCheckpoint):
            for vertex_id in self._sources:
                self.say(Cut(message.command.checkpoint_id, vertex_id, self._number, self._reading(vertex_id)))
            self.say(Captured(message.command.checkpoint_id))
            self.say(self._ack(message.command))
        elif isinstance(message, Finish):
            self.say(Finished())

    def report(self) -> None:
        self._records += 1000
        self.say(Reports(tuple(map(self._standing, self._example.reports))))

    def _standing(self, example: SubtaskReport) -> SubtaskReport:
        reading = None if example.reading is None else self._reading(example.vertex_id)
        watermark = int(time.time() * 1000)
        return replace(example, subtask=self._number, records_in=self._records, watermark=watermark, reading=reading)

    def _reading(self, vertex_id: int) -> ReadReport:
        splits = self._splits.get(vertex_id, ())
        rests = tuple(replace(each, payload=self._records) for each in splits)
        watermark = int(time.time() * 1000)
        return ReadReport((), (self._records,) * len(splits), watermark, False, 1000, rests, bool(splits))

    def _ack(self, command: CheckpointCommand) -> SnapshotAck:
        written = self._example.written
        alignments = tuple(
            AlignmentStatistics(each.vertex_id, self._number, 2.0, 1.0, 10_000) for each in self._example.reports
        )
        return SnapshotAck(
            command.checkpoint_id,
            self._number,
            tuple(map(self._handle, written.handles)),
            stall_ms=_STALL_MS,
            write_ms=_WRITE_MS,
            new_bytes=written.new_bytes,
            folder=command.folder,
            states=written.states,
            alignments=alignments,
        )

    def _handle(self, example: SnapshotHandle) -> SnapshotHandle:
        vertex_id = int(example.path.partition("-")[0])
        path = f"{vertex_id}-{self._number}-{self._attempt}"
        return replace(example, subtask=self._number, parallelism=self._parallelism[vertex_id], path=path)


def run_slots(numbers: range, deployment: JobDeployment) -> None:
    """Runs slots until the driver closes their connections."""
    plan = unpack(deployment)
    example = _Example(plan, deployment)
    slots: dict[int, _Slot] = {}
    poll = select.poll()
    # When each of them reports next; as slots that started one after the other, they do not all report at once.
    due: list[tuple[float, int]] = []
    with contextlib.suppress(ConnectionError):  # the driver has given up
        for number in numbers:
            slot = _Slot(number, plan, example, deployment)
            slots[slot.connection.fileno()] = slot
            poll.register(slot.connection.fileno(), select.POLLIN)
            due.append((time.monotonic() + _REPORT_S, slot.connection.fileno()))
    running: set[int] = set()
    while slots:
        now = time.monotonic()
        while due and due[0][0] <= now:
            at, descriptor = heapq.heappop(due)
            if descriptor in slots:
                heapq.heappush(due, (max(now, at + _REPORT_S), descriptor))
                if descriptor in running:
                    slots[descriptor].report()
                    _flush(slots[descriptor], poll)
        for descriptor, _ in poll.poll(max(0.0, due[0][0] - now) * 1000):
            slot = slots[descriptor]
            try:
                for packet in slot.connection.receive():
                    slot.obey(decode(packet.payload))
                    running.add(descriptor)
                _flush(slot, poll)
            except OSError:
                poll.unregister(descriptor)
                slots.pop(descriptor).connection.close()


def _flush(slot: _Slot, poll: select.poll) -> None:
    with contextlib.suppress(OSError):  # the reader of the connection notices
        is_sent = slot.connection.flush()
        poll.modify(slot.connection.fileno(), select.POLLIN if is_sent else select.POLLIN | select.POLLOUT)
