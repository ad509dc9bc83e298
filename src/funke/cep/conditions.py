"""Conditions as classes; a plain function does as well."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from funke.engine.errors import at_user_line
from funke.engine.operators.patterns import conditions as engine
from funke.engine.operators.patterns.conditions import MatchSoFar
from funke.engine.sql.parsing import parse_expression
from funke.engine.sql.syntax.sql_form import sql_form
from funke.engine.types.functions import Function
from funke.table.expression import Expression

__all__ = ["IterativeCondition", "SimpleCondition", "to_condition"]


class IterativeCondition(Function):
    """A condition that may look at the events that were taken before.

    >>> from funke.cep import CEP, IterativeCondition, Pattern
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> class AboveFirst(IterativeCondition):
    ...     def filter(self, value, ctx):
    ...         return value > next(iter(ctx.get_events_for_pattern("first")))
    >>> pattern = Pattern.begin("first").next("higher").where(AboveFirst())
    >>> readings = StreamExecutionEnvironment.get_execution_environment().from_collection([5, 3, 8])
    >>> rises = CEP.pattern(readings, pattern).in_processing_time()
    >>> list(rises.select(lambda match: match["first"] + match["higher"]).execute_and_collect())
    [[3, 8]]
    """

    Context = MatchSoFar

    @abstractmethod
    def filter(self, value: Any, ctx: MatchSoFar) -> bool:
        """Return whether the event may be taken."""


class SimpleCondition(Function):
    """A condition of the event alone.

    >>> from funke.cep import Pattern, SimpleCondition
    >>> class Large(SimpleCondition):
    ...     def filter(self, value):
    ...         return value > 500
    >>> pattern = Pattern.begin("large").where(Large())  # or where(lambda amount: amount > 500)
    >>> Large().filter(700)
    True
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether the event may be taken."""

    @staticmethod
    def of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a condition for a function."""
        return function


def to_condition(condition: Any, method: str) -> engine.Condition:
    """What the engine runs: a class, a function of the event, maybe of the match so far, or an expression."""
    if isinstance(condition, engine.Condition):
        return condition
    if isinstance(condition, IterativeCondition):
        return engine.OfMatch(condition.filter)
    if isinstance(condition, SimpleCondition):
        return engine.OfEvent(condition.filter)
    if isinstance(condition, Expression):
        return engine.OfColumns(sql_form(condition._syntax), condition._syntax)
    if isinstance(condition, str):
        return engine.OfColumns(condition, parse_expression(condition))
    if not callable(condition):
        raise TypeError(
            at_user_line(
                f"{method} needs a function of the event, an expression over columns, or a condition, "
                f"got {type(condition).__name__}"
            )
        )
    return engine.OfMatch(condition) if _takes_two(condition) else engine.OfEvent(condition)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of C that does not tell
        return False
    needed = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len([each for each in needed if each.default is each.empty]) == 2
