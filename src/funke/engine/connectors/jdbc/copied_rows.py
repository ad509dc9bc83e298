"""Takes the rows of a COPY straight from libpq: psycopg's own loop takes several times as long for each."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import Any

__all__ = ["copied_rows"]


def copied_rows(connection: Any, statement: str, least_bytes: int) -> Iterator[bytes]:
    """Yields rows together, about so many bytes at a time. A connection that is left in the middle is closed."""
    from psycopg.pq import ExecStatus

    libpq = connection.pgconn
    is_whole = False
    try:
        libpq.send_query(statement.encode())
        while libpq.flush():
            select.select([], [libpq.socket], [])
        while libpq.is_busy():
            _wait(libpq)
        started = libpq.get_result()
        if started.status == ExecStatus.COPY_OUT:
            yield from _rows(libpq, least_bytes)
        is_whole = True
        _check(connection, started)
    finally:
        if not is_whole:
            connection.close()


def _rows(libpq: Any, least_bytes: int) -> Iterator[bytes]:
    get = libpq.get_copy_data
    rows: list[Any] = []
    size = 0
    while True:
        length, row = get(1)
        if length > 0:
            rows.append(row)
            size += length
            if size >= least_bytes:
                yield b"".join(rows)
                rows, size = [], 0
        elif length < 0:
            break
        else:
            _wait(libpq)
    if rows:
        yield b"".join(rows)


def _wait(libpq: Any) -> None:
    select.select([libpq.socket], [], [])
    libpq.consume_input()


def _check(connection: Any, started: Any) -> None:
    """Reads the server's final answer; raises if COPY failed."""
    from psycopg.errors import error_from_result
    from psycopg.pq import ExecStatus

    results = [started]
    while (result := connection.pgconn.get_result()) is not None:
        results.append(result)
    for each in results:
        if each.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(each, "utf-8")
