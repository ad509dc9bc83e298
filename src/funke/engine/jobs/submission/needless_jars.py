"""Jars that a program names because Flink needs them, and that nothing here reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from funke.engine.jobs.notices import notice

__all__ = ["without_needless"]

_KAFKA = re.compile(r"(flink-(sql-)?connector-kafka|kafka-clients)[-_.].*\.jar$")


def without_needless(jars: Iterable[str]) -> tuple[str, ...]:
    """The jars that Spark is given; those of Kafka's connector may be missing, and a line says that they may.

    >>> without_needless(["file:///lib/own.jar"])
    ('file:///lib/own.jar',)
    """
    kept = []
    for jar in jars:
        name = jar.rstrip("/").rpartition("/")[2]
        if _KAFKA.match(name):
            notice(f"note: {name} is not needed: Kafka is read and written without Java")
        else:
            kept.append(jar)
    return tuple(kept)
