"""Reads the rows of linked copies of databases, in this process or in one of its own.

A forked process must not use RocksDB: the threads and locks of its parent are not there. It starts a fresh process
instead, one for all databases of its slot, which reads the copies and writes their rows to a pipe.
"""

from __future__ import annotations

import functools
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import IO, Any

from funke.engine.errors import StateError

__all__ = ["main", "read_rows", "read_rows_elsewhere"]

_SIZES = struct.Struct("<II")
# In place of sizes, after the last row of a copy.
_END = _SIZES.pack(0xFFFFFFFF, 0)
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
    yield from _reader_of(os.getpid()).rows(folder)


@functools.cache
def _reader_of(pid: int) -> _Reader:
    return _Reader()


class _Reader:
    """The process that reads for this one, and ends with it: 0.04 s of a processor for each that is started."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from funke.engine.state.rocksdb.dump import main; main()"]
        paths = os.pathsep.join(path for path in sys.path if path)
        # It inherits the pipe to the slot: as long as that is open, the slot knows that a copy is in use.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            close_fds=False,
        )

    def rows(self, folder: str) -> Iterator[tuple[bytes, bytes]]:
        """All rows of a copy; a caller that does not want the rest ends the process."""
        process, is_complete = self._process, False
        assert process.stdin is not None and process.stdout is not None
        try:
            name = os.fsencode(folder)
            process.stdin.write(_SIZES.pack(len(name), 0) + name)
            process.stdin.flush()
            yield from _received(process.stdout)
            is_complete = True
        except (OSError, EOFError):
            raise StateError(
                f"the state in '{folder}' could not be read: the reading process ended with status {process.wait()}"
            ) from None
        finally:
            if not is_complete:
                _reader_of.cache_clear()
                process.kill()
                process.wait()


def _received(pipe: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    while (head := pipe.read(_SIZES.size)) != _END:
        if len(head) < _SIZES.size:
            raise EOFError
        row_size, value_size = _SIZES.unpack(head)
        yield pipe.read(row_size), pipe.read(value_size)


def main(asked: Any = None, out: Any = None) -> None:
    """Writes the rows of copies to standard output, as long as folders arrive on standard input."""
    asked = asked if asked is not None else sys.stdin.buffer
    if out is None:
        with open(sys.stdout.fileno(), "wb", _PIPE_BYTES, closefd=False) as pipe:
            main(asked, pipe)
        return
    pack_sizes, write = _SIZES.pack, out.write
    while head := asked.read(_SIZES.size):
        folder = os.fsdecode(asked.read(_SIZES.unpack(head)[0]))
        for row, value in read_rows(folder):
            write(pack_sizes(len(row), len(value)) + row + value)
        write(_END)
        out.flush()
