"""The dialects of SQL that Flink knows."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """Flink's own SQL, or Hive's.

    >>> from funke.table import EnvironmentSettings, SqlDialect, TableEnvironment
    >>> config = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_config()
    >>> config.get_sql_dialect() == SqlDialect.DEFAULT
    True
    """

    DEFAULT = 0
    HIVE = 1
