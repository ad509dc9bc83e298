"""Where the interface is served: who is kept out, what must be said aloud, and how patient it is."""

from __future__ import annotations

import socket
import ssl
import time
from pathlib import Path

import httpx
import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.ops.rest import server as server_module
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.server import RestServer, RestSettings
from tests.harness.certificates import Authority


def settings(home: Path, **options: str) -> RestSettings:
    keys = {name.replace("__", "-").replace("_", "."): each for name, each in options.items()}
    return RestSettings.of(Settings(keys), str(home))


def test_only_this_machine_unless_it_is_asked_for(tmp_path: Path) -> None:
    here = settings(tmp_path)
    assert (here.host, here.ports, here.access.is_local) == ("127.0.0.1", (8081,), True)
    assert settings(tmp_path, rest_bind__port="8081-8083,9000").ports == (8081, 8082, 8083, 9000)
    for address in ("0.0.0.0", "192.168.1.1", "::", "host.example"):
        with pytest.raises(
            ConfigurationError,
            match=r"could read the commands to your jobs. Set security.ssl.rest.enabled",
        ):
            settings(tmp_path, rest_bind__address=address)
        with pytest.raises(ConfigurationError, match="could read the commands to your jobs"):
            settings(tmp_path, rest_bind__address=address, funke_rest_token="x")
        assert not settings(tmp_path, rest_bind__address=address, funke_rest_insecure="true").access.is_local
    with pytest.raises(ConfigurationError, match=r"security.ssl.rest.keystore is not set"):
        settings(tmp_path, rest_bind__address="0.0.0.0", security_ssl_rest_enabled="true")
    with pytest.raises(ConfigurationError, match="must be ports"):
        settings(tmp_path, rest_bind__port="all")


def test_a_token_is_needed_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    token = settings(tmp_path).access.token
    assert token is not None and len(token) == 43 and settings(tmp_path).access.token == token
    assert settings(tmp_path, funke_rest_token="mine").access.token == "mine"
    assert settings(tmp_path, funke_rest_insecure="true").access.token is None
    assert settings(tmp_path, funke_rest_insecure="true", funke_rest_token="mine").access.token == "mine"


def serve(tmp_path: Path, **options: str) -> RestServer:
    keys = settings(tmp_path, rest_bind__port="0", **options)
    return RestServer(make_app(Cluster(JobDirectory(str(tmp_path))), keys.access), keys).start()


def test_under_tls_with_a_token(tmp_path: Path) -> None:
    store = tmp_path / "store.pem"
    store.write_bytes(Authority().issue().to_pem())
    server = serve(
        tmp_path, security_ssl_rest_enabled="true", security_ssl_rest_keystore=str(store), funke_rest_token="t"
    )
    try:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        assert server.url.startswith("https://127.0.0.1:")
        assert httpx.get(f"{server.url}/jobs", verify=trusting).status_code == 401
        answer = httpx.get(f"{server.url}/jobs", verify=trusting, headers={"authorization": "Bearer t"})
        assert answer.json() == {"jobs": []}
    finally:
        server.close()


def test_who_takes_for_ever_is_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_HEAD_S", 1.0)
    server = serve(tmp_path)
    try:
        for begun in (b"", b"GET /jobs HTTP/1.1\r\nHost: localh"):
            with socket.create_connection(("127.0.0.1", server.port), 30) as caller:
                started = time.monotonic()
                caller.sendall(begun)
                assert caller.recv(100) == b"" and time.monotonic() - started < 25
        # Also after a request that was answered.
        with socket.create_connection(("127.0.0.1", server.port), 30) as caller:
            caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert caller.recv(10_000).startswith(b"HTTP/1.1 200")
            caller.sendall(b"GET /")
            while caller.recv(10_000):
                pass
        assert httpx.get(f"{server.url}/healthz").text == "ok"
    finally:
        server.close()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    message = r"cannot listen on 127.0.0.1, port \d+: Address already in use"
    with socket.create_server(("127.0.0.1", 0)) as occupied, pytest.raises(ConfigurationError, match=message):
        serve_at(tmp_path, occupied.getsockname()[1])


def serve_at(tmp_path: Path, port: int) -> RestServer:
    rest_settings = settings(tmp_path, rest_port=str(port))
    return RestServer(make_app(Cluster(JobDirectory(str(tmp_path))), rest_settings.access), rest_settings)
