"""Aggregates, windows and their properties."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax import expressions as syntax
from funke.table.expression_members.members import Members, Unary
from funke.table.expression_members.operands import to_syntax

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["AggregateMembers"]


class AggregateMembers(Members):
    """Functions of all rows of a group or a window."""

    sum = Unary("sum", "The sum; NULL if there is no value.")
    sum0 = Unary("sum0", "The sum; 0 if there is no value.")
    min = Unary("min", "The least value.")
    max = Unary("max", "The greatest value.")
    count = Unary("count", "How many rows have a value.")
    avg = Unary("avg", "The mean.")
    first_value = Unary("first_value", "The value of the first row.")
    last_value = Unary("last_value", "The value of the last row.")
    stddev_pop = Unary("stddev_pop", "The standard deviation of all values.")
    stddev_samp = Unary("stddev_samp", "The standard deviation of a sample.")
    var_pop = Unary("var_pop", "The variance of all values.")
    var_samp = Unary("var_samp", "The variance of a sample.")
    collect = Unary("collect", "All values as a multiset.")
    array_agg = Unary("array_agg", "All values as an array.")
    start = Unary("window_start", "Where the window of this alias begins.")
    end = Unary("window_end", "Where the window of this alias ends.")
    rowtime = Unary("rowtime", "The event time: of a column, or of the window of this alias.")
    proctime = Unary("proctime", "The processing time: of a column, or of the window of this alias.")

    @property
    def distinct(self) -> Expression[Any]:
        """The same aggregate over different values only."""
        if isinstance(self._syntax, syntax.Call):
            return self._of(replace(self._syntax, is_distinct=True))
        return self._call("distinct")

    def list_agg(self, separator: Any = None) -> Expression[str]:
        """Join all texts, with a separator between them."""
        return self._call("listagg", "," if separator is None else separator)

    def over(self, alias: Any) -> Expression[Any]:
        """Compute the aggregate over the window of an alias, as `Table.over_window` names it."""
        window = to_syntax(alias)
        if isinstance(self._syntax, syntax.Call) and isinstance(window, syntax.Name):
            return self._of(replace(self._syntax, over=window.parts[-1]))
        return self._call("over", window)
