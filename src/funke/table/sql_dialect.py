"""The dialects of SQL that Flink knows."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """Flink's own SQL, or Hive's."""

    DEFAULT = 0
    HIVE = 1
