"""A MariaDB server of the tests' own, on loopback: of the package that the distribution has."""

from __future__ import annotations

import contextlib
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

USER, PASSWORD, DATABASE = "funke", "a 'secret", "shop"
# Changes can be read from the log, whose files are short, so that one ends now and then.
_LOGGED = ("--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=0", "--max-binlog-size=256K")
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

        # The system's certificates take a tenth of a second, each time.
        login = {"user": USER, "password": PASSWORD, "database": DATABASE, "ssl_disabled": True}
        return pymysql.connect(host="127.0.0.1", port=self.port, **login)

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
    server = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/libexec")
    if server is None:
        raise ServerUnavailableError("no MariaDB for the tests of databases: tools/test-packages installs it")
    folder = Path(tempfile.mkdtemp(prefix="funke-mariadb-"))
    try:
        account = own_account(folder)
        _initialise(server, folder, account)
        with _started(server, folder, account) as started:
            yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    import pymysql

    port = free_port()
    start = folder / "start.sql"
    password = PASSWORD.replace("'", "''")
    start.write_text(
        f"CREATE DATABASE {DATABASE};\nCREATE USER {USER}@'%' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\n"
    )
    settings = {
        "datadir": folder / "data",
        "socket": folder / "socket",
        "bind-address": "127.0.0.1",
        "port": port,
        "init-file": start,
    }
    command = [server, "--no-defaults", *_LITTLE, *_LOGGED, *(f"--{name}={value}" for name, value in settings.items())]
    log = folder / "log"
    # Its data are thrown away: it need not write them down at its end.
    with started_server(command, log, account, signal.SIGKILL) as process:
        result = MariaDbServer(port)
        await_answer(lambda: result.rows("select 1"), pymysql.OperationalError, process, log, 60)
        yield result
