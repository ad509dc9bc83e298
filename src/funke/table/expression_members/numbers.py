"""Numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax import expressions as syntax
from funke.table.expression_members.members import Members, Unary
from funke.table.expression_members.operands import to_syntax

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["NumberMembers"]


class NumberMembers(Members):
    """Functions of numbers."""

    exp = Unary("exp", "Euler's number to the power of this.")
    log10 = Unary("log10", "The logarithm to base 10.")
    log2 = Unary("log2", "The logarithm to base 2.")
    ln = Unary("ln", "The natural logarithm.")
    sin = Unary("sin", "The sine.")
    cos = Unary("cos", "The cosine.")
    tan = Unary("tan", "The tangent.")
    cot = Unary("cot", "The cotangent.")
    asin = Unary("asin", "The arc sine.")
    acos = Unary("acos", "The arc cosine.")
    atan = Unary("atan", "The arc tangent.")
    sinh = Unary("sinh", "The hyperbolic sine.")
    cosh = Unary("cosh", "The hyperbolic cosine.")
    tanh = Unary("tanh", "The hyperbolic tangent.")
    degrees = Unary("degrees", "Radians as degrees.")
    radians = Unary("radians", "Degrees as radians.")
    sqrt = Unary("sqrt", "The square root.")
    abs = Unary("abs", "The number without its sign.")
    sign = Unary("sign", "The sign: -1, 0 or 1.")
    bin = Unary("bin", "A whole number in binary digits.")
    hex = Unary("hex", "A number, or the bytes of a text, in hexadecimal digits.")
    unhex = Unary("unhex", "The bytes that hexadecimal digits stand for.")

    def log(self, base: Any = None) -> Expression[float]:
        """Return the natural logarithm, or the one to a base."""
        if base is None:
            return self._call("log")
        return self._of(syntax.Call("log", (to_syntax(base), self._syntax)))

    def round(self, places: Any) -> Expression[Any]:
        """Round to a number of places behind the point."""
        return self._call("round", places)

    def truncate(self, n: Any = 0) -> Expression[Any]:
        """Cut off the places behind the n-th."""
        return self._call("truncate", n)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression[Any]:
        """Return the value that a share of all rows does not exceed; each counts as often as `frequency` says."""
        return self._call_given("percentile", percentage, frequency)
