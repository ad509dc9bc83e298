"""Where slots and their driver listen, and under which address other hosts reach them: the one that Spark uses."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.errors import ConfigurationError

__all__ = [
    "LOOPBACK",
    "HostAddress",
    "SlotAddress",
    "executor_address",
    "is_loopback",
    "is_own",
    "listen_for_hosts",
    "require_reachable",
]

# What Spark starts its executors with, on every kind of cluster.
_HOST_ARGUMENT, _BIND_ARGUMENT = "--hostname", "--bind-address"


@dataclass(frozen=True)
class SlotAddress:
    """Where a slot listens: a Unix socket for tasks on the same host, TCP for the others if there are any.

    The process is that of the slot's watcher, which ends with the slot, and the slot with it.
    """

    slot: int
    host: str
    port: int | None
    path: str
    pid: int
    executor: str


@dataclass(frozen=True)
class HostAddress:
    """A Spark process: the name or address by which others reach it, and the one at which it listens."""

    host: str
    bind_host: str


LOOPBACK = HostAddress("127.0.0.1", "127.0.0.1")


def executor_address(executor_pid: int) -> HostAddress:
    """The address of Spark's executor, which is on its command line; outside of one, what the environment says."""
    host = os.environ.get("SPARK_LOCAL_IP") or os.environ.get("SPARK_LOCAL_HOSTNAME") or LOOPBACK.host
    with contextlib.suppress(OSError), open(f"/proc/{executor_pid}/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "replace").split("\0")
        host = _after(_HOST_ARGUMENT, words) or host
        return HostAddress(host, _after(_BIND_ARGUMENT, words) or host)
    return HostAddress(host, host)


def _after(name: str, words: list[str]) -> str | None:
    return words[words.index(name) + 1] if name in words[:-1] else None


def listen_for_hosts(address: HostAddress, ports: Sequence[int], backlog: int) -> socket.socket:
    """A socket that other hosts can call, on the first port that is free."""
    bind_host = address.bind_host.strip("[]")
    family = socket.AF_INET6 if ":" in bind_host else socket.AF_INET
    for port in ports:
        try:
            return socket.create_server((bind_host, port), family=family, backlog=backlog)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f"host '{socket.gethostname()}' cannot listen at '{bind_host}', the address that Spark uses there: "
                    f"{error}; set spark.driver.bindAddress for the driver, SPARK_LOCAL_IP for a worker"
                ) from error
    raise ConfigurationError(
        f"host '{socket.gethostname()}' has no free port among {ports[0]}-{ports[-1]}; every slot and every driver "
        "needs one of its own (taskmanager.rpc.port, high-availability.jobmanager.port)"
    )


def require_reachable(own: HostAddress, driver_host: str) -> None:
    """Raises ConfigurationError if an executor has an address that means something else to the driver's host."""
    if is_loopback(own.host) and not is_own(driver_host):
        raise ConfigurationError(
            f"Spark's executor on host '{socket.gethostname()}' has the address {own.host}, which other hosts cannot "
            f"reach, and the driver is at '{driver_host}'; start Spark's worker there with --host, or SPARK_LOCAL_IP "
            "set to an address of its network"
        )


def is_loopback(host: str) -> bool:
    """Whether a name or address leads back to the host that uses it."""
    with contextlib.suppress(OSError, ValueError):
        return ipaddress.ip_address(_resolved(host)).is_loopback
    return False


def is_own(host: str) -> bool:
    """Whether a name or address is one of this host."""
    try:
        resolved = _resolved(host)
        with socket.socket(socket.AF_INET6 if ":" in resolved else socket.AF_INET) as probe:
            probe.bind((resolved, 0))
            return True
    except OSError:
        return False


def _resolved(host: str) -> str:
    return str(socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)[0][4][0])
