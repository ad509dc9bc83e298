"""Expressions whose names and types are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.text_form import summary
from funke.table.expression import Expression
from funke.table.types import DataType

__all__ = ["ResolvedExpression", "DataType", "Expression"]


class ResolvedExpression(Expression[Any]):
    """An expression that has been checked: it knows its type and the types of its parts.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.catalog import ResolvedExpression
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql("CREATE TABLE orders (price INT, twice AS price * 2) WITH ('connector' = 'datagen')")
    >>> column = t_env.from_path("orders").get_resolved_schema().get_column("twice")
    >>> expression: ResolvedExpression = column.get_expression()
    >>> expression.as_serializable_string(), expression.get_output_data_type()
    ('`price` * 2', IntType(true))
    """

    def __init__(
        self,
        syntax: syntax.Expression,
        data_type: DataType,
        sql_text: str,
        children: Sequence[ResolvedExpression] = (),
        shown_text: str | None = None,
    ) -> None:
        super().__init__(syntax)
        self._data_type = data_type
        self._sql_text = sql_text
        self._children = tuple(children)
        self._shown_text = shown_text

    def get_output_data_type(self) -> DataType:
        """Return the type of the value."""
        return self._data_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Return the parts of the expression."""
        return list(self._children)

    def as_serializable_string(self) -> str:
        """Return the expression in SQL."""
        return self._sql_text

    def as_summary_string(self) -> str:
        """Return the expression as `str` shows it."""
        return summary(self._syntax) if self._shown_text is None else self._shown_text
