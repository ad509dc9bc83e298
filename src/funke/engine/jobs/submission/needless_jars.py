"""Jars that programs name because Flink needs them, and that nothing here reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from funke.engine.jobs.notices import notice

__all__ = ["without_needless"]

# What the jars are for, by the start of their names: Flink connectors and formats that work here without Java.
_OURS = {
    "Kafka": r"flink-(sql-)?connector-kafka|kafka-clients",
    "the database": r"flink-(sql-)?connector-(jdbc|postgres-cdc|mysql-cdc)",
    "the format": r"flink-(sql-)?(avro|avro-confluent-registry|json|csv|parquet|orc)",
    "the file system": r"flink-connector-files",
}
# Spark itself may read a database with these: they are left out where they are missing only.
_DRIVERS = r"postgresql|mysql-connector|mariadb-java-client|sqlite-jdbc"


def without_needless(jars: Iterable[str]) -> tuple[str, ...]:
    """The jars that Spark is given; those that stand for something built in may be missing, and a line says so.

    >>> without_needless(["file:///lib/own.jar"])
    ('file:///lib/own.jar',)
    """
    kept = []
    for jar in jars:
        subject = _subject_of(jar)
        if subject:
            name = _name_of(jar)
            notice(f"note: {name} is not needed: {subject} is read and written without Java")
        else:
            kept.append(jar)
    return tuple(kept)


def _subject_of(jar: str) -> str:
    """What is here without the jar; nothing if the jar is needed, or may be."""
    name = _name_of(jar)
    for subject, pattern in _OURS.items():
        if re.match(rf"({pattern})[-_.].*\.jar$", name):
            return subject
    is_driver = re.match(rf"({_DRIVERS})[-_.].*\.jar$", name)
    return "the database" if is_driver and not _is_there(jar) else ""


def _name_of(jar: str) -> str:
    """The last part of a path or URL, also of Windows.

    >>> _name_of("file:///C:/lib/a.jar"), _name_of("C:\\\\lib\\\\a.jar")
    ('a.jar', 'a.jar')
    """
    return re.split(r"[\\/]", jar.rstrip("/"))[-1]


def _is_there(jar: str) -> bool:
    parts = urlsplit(jar)
    # The scheme of `C:\lib\a.jar` is the letter of a drive.
    if len(parts.scheme) == 1:
        return Path(jar).exists()
    return parts.scheme not in ("", "file") or Path(unquote(parts.path)).exists()
