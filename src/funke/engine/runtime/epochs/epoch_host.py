"""The process of a slot in epochs: takes deliveries one after the other, and answers a repeated one again."""

from __future__ import annotations

import os
import pickle
import queue
import socket
import time
from collections.abc import Iterator
from typing import Any

from funke.engine.operators.turn import turn
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.block_codec import decode
from funke.engine.runtime.blocks.frames import RESULT, Frame, FrameSocket
from funke.engine.runtime.epochs.results import Failure, to_failure
from funke.engine.runtime.slots.slot import Delivery, Slot
from funke.engine.runtime.slots.slot_host import SlotHost, SlotLaunch
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointNotifications
from funke.engine.types.operator_location import NOWHERE

__all__ = ["EpochHost"]

# Outputs kept for a delivery that Spark repeats; beyond this a repetition fails the attempt instead.
_MOST_KEPT_BYTES = 64 << 20


class EpochHost(SlotHost[Slot]):
    """Serves delivery tasks."""

    def __init__(self, launch: SlotLaunch, watcher: socket.socket) -> None:
        super().__init__(launch, watcher)
        self._work: queue.Queue[tuple[FrameSocket, Any]] = queue.Queue()
        self._is_broken = False
        # The last level that was run, and what came of its deliveries (None when that was too much to keep).
        self._last: tuple[int, int] = (0, 0)
        self._kept: dict[int | None, list[Frame] | None] = {}
        # Embedded Spark repeats no task.
        self._most_kept_bytes = _MOST_KEPT_BYTES if launch.deployment.driver_host is None else 0

    def create_slot(self, plan: Plan) -> Slot:
        return Slot(self._launch.slot, plan, self._launch.deployment, self._folder)

    def on_call(self, command: Any, connection: socket.socket, frames: FrameSocket) -> None:
        self._work.put((frames, command))

    def serve(self) -> None:
        """Takes one delivery after the other."""
        while True:
            connection, command = self._work.get()
            self._is_serving = True
            try:
                if isinstance(command, CheckpointNotifications):
                    self._tell(connection, command)
                else:
                    self._deliver(connection, command)
            except (ConnectionError, OSError):
                self._is_broken = True  # half an epoch went in: only a new attempt can help
            finally:
                if self._is_fork:  # a function forked, and the child did not end with it
                    os._exit(1)
                turn.cell[0] = 0
                self._last_call = time.monotonic()
                self._is_serving = False
                connection.close()

    def _deliver(self, connection: FrameSocket, delivery: Delivery) -> None:
        rejection = self._startup_failure or (_BROKEN if self._is_broken else None)
        if rejection is None and delivery.step > self._last:
            self._last, self._kept = delivery.step, {}
        elif rejection is None and (delivery.step < self._last or delivery.vertex_id in self._kept):
            kept = self._kept.get(delivery.vertex_id) if delivery.step == self._last else None
            if kept is not None:
                self._answer(connection, kept)
                return
            rejection = _REPEATED  # running it again would count its records twice
        if rejection is not None or self._slot is None:
            self._answer(connection, [Frame(0, RESULT, 0, pickle.dumps(rejection, 5))])
            return
        self._kept[delivery.vertex_id] = None
        self._run(self._slot, connection, delivery)

    def _run(self, slot: Slot, connection: FrameSocket, delivery: Delivery) -> None:
        kept: list[Frame] = []
        left = self._most_kept_bytes

        def send(frame: Frame) -> None:
            nonlocal left
            left -= len(frame.payload)
            if left >= 0:
                kept.append(frame)
            connection.send(frame)

        try:
            commands = decode(delivery.commands) if delivery.commands else ()
            slot.run_level(delivery.header, delivery.level, _frames(connection), send, commands)
        except (ConnectionError, OSError):
            raise
        except Exception:
            self._is_broken = True
        if left >= 0 and not self._is_broken:
            self._kept[delivery.vertex_id] = kept
        self._send_end(connection)

    def _tell(self, connection: FrameSocket, notifications: CheckpointNotifications) -> None:
        """Between two epochs: takes notifications about checkpoints, and answers with what is known about snapshots."""
        slot, rejection = self._slot, self._startup_failure or (_BROKEN if self._is_broken else None)
        answers: list[Frame] = []
        if rejection is None and slot is not None:
            try:
                slot.learn(notifications)
                slot.send_acks(answers.append)
            except Exception as error:
                self._is_broken = True
                rejection = to_failure(error)
        if rejection is not None:
            answers = [Frame(0, RESULT, 0, pickle.dumps(rejection, 5))]
        self._answer(connection, answers)

    def _answer(self, connection: FrameSocket, answers: list[Frame]) -> None:
        """Sends frames that do not depend on what is delivered; that is read to its end all the same."""
        for _ in _frames(connection):
            pass
        for frame in answers:
            connection.send(frame)
        self._send_end(connection)

    def _send_end(self, connection: FrameSocket) -> None:
        # Before: the driver may end the slot after the answer, which closes functions only if none is running.
        self._is_serving = False
        connection.send_end()


def _lost(message: str) -> Failure:
    return Failure(NOWHERE, "SlotLostError", message, "", is_slot_lost=True)


_BROKEN = _lost("an earlier delivery to this slot broke off")
_REPEATED = _lost("Spark repeated a delivery that this slot cannot answer again")


def _frames(connection: FrameSocket) -> Iterator[Frame]:
    while (frame := connection.receive()) is not None:
        yield frame
