"""The service that a command means is the one of its folder of jobs; who names an address gets that one or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError
from funke.ops.cli.job_commands import list_jobs
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceAddress, ServiceFolder


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ServiceClient:
    address = ServiceAddress(1, "here", "http://127.0.0.1:8081", 0)
    monkeypatch.setattr(ServiceFolder, "address", lambda self: address)
    return ServiceClient(ServiceFolder("jobs"))


@pytest.mark.parametrize(
    "address", [None, "localhost:8081", "127.0.0.1:8081", "localhost", "http://localhost:8081/", "[::1]:8081"]
)
def test_an_address_of_the_service(client: ServiceClient, address: str | None) -> None:
    assert client.require(address).pid == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("localhost:8082", "is at http://127.0.0.1:8081, not at localhost:8082"),
        ("elsewhere:8081", "not at elsewhere:8081"),
        ("yarn-cluster", "not at yarn-cluster"),
        ("localhost:many", "invalid address 'localhost:many'; expected host:port"),
    ],
)
def test_another_address(client: ServiceClient, address: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        client.require(address)


def test_commands_on_jobs_take_an_address_too(
    client: ServiceClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = f"-Dfunke.home={tmp_path}"
    list_jobs([home, "-m", "localhost:8081"])
    assert "No running jobs." in capsys.readouterr().out
    with pytest.raises(ConfigurationError, match="not at localhost:1"):
        list_jobs([home, "-m", "localhost:1"])
