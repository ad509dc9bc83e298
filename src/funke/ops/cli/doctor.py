"""`funke doctor`: whether what jobs need is there: Java, Python, Spark, ports, storage, clocks."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import platform
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from funke.engine.config import rest_options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.ops.cli.properties import settings_with
from funke.ops.cli.terminal import is_looked_at, new_parser, print_json, show_table, waiting
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["Finding", "examine", "findings"]

_OLDEST_JAVA = 17
_LEAST_DISK = 1 << 30
_MOST_SKEW_S = 2.0


@dataclass(frozen=True)
class Finding:
    """What was looked at, whether it is well, and what was found."""

    what: str
    is_well: bool
    found: str


def examine(arguments: list[str]) -> None:
    """Print what was found; an error when something is not as it should be."""
    parser = new_parser("doctor", "looks whether all that jobs need is there")
    options = parser.parse_args(arguments)
    with waiting("looking"):
        results = findings(settings_with(options.properties))
    if options.json:
        print_json([asdict(each) for each in results])
    elif is_looked_at():
        show_table(
            "", ("", "what", "found"), (("ok" if each.is_well else "FAIL", each.what, each.found) for each in results)
        )
    else:
        for each in results:
            print(f"{'ok  ' if each.is_well else 'FAIL'}  {each.what:<8} {each.found}")
    if not all(each.is_well for each in results):
        raise ConfigurationError("not everything is as it should be")


def findings(settings: Settings) -> list[Finding]:
    """Everything that was looked at."""
    looks: dict[str, Callable[[], tuple[bool, str]]] = {
        "python": _python,
        "java": _java,
        "spark": _spark,
        "port": lambda: _port(settings),
        "storage": lambda: _storage(home_folder(settings)),
        "disk": lambda: _disk(home_folder(settings)),
        "clock": lambda: _clock(home_folder(settings)),
        "host": _host,
    }
    results = []
    for what, look in looks.items():
        try:
            results.append(Finding(what, *look()))
        except (OSError, ConfigurationError, subprocess.SubprocessError) as error:
            results.append(Finding(what, False, str(error)))
    return results


def _python() -> tuple[bool, str]:
    return sys.version_info >= (3, 11), f"{platform.python_version()} ({sys.executable})"


def _java() -> tuple[bool, str]:
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not program:
        return False, f"there is no Java: install version {_OLDEST_JAVA} or newer, or set JAVA_HOME"
    said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    version = re.search(r'version "(\d+)', said)
    number = int(version[1]) if version else 0
    wish = "" if number >= _OLDEST_JAVA else f"; Spark needs {_OLDEST_JAVA} or newer"
    return number >= _OLDEST_JAVA, f"{number} ({program}){wish}"


def _spark() -> tuple[bool, str]:
    try:
        return True, f"PySpark {importlib.metadata.version('pyspark')}"
    except importlib.metadata.PackageNotFoundError:
        return False, "PySpark is not installed"


def _port(settings: Settings) -> tuple[bool, str]:
    address = ServiceFolder(home_folder(settings)).address()
    if address is not None:
        return True, f"the service runs at {address.url} (process {address.pid})"
    port, host = settings.get(rest_options.REST_PORT), settings.get(rest_options.REST_BIND_ADDRESS)
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            return False, f"{port} on {host}: {error.strerror}; choose another with -Drest.port="
    return True, f"{port} on {host} is free for the service"


def _storage(home: str) -> tuple[bool, str]:
    """Job records in a folder need locks and hard links."""
    if not (store := store_of(home)).has_locks:
        number = join_path(home, f".doctor-{secrets.token_hex(8)}")
        is_first, is_second = (store.claim(number, {}) is not None for _ in range(2))
        store.remove(number)
        return is_first and not is_second, f"{home} creates files {'once' if not is_second else 'more than once'}"
    folder = _existing(home)
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as trial:
        path = os.path.join(trial, "a")
        with open(path, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.link(path, os.path.join(trial, "b"))
    return True, f"{home} takes locks and links"


def _disk(home: str) -> tuple[bool, str]:
    own = ServiceFolder(home).local_home
    free = {folder: shutil.disk_usage(folder).free for folder in (_existing(own), tempfile.gettempdir())}
    text = ", ".join(f"{size / (1 << 30):.1f} GB free in {folder}" for folder, size in free.items())
    return min(free.values()) >= _LEAST_DISK, text


def _clock(home: str) -> tuple[bool, str]:
    """Those who look at a lease for the first time go by the clock of the file system."""
    if not store_of(home).has_locks:
        return True, "no clock of the store of job records counts"
    with tempfile.TemporaryFile(prefix=".doctor-", dir=_existing(home)) as file:
        file.write(b"x")
        file.flush()
        skew = abs(os.fstat(file.fileno()).st_mtime - time.time())
    return skew < _MOST_SKEW_S, f"{skew:.1f} s between this machine and the file system of job records"


def _host() -> tuple[bool, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    name = socket.gethostname()
    socket.getaddrinfo(name, None)
    return True, f"{name}, {os.cpu_count()} cores, {memory / (1 << 30):.1f} GB of memory"


def _existing(path: str) -> str:
    """The path, or the nearest folder above it that is there."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path
