"""The definition of aggregate functions: names, types of arguments and results, body and kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from funke.engine.errors import TypeMismatchError
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel
from funke.engine.sql.functions.function import Argument, Form, Session, TypeRule, rejection_of
from funke.engine.types.logical import DataType, with_nullable

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["AggregateBody", "AggregateCall", "AggregateFunction", "bind_aggregate"]


class AggregateBody(ABC):
    """One aggregate on Python values: None is NULL; accumulators are plain values that can be pickled."""

    # Whether accumulators are lists of values that never change, so that a copy of the list is another accumulator.
    is_flat: bool = False

    @abstractmethod
    def create(self) -> Any:
        """The accumulator of a group without rows."""

    def restored(self, accumulator: Any) -> Any:
        """An accumulator as state has it, in the form that the other methods work on fastest."""
        return accumulator

    @abstractmethod
    def accumulate(self, accumulator: Any, *arguments: SqlValue) -> None:
        """Accumulates a row."""

    @abstractmethod
    def retract(self, accumulator: Any, *arguments: SqlValue) -> None:
        """Retracts a row that was accumulated before."""

    @abstractmethod
    def merge(self, accumulator: Any, other: Any) -> None:
        """Adds the content of another accumulator."""

    @abstractmethod
    def value(self, accumulator: Any) -> SqlValue:
        """The result."""


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate function of SQL, under all its names."""

    names: tuple[str, ...]
    # Alternatives, with a bar between them.
    forms: str
    result: TypeRule
    body_for: Callable[[AggregateCall], AggregateBody]
    # Makes the kernel for the types of a call; None if there is none.
    kernel_for: Callable[[AggregateCall], AggregateKernel | None] | None = None
    # COUNT gives 0 for a group without rows, all others give NULL.
    has_value_when_empty: bool = False
    # Whether an argument that occurs again changes nothing, so that DISTINCT needs no state: MIN(DISTINCT v) is MIN(v).
    ignores_repeats: bool = False
    purpose: str = ""

    @property
    def name(self) -> str:
        return self.names[0]

    @cached_property
    def alternatives(self) -> list[Form]:
        return [Form(each.strip()) for each in self.forms.split("|")]

    def result_type(self, arguments: Sequence[Argument], may_be_empty: bool) -> DataType | None:
        """The type of a call; None if the function cannot be called so."""
        if not any(form.accepts([each.type for each in arguments]) for form in self.alternatives):
            return None
        result = self.result(arguments)
        # SUM of a NOT NULL column is NOT NULL with GROUP BY, where every group has a row.
        if result is None or self.has_value_when_empty or not may_be_empty:
            return result
        return with_nullable(result, True)


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function with the types of its arguments and of its result."""

    function: AggregateFunction
    arguments: tuple[Argument, ...]
    result: DataType
    is_distinct: bool = False
    # Whether rows may be retracted.
    has_retractions: bool = False
    session: Session = field(default_factory=Session)

    @property
    def types(self) -> list[DataType]:
        return [each.type for each in self.arguments]

    @property
    def body(self) -> AggregateBody:
        """The function on single rows, without DISTINCT."""
        return self.function.body_for(self)


def bind_aggregate(
    function: AggregateFunction,
    arguments: Sequence[Argument],
    *,
    may_be_empty: bool = True,
    is_distinct: bool = False,
    session: Session | None = None,
) -> AggregateCall:
    """The call of a function with arguments of some types; rejects types that it does not take.

    `may_be_empty` says that a result is asked for without any row: without GROUP BY, or with FILTER.
    """
    result = function.result_type(arguments, may_be_empty)
    if result is None:
        raise TypeMismatchError(rejection_of(function.name, arguments, function.alternatives))
    return AggregateCall(function, tuple(arguments), result, is_distinct, session=session or Session())
