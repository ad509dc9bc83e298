"""The process of a slot that streams: finds the driver and the other slots, then runs its loop."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
from typing import Any

from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.frames import FrameSocket
from funke.engine.runtime.pipelined.meeting import (
    MEETING_S,
    PeerCall,
    call_driver,
    call_slot,
    receive_message,
    send_message,
)
from funke.engine.runtime.pipelined.messages import Born
from funke.engine.runtime.pipelined.slot_loop import SlotLoop
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.runtime.slots.slot_host import SOCKET_NAME, SlotHost, SlotLaunch
from funke.engine.trust.peers import limit_silence

__all__ = ["ACCOMPANY", "StreamingHost"]

# What the Spark task that has started a slot, and stays with it, says to it.
ACCOMPANY = "accompany"


class StreamingHost(SlotHost[SlotLoop]):
    """Streams until the driver, a slot or Spark's task is gone."""

    def __init__(self, launch: SlotLaunch, watcher: socket.socket) -> None:
        super().__init__(launch, watcher)
        self._callers: queue.Queue[tuple[int, socket.socket]] = queue.Queue()

    def create_slot(self, plan: Plan) -> SlotLoop:
        return SlotLoop(self._launch.slot, plan, self._launch.deployment, self._folder)

    def on_call(self, command: Any, connection: socket.socket, frames: FrameSocket) -> None:
        if isinstance(command, PeerCall):
            connection.sendall(b"\0")
            self._callers.put((command.slot, connection))
        elif command == ACCOMPANY:
            with contextlib.suppress(OSError):
                connection.recv(1)
            self.end()

    def start(self) -> None:
        """Tells the driver that there is a slot, before it restores its state, which may take any time."""
        control = self._launch.deployment.control
        assert control is not None
        try:
            self._driver = call_driver(control, self._credentials)
            self._sockets.add(self._driver)
            limit_silence(self._driver, self._launch.deployment.heartbeat.timeout_ms)
            send_message(self._driver, Born(self._address()))
        except OSError:
            self.end()  # the driver does not wait for it any more
        super().start()

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # the driver, or another slot, is gone
            self._stream(self._driver)
        self._is_serving = False
        self.end()

    def _stream(self, driver: socket.socket) -> None:
        slot = self._slot
        if self._startup_failure is not None or slot is None:
            send_message(driver, self._startup_failure)
        else:
            driver.settimeout(None)
            slot.connect(self._meet(receive_message(driver).addresses))
            self._is_serving = True
            try:
                slot.run(driver)
            except OSError:
                raise
            except BaseException as error:
                slot.fail(error)
        driver.setblocking(True)
        driver.recv(1)  # until the driver has had enough

    def _address(self) -> SlotAddress:
        ports = [own.getsockname()[1] for own in self._listeners if own.family != socket.AF_UNIX]
        path = os.path.join(self._folder, SOCKET_NAME)
        return SlotAddress(
            self._launch.slot, self._launch.host, next(iter(ports), None), path, os.getppid(), os.getcwd()
        )

    def _meet(self, addresses: dict[int, SlotAddress]) -> dict[int, socket.socket]:
        """Connections with all other slots: those with lower numbers are called, the others call."""
        own = self._launch.slot
        peers = {slot: call_slot(address, self._credentials, own) for slot, address in addresses.items() if slot < own}
        while len(peers) < len(addresses) - 1:
            slot, connection = self._callers.get(timeout=MEETING_S)
            peers[slot] = connection
        for connection in peers.values():
            limit_silence(connection, self._launch.deployment.heartbeat.timeout_ms)
        self._sockets.update(peers.values())
        return peers
