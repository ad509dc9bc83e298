"""Calls to a slot from anywhere in the cluster; neither side reads a word before the other has proven who it is."""

from __future__ import annotations

import contextlib
import pickle
import socket
from typing import TYPE_CHECKING, Any

from funke.engine.config.log_levels import LogLevels
from funke.engine.runtime.blocks.frames import FrameSocket
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack
from funke.engine.runtime.monitoring.thread_dump import DumpCommand, ThreadStack
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.peers import connect_to_own, prepare_for_hosts, prove_to_listener

if TYPE_CHECKING:
    from funke.engine.trust.tls import TlsSettings

__all__ = ["change_log_levels", "connect", "dump_threads", "reach_host", "sample"]

# How long a slot may take to answer a handshake: it may have been started only just now, with many others.
_HANDSHAKE_S = 60.0
# How long another host may take to answer at all.
_REACH_S = 30.0
# How much later than they should samples may come: a machine may have more to do than to look at itself.
_SAMPLES_LATE_S = 30.0


def connect(
    address: SlotAddress, credentials: Credentials, command: Any, timeout_s: float | None = None
) -> FrameSocket:
    """Opens a conversation with a slot."""
    handshake_s = _HANDSHAKE_S if timeout_s is None else timeout_s
    connection = _reach(address, credentials.tls, handshake_s)
    try:
        connection.settimeout(handshake_s)
        prove_to_listener(connection, credentials.secret)
        connection.settimeout(timeout_s)
        frames = FrameSocket(connection)
        frames.send_message(pickle.dumps(command, 5))
    except BaseException:
        connection.close()
        raise
    return frames


def sample(address: SlotAddress, credentials: Credentials, command: SampleCommand) -> tuple[SampledStack, ...]:
    """What a slot does, seen so many times; takes as long as that takes."""
    limit_s = command.samples * command.delay_ms / 1000 + _SAMPLES_LATE_S
    with contextlib.closing(connect(address, credentials, command, limit_s)) as slot:
        stacks: tuple[SampledStack, ...] = pickle.loads(slot.receive_message())
        return stacks


def dump_threads(address: SlotAddress, credentials: Credentials) -> tuple[ThreadStack, ...]:
    """What the threads of a slot do."""
    with contextlib.closing(connect(address, credentials, DumpCommand(), _HANDSHAKE_S)) as slot:
        stacks: tuple[ThreadStack, ...] = pickle.loads(slot.receive_message())
        return stacks


def change_log_levels(address: SlotAddress, credentials: Credentials, levels: LogLevels) -> None:
    """Has a slot log from other levels on; waits until it does."""
    with contextlib.closing(connect(address, credentials, levels, _HANDSHAKE_S)) as slot:
        slot.receive()


def _reach(address: SlotAddress, tls: TlsSettings | None, handshake_s: float) -> socket.socket:
    try:
        return connect_to_own(address.path, _HANDSHAKE_S)
    except OSError:
        if address.port is None:
            raise
    # On another host, where the path leads nowhere, or to another user's socket.
    return reach_host(address.host, address.port, tls, handshake_s)


def reach_host(host: str, port: int, tls: TlsSettings | None, handshake_s: float) -> socket.socket:
    """A connection to another host, under TLS if that is on; who is there must still prove that it is of the job."""
    connection = socket.create_connection((host, port), _REACH_S)
    try:
        prepare_for_hosts(connection)
        connection.settimeout(handshake_s)
        if tls is not None:
            connection = wrapped = tls.wrap(connection, is_caller=True)
            wrapped.do_handshake()
    except BaseException:
        connection.close()
        raise
    return connection
