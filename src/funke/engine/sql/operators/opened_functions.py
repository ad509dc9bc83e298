"""The functions of users in the expressions of an operator, which opens and closes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from funke.engine.operators.functions.table_functions import FunctionContext, UserDefinedFunction
from funke.engine.operators.operator import Operator, OperatorContext, Output, TaskInfo
from funke.engine.operators.runtime_context import StreamingRuntimeContext
from funke.engine.sql.binding.expressions import BoundExpression, BoundFunction
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.functions.users.user_scalars import UserScalar

__all__ = ["FunctionsOperator", "OpenedFunctions", "functions_in"]


class OpenedFunctions:
    """Opens functions, each once, and closes those that were opened."""

    def __init__(
        self,
        expressions: Iterable[BoundExpression | None],
        aggregates: Iterable[AggregateFunction] = (),
        others: Iterable[UserDefinedFunction] = (),
    ) -> None:
        functions = [each for expression in expressions for each in functions_in(expression)]
        functions += [each.user.function for each in aggregates if isinstance(each, UserAggregate) and each.user]
        functions += others
        # One object may be called by several expressions.
        self._functions = list({id(each): each for each in functions}.values())
        self._opened: list[UserDefinedFunction] = []
        self._runtime: StreamingRuntimeContext | None = None

    def open(self, context: OperatorContext) -> None:
        if not self._functions:
            return
        self._runtime = runtime = StreamingRuntimeContext(context)
        task = context.task
        function_context = FunctionContext(
            runtime.get_metrics_group(),
            task.job_parameters,
            runtime.get_task_name(),
            runtime.get_task_name_with_subtasks(),
            task.parallelism,
            task.max_parallelism,
            task.subtask,
            task.attempt,
        )
        for function in self._functions:
            # Noted before open(): a function whose open() fails is closed as well, since it may hold a connection by
            # then.
            self._opened.append(function)
            function.open(function_context)

    def close(self) -> None:
        while self._opened:
            self._opened.pop().close()

    @contextmanager
    def within(self, task: TaskInfo) -> Iterator[None]:
        """Open while steps of a task run outside of an operator."""
        try:
            self.open(OperatorContext(task, task.task_name, task.task_name, Output()))
            yield
        finally:
            self.close()

    def metrics(self) -> dict[str, Any]:
        """The metrics that functions have registered."""
        return {} if self._runtime is None else self._runtime.get_metrics_group().report()


class FunctionsOperator(Operator):
    """An operator that calls functions of users; subclasses say which."""

    functions: OpenedFunctions

    def open(self) -> None:
        self.functions.open(self.context)

    def close(self) -> None:
        try:
            self.functions.close()
        finally:
            super().close()

    def metrics(self) -> dict[str, Any]:
        """The operator's own metrics and those that its functions have registered."""
        counts = {"numRecordsIn": self.records_in, "numRecordsOut": self.output.records_out}
        return counts | self.functions.metrics()


def functions_in(expression: BoundExpression | None) -> Iterator[UserDefinedFunction]:
    """The functions of users that an expression calls."""
    if not isinstance(expression, BoundFunction):
        return
    function = expression.call.function
    if isinstance(function, UserScalar) and function.user is not None:
        yield function.user.function
    for each in expression.arguments:
        yield from functions_in(each)
