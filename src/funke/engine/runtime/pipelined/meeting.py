"""How driver and slots of a streaming job find each other, and prove who they are before they read a word."""

from __future__ import annotations

import pickle
import socket
from dataclasses import dataclass
from typing import Any

from funke.engine.runtime.blocks.block_codec import encode
from funke.engine.runtime.pipelined.connection import MESSAGE, head_of, size_of
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.runtime.slots.slot_calls import connect, reach_host
from funke.engine.runtime.slots.worker_setup import ControlAddress
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.peers import connect_to_own, prove_to_listener

__all__ = ["MEETING_S", "PeerCall", "call_driver", "call_slot", "receive_message", "send_message"]

# How long a slot may take to connect, or to send its next message.
MEETING_S = 60.0


@dataclass(frozen=True)
class PeerCall:
    """A slot calls another one, to exchange blocks."""

    slot: int


def call_driver(control: ControlAddress, credentials: Credentials) -> socket.socket:
    """A slot's connection to the driver."""
    if control.path is not None:
        connection = connect_to_own(control.path, MEETING_S)
    else:
        connection = reach_host(control.host, control.port, credentials.tls, MEETING_S)
    prove_to_listener(connection, credentials.secret)
    return connection


def call_slot(address: SlotAddress, credentials: Credentials, caller: int) -> socket.socket:
    """A connection to another slot, which has said that it is ready for blocks."""
    frames = connect(address, credentials, PeerCall(caller), MEETING_S)
    connection = frames.connection
    _receive(connection, 1)
    return connection


def send_message(connection: socket.socket, message: Any) -> None:
    """Sends one message and waits until it is on its way."""
    payload = encode(message)
    connection.sendall(head_of(MESSAGE, len(payload)) + payload)


def receive_message(connection: socket.socket) -> Any:
    """Waits for one message, and reads nothing behind it."""
    return pickle.loads(_receive(connection, size_of(_receive(connection, len(head_of(MESSAGE, 0))))))


def _receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the other side closed the connection")
        data += more
    return bytes(data)
