"""How members of an expression are written down: a property for one operand, a method for more."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax import expressions as syntax
from funke.table.expression_members.operands import SyntaxWrapper, to_syntax

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["Members", "Unary"]


class Members(SyntaxWrapper):
    """What the themes need to make the next expression."""

    @staticmethod
    @abstractmethod
    def _of(syntax: syntax.Expression) -> Expression[Any]:
        """Return an expression of some syntax."""

    def _call(self, name: str, *arguments: Any) -> Expression[Any]:
        """Return a call with this expression as its first argument."""
        return self._of(syntax.Call(name, (self._syntax, *map(to_syntax, arguments))))

    def _call_given(self, name: str, *arguments: Any) -> Expression[Any]:
        """Return a call without the arguments that were not given."""
        return self._call(name, *(each for each in arguments if each is not None))


class Unary:
    """A property that calls a function with the expression itself."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    def __get__(self, instance: Members, owner: type[Members]) -> Expression[Any]:
        # Asked of the class, as tools and documentation do, a property is itself.
        return self if instance is None else instance._call(self._name)
