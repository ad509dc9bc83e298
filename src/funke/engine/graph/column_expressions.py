"""Expressions over the columns of a batch, as data: what a projection computes and a condition asks.

Nulls follow SQL: an operation on a null is null, `and` and `or` know three values, only IsNull always answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["And", "Arithmetic", "Column", "Comparison", "Expression", "IsNull", "Literal", "Not", "Or"]


@dataclass(frozen=True)
class Expression:
    """Base of all expressions."""


@dataclass(frozen=True)
class Column(Expression):
    """The values of a column of the input."""

    name: str


@dataclass(frozen=True)
class Literal(Expression):
    """The same value for every row; without a type, of the widest one that Arrow takes it for."""

    value: Any
    type_info: TypeInformation | None = None


@dataclass(frozen=True)
class Comparison(Expression):
    """Compares two values of types that go together."""

    operator: OneOf["=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Arithmetic(Expression):
    """Computes with two numbers; integers wrap around and their division drops the rest, as in Java."""

    operator: OneOf["+", "-", "*", "/"]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class And(Expression):
    """True if both are; false if one is."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Or(Expression):
    """True if one is; false if both are."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Not(Expression):
    """The opposite."""

    operand: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    """Whether there is no value."""

    operand: Expression
