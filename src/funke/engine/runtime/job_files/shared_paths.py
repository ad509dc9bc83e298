"""Paths that every host of a job must see: probed before the job runs, with a file that the driver lays there."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from funke.engine.errors import ConfigurationError
from funke.engine.trust.private_files import make_private_folders

__all__ = ["SharedPath", "described", "probed", "require_shared"]


@dataclass(frozen=True)
class SharedPath:
    """A local path of the driver; it must exist unless it is written to."""

    path: str
    # What it is, for messages.
    purpose: str
    is_written: bool = False
    # Whether it is made for the driver's user alone.
    is_private: bool = False
    # The file that the driver has laid there, in a folder that is written to.
    probe: str = ""
    # Whose path it is.
    host: str = ""
    user: str = ""


@contextlib.contextmanager
def probed(paths: Iterable[SharedPath]) -> Iterator[tuple[SharedPath, ...]]:
    """Lays the probes, which are there as long as the context is."""
    with contextlib.ExitStack() as removing:
        yield tuple(_probed(path, removing) for path in paths)


def described(shared: SharedPath) -> SharedPath:
    """The path with the host and the user that it belongs to."""
    return replace(shared, host=socket.gethostname(), user=_user())


def _probed(shared: SharedPath, removing: contextlib.ExitStack) -> SharedPath:
    of_driver = described(shared)
    if not shared.is_written:
        return of_driver
    probe = os.path.join(shared.path, f".funke-probe-{uuid.uuid4().hex}")
    try:
        if shared.is_private:
            make_private_folders(shared.path)
        os.makedirs(shared.path, exist_ok=True)
        with open(probe, "xb"):
            removing.callback(_remove, probe)
    except OSError as error:
        raise ConfigurationError(f"{shared.purpose} '{shared.path}' cannot be written: {error}") from error
    return replace(of_driver, probe=probe)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def require_shared(shared: SharedPath) -> None:
    """On a worker: raises ConfigurationError unless the path leads here to what it leads to on the driver's host."""
    here = f"{shared.purpose} '{shared.path}'"
    try:
        os.stat(shared.probe or shared.path)
        if shared.is_written:
            own = os.path.join(shared.path, f".funke-probe-{uuid.uuid4().hex}")
            with open(own, "xb"):
                _remove(own)
    except PermissionError as error:
        raise ConfigurationError(
            f"{here} may not be {'written' if shared.is_written else 'read'} by user '{_user()}', the user of Spark's "
            f"executor on host '{socket.gethostname()}'; the driver runs as '{shared.user}'. Let both run as one "
            "user, or use storage with an address of its own (hdfs://, s3://)"
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{here} is on host '{shared.host}', and host '{socket.gethostname()}' does not see it "
            f"({error.strerror or error}); use a folder that all hosts share, or storage with an address of its own "
            "(hdfs://, s3://)"
        ) from error


def _user() -> str:
    with contextlib.suppress(Exception):  # a user without a name
        return getpass.getuser()
    return str(os.geteuid())
