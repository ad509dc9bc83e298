"""Paths that are written as `file:` URIs."""

from __future__ import annotations

import re

from funke.engine.errors import ConfigurationError

__all__ = ["without_file_scheme"]

_FILE_URI = re.compile(r"file:(?://(?P<host>[^/]*)(?=/|$))?", re.IGNORECASE)


def without_file_scheme(path: str) -> str | None:
    """The path in a `file:` URI; None for everything else.

    A URI that names another host is rejected, as Flink does: this machine's files are meant by none.

    >>> without_file_scheme("file:///tmp/a"), without_file_scheme("file:/tmp/a"), without_file_scheme("/tmp/a")
    ('/tmp/a', '/tmp/a', None)
    """
    matched = _FILE_URI.match(path)
    if matched is None:
        return None
    host = matched["host"] or ""
    if host.lower() not in ("", "localhost"):
        raise ConfigurationError(
            f"'{path}' names a file on the host '{host}', but file: URIs name files of this machine; "
            f"is a slash missing (file:///{host}{path[matched.end() :]})?"
        )
    return path[matched.end() :]
