"""Where slots listen for other hosts, and addresses that other hosts cannot reach."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.runtime.slots.slot_address import (
    LOOPBACK,
    HostAddress,
    executor_address,
    is_own,
    listen_for_hosts,
    require_reachable,
)
from funke.engine.runtime.spark.spark_session import spark_context


@pytest.fixture
def executor() -> Iterator[int]:
    """A process with the command line of an executor in a container."""
    arguments = ["--executor-id", "1", "--bind-address", "0.0.0.0", "--hostname", "10.1.2.3", "--cores", "2"]
    command = [sys.executable, "-c", "print(flush=True); input()", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # just after the fork it has no command line yet
        yield process.pid
        process.communicate(b"\n")


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_an_executor_has_the_address_that_spark_gave_it(executor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    assert executor_address(executor) == HostAddress("10.1.2.3", "0.0.0.0")


def test_outside_of_an_executor_the_environment_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_HOSTNAME", raising=False)
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.9.9.9")
    assert executor_address(0) == HostAddress("10.9.9.9", "10.9.9.9")
    monkeypatch.delenv("SPARK_LOCAL_IP")
    assert executor_address(0) == LOOPBACK


def test_the_first_free_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied, socket.create_server(("127.0.0.1", 0)) as other:
        port, free = occupied.getsockname()[1], other.getsockname()[1]
        other.close()
        with listen_for_hosts(LOOPBACK, (port, free), 1) as listener:
            assert listener.getsockname()[1] == free
        with pytest.raises(ConfigurationError, match=f"no free port among {port}-{port}"):
            listen_for_hosts(LOOPBACK, (port,), 1)


def test_an_address_of_another_host_cannot_be_listened_at() -> None:
    with pytest.raises(ConfigurationError, match=r"cannot listen at '192\.0\.2\.1', the address that Spark uses"):
        listen_for_hosts(HostAddress("192.0.2.1", "192.0.2.1"), (0,), 1)


def test_loopback_is_rejected_when_the_driver_is_elsewhere() -> None:
    require_reachable(LOOPBACK, "127.0.0.1")
    require_reachable(HostAddress("192.0.2.2", "192.0.2.2"), "192.0.2.1")
    with pytest.raises(ConfigurationError, match=r"has the address 127\.0\.0\.1, which other hosts cannot reach"):
        require_reachable(LOOPBACK, "192.0.2.1")
    assert not is_own("192.0.2.1") and is_own("127.0.0.1")


def test_a_driver_on_loopback_is_rejected_by_a_cluster_elsewhere() -> None:
    options = {"spark.master": "spark://192.0.2.1:7077", "spark.driver.host": "127.0.0.1"}
    with pytest.raises(ConfigurationError, match=r"resolves to another host for the executors on 192\.0\.2\.1:7077"):
        spark_context(options)
