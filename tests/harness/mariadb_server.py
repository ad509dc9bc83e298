"""A MariaDB server of the tests' own, on loopback: of the package that the distribution has, installed if it may be."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.postgres_server import _end_with_parent

USER, PASSWORD, DATABASE = "funke", "a 'secret", "shop"
# The server alone, without a service that the system would start.
_PACKAGE = "mariadb-server-core"
# Its data are little, and thrown away.
_LITTLE = (
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-flush-method=nosync",
)


class ServerUnavailableError(Exception):
    """No server can be started here; says why in one line."""


@dataclass(frozen=True)
class MariaDbServer:
    """Where the server listens."""

    port: int

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{DATABASE}"

    def connect(self) -> Any:
        """A connection of PyMySQL's."""
        import pymysql

        return pymysql.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, database=DATABASE)

    def run(self, *statements: str) -> None:
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def rows(self, query: str) -> list[Any]:
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


@contextlib.contextmanager
def running_mariadb() -> Iterator[MariaDbServer]:
    """Starts a server with a new, empty database, and ends it."""
    server = _find() or _installed()
    folder = Path(tempfile.mkdtemp(prefix="funke-mariadb-"))
    try:
        account = _account(folder)
        _initialise(server, folder, account)
        with _started(server, folder, account) as found:
            yield found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find() -> str | None:
    return shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/libexec")


def _installed() -> str:
    apt, root = shutil.which("apt-get"), [] if os.geteuid() == 0 else ["sudo", "-n"]
    if apt is None or (root and shutil.which("sudo") is None):
        raise ServerUnavailableError(f"no MariaDB for the tests of databases: install {_PACKAGE}")
    environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", _PACKAGE]):
        done = subprocess.run([*root, *environment, apt, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            told = done.stderr.strip().splitlines()[-1:]
            raise ServerUnavailableError(f"no MariaDB for the tests of databases, apt-get install {_PACKAGE}: {told}")
    found = _find()
    assert found is not None
    return found


def _account(folder: Path) -> dict[str, Any]:
    """MariaDB refuses to run as root: then it runs as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _initialise(server: str, folder: Path, account: dict[str, Any]) -> None:
    """Makes the tables of privileges, which are all that a server needs of its own."""
    (folder / "data" / "mysql").mkdir(parents=True)
    if account:
        for each in (folder / "data", folder / "data" / "mysql"):
            os.chown(each, account["user"], account["group"])
    statements = next(
        each / "mysql_system_tables.sql"
        for each in (Path(server).resolve().parents[1] / "share" / name for name in ("mysql", "mariadb"))
        if (each / "mysql_system_tables.sql").exists()
    )
    command = [server, "--no-defaults", "--bootstrap", f"--datadir={folder}/data", *_LITTLE]
    text = "use mysql;\n" + statements.read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd="/", check=False, **account)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def _started(server: str, folder: Path, account: dict[str, Any]) -> Iterator[MariaDbServer]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = folder / "start.sql"
    password = PASSWORD.replace("'", "''")
    start.write_text(
        f"CREATE DATABASE {DATABASE};\nCREATE USER {USER}@'%' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON *.* TO {USER}@'%';\n"
    )
    settings = {
        "datadir": folder / "data",
        "socket": folder / "socket",
        "bind-address": "127.0.0.1",
        "port": port,
        "init-file": start,
    }
    command = [server, "--no-defaults", *_LITTLE, *(f"--{name}={value}" for name, value in settings.items())]
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
        found = MariaDbServer(port)
        _wait(found, process, folder / "log")
        yield found
    finally:
        # Its data are thrown away: it need not write them down.
        process.send_signal(signal.SIGKILL)
        process.wait(20)


def _wait(server: MariaDbServer, process: subprocess.Popen[bytes], log: Path) -> None:
    import pymysql

    end = time.monotonic() + 60
    while True:
        try:
            server.rows("select 1")
            return
        except pymysql.OperationalError:
            assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
            time.sleep(0.05)
