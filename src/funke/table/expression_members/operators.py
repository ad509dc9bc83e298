"""Python's operators on expressions, conditions, and what decides between values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.queries import Query
from funke.table.expression_members.members import Members, Unary
from funke.table.expression_members.operands import to_syntax

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["OperatorMembers", "QuerySource"]


class QuerySource:
    """Something with rows that an expression can look into: a table."""

    def _to_query(self) -> Query:
        """Return the query that gives the rows."""
        raise NotImplementedError


class OperatorMembers(Members):
    """Arithmetic, comparison, logic and conditions."""

    # `==` makes an expression, so expressions cannot be keys; PyFlink's cannot either.
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Expression[Any]:
        return self._call("+", other)

    def __radd__(self, other: Any) -> Expression[Any]:
        return self._reversed("+", other)

    def __sub__(self, other: Any) -> Expression[Any]:
        return self._call("-", other)

    def __rsub__(self, other: Any) -> Expression[Any]:
        return self._reversed("-", other)

    def __mul__(self, other: Any) -> Expression[Any]:
        return self._call("*", other)

    # As in PyFlink, `2 * a` is written `a * 2`.
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expression[Any]:
        return self._call("/", other)

    def __rtruediv__(self, other: Any) -> Expression[Any]:
        return self._reversed("/", other)

    def __mod__(self, other: Any) -> Expression[Any]:
        return self._call("%", other)

    def __rmod__(self, other: Any) -> Expression[Any]:
        return self._reversed("%", other)

    def __pow__(self, other: Any) -> Expression[Any]:
        return self._call("power", other)

    def __rpow__(self, other: Any) -> Expression[Any]:
        return self._reversed("power", other)

    def __neg__(self) -> Expression[Any]:
        return self._call("-")

    def __abs__(self) -> Expression[Any]:
        return self._call("abs")

    def __eq__(self, other: object) -> Expression[bool]:  # type: ignore[override]
        return self._call("=", other)

    def __ne__(self, other: object) -> Expression[bool]:  # type: ignore[override]
        return self._call("<>", other)

    def __lt__(self, other: Any) -> Expression[bool]:
        return self._call("<", other)

    def __gt__(self, other: Any) -> Expression[bool]:
        return self._call(">", other)

    def __le__(self, other: Any) -> Expression[bool]:
        return self._call("<=", other)

    def __ge__(self, other: Any) -> Expression[bool]:
        return self._call(">=", other)

    def __and__(self, other: Any) -> Expression[bool]:
        return self._call("and", other)

    # As in PyFlink, `True & a` is written `a & True`.
    __rand__ = __and__

    def __or__(self, other: Any) -> Expression[bool]:
        return self._call("or", other)

    __ror__ = __or__

    def __invert__(self) -> Expression[bool]:
        """Whether this is not true; unlike NOT, it is true for NULL."""
        return self._call("is not true")

    def _reversed(self, name: str, left: Any) -> Expression[Any]:
        return self._of(syntax.Call(name, (to_syntax(left), self._syntax)))

    is_null = Unary("is null", "Whether this is NULL.")
    is_not_null = Unary("is not null", "Whether this is not NULL.")
    is_true = Unary("is true", "Whether this is true.")
    is_false = Unary("is false", "Whether this is false.")
    is_not_true = Unary("is not true", "Whether this is false or NULL.")
    is_not_false = Unary("is not false", "Whether this is true or NULL.")

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression[bool]:
        """Whether this lies between two bounds, or on one of them."""
        return self._call("between", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression[bool]:
        """Whether this lies outside two bounds."""
        return self._call("not between", lower_bound, upper_bound)

    def then(self, if_true: Any, if_false: Any) -> Expression[Any]:
        """Choose between two values: the first if this is true.

        >>> from funke.table.expressions import col
        >>> str((col("a") > 5).then("big", "small"))
        "ifThenElse(greaterThan(a, 5), 'big', 'small')"
        """
        return self._of(syntax.Case(None, ((self._syntax, to_syntax(if_true)),), to_syntax(if_false)))

    def if_null(self, null_replacement: Any) -> Expression[Any]:
        """Put a value in the place of NULL."""
        return self._call("ifnull", null_replacement)

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression[bool]:
        """Whether this is one of some values, or in the only column of a table."""
        if isinstance(first_element_or_table, QuerySource):
            if remaining_elements:
                raise AssertionError("in_() takes one table, or values")
            return self._of(syntax.InQuery(self._syntax, first_element_or_table._to_query()))
        return self._call("in", first_element_or_table, *remaining_elements)
