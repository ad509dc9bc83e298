"""Reads the rows of a linked copy of a database, in this process or in one of its own.

A forked process must not use RocksDB: the threads and locks of its parent are not there. It starts a fresh process
instead, which reads the copy and writes its rows to a pipe.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import IO, Any

from funke.engine.errors import StateError

__all__ = ["main", "read_rows", "read_rows_elsewhere"]

_SIZES = struct.Struct("<II")
_PIPE_BYTES = 1 << 20


def read_rows(folder: str) -> Iterator[tuple[bytes, bytes]]:
    """All rows of a copy."""
    import rocksdict

    options = rocksdict.Options(raw_mode=True)
    database = rocksdict.Rdict(folder, options, access_type=rocksdict.AccessType.read_only(False))
    try:
        yield from database.items()
    finally:
        database.close()


def read_rows_elsewhere(folder: str) -> Iterator[tuple[bytes, bytes]]:
    """All rows of a copy, which another process reads."""
    command = [sys.executable, "-c", "from funke.engine.state.rocksdb.dump import main; main()", folder]
    paths = os.pathsep.join(path for path in sys.path if path)
    # It inherits the pipe to the slot: as long as that is open, the slot knows that somebody reads the copy.
    environment = {**os.environ, "PYTHONPATH": paths}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, close_fds=False)
    assert process.stdout is not None
    try:
        yield from _received(process.stdout)
    finally:
        process.stdout.close()
        status = process.wait()
    if status:
        raise StateError(f"the state in '{folder}' could not be read: the reading process ended with status {status}")


def _received(pipe: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    while head := pipe.read(_SIZES.size):
        row_size, value_size = _SIZES.unpack(head)
        yield pipe.read(row_size), pipe.read(value_size)


def main(arguments: list[str] | None = None, out: Any = None) -> None:
    """Writes the rows of a copy to standard output."""
    [folder] = arguments if arguments is not None else sys.argv[1:]
    if out is None:
        with open(sys.stdout.fileno(), "wb", _PIPE_BYTES, closefd=False) as pipe:
            main([folder], pipe)
        return
    pack_sizes, write = _SIZES.pack, out.write
    for row, value in read_rows(folder):
        write(pack_sizes(len(row), len(value)) + row + value)
