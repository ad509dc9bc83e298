"""The time of functions like CURRENT_TIMESTAMP: the start of the query, or the arrival of a batch of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding import BoundExpression, BoundFunction, Relation, with_expressions
from funke.engine.sql.functions.function import BoundCall, CurrentTime, Session

__all__ = ["BatchTime", "with_clock", "with_start"]


class BatchTime:
    """A clock that stands still while a batch is computed: as in Flink, all calls in a row see the same time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now_ms = clock.now_ms()

    def begin(self) -> None:
        """Start the next batch."""
        self._now_ms = self._clock.now_ms()

    def now_ms(self) -> int:
        """The time at which the batch arrived."""
        return self._now_ms


def with_clock(expression: BoundExpression, clock: Clock) -> BoundExpression:
    """The same expression with this clock."""
    return _with_sessions(expression, lambda call: replace(call.session, clock=clock))


def with_start(relation: Relation, started_ms: int) -> Relation:
    """The same query with its start time."""

    def started(call: BoundCall) -> Session:
        # Each task would read another clock: the rows of one batch query must agree on CURRENT_TIMESTAMP.
        is_of_query = call.function.current_time is CurrentTime.OF_QUERY
        return replace(call.session, started_ms=started_ms) if is_of_query else call.session

    return with_expressions(relation, lambda each: _with_sessions(each, started))


def _with_sessions(expression: BoundExpression, change: Callable[[BoundCall], Session]) -> BoundExpression:
    """The same expression with other sessions in the calls that ask for the time."""
    if not isinstance(expression, BoundFunction):
        return expression
    call = expression.call
    if call.asks_clock:
        return replace(expression, call=replace(call, session=change(call)))
    return replace(expression, arguments=tuple(_with_sessions(each, change) for each in expression.arguments))
