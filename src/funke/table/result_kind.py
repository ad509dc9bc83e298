"""What kind of result a statement has."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """Whether a statement only succeeded (CREATE, USE …) or gave rows (SELECT, SHOW …).

    >>> from funke.table import EnvironmentSettings, ResultKind, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> created, shown = t_env.execute_sql("CREATE DATABASE shop"), t_env.execute_sql("SHOW DATABASES")
    >>> created.get_result_kind() == ResultKind.SUCCESS, shown.get_result_kind() == ResultKind.SUCCESS_WITH_CONTENT
    (True, True)
    """

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
