"""Tells the user about results that do not fit the type that the operator declares, which PyFlink hides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import AssignTimestamps, Filter, Map, OneByOne, Operation
from funke.engine.operators.shared_functions import FunctionOpener
from funke.engine.types.driver_messages import DriverMessage, OperatorWarning
from funke.engine.types.information.type_information import TypeInformation
from funke.engine.types.information.type_mismatch import mismatch_of

__all__ = ["TypeWatch"]


class TypeWatch:
    """Looks at the first result of every batch, until one does not fit: a sample, at no cost per record."""

    def __init__(
        self, spec: ChainedOperator, type_info: TypeInformation, send_to_driver: Callable[[DriverMessage], None]
    ) -> None:
        self._spec = spec
        self._type = type_info
        self._send = send_to_driver
        self._is_over = not _makes_values(spec.operation)

    def look(self, value: Any) -> None:
        """Warns if the value does not fit; one that is about to be rejected needs no warning."""
        if self._is_over:
            return
        try:
            mismatch = mismatch_of(self._type, value)
        except Exception:
            # An exception of a user object that is compared or shown must not end the job.
            self._is_over = True
            return
        passes_unchanged = self._spec.passes_unchanged
        if mismatch is not None and (passes_unchanged or not mismatch.is_rejected):
            self._is_over = True
            how = f"{mismatch.text} at the next exchange or sink" if passes_unchanged else mismatch.text
            where = f"\n  in your job: {self._spec.user_line}" if self._spec.user_line else ""
            text = f"a result of operator '{self._spec.name}' does not fit its type {self._type}: {how}{where}"
            self._send(OperatorWarning(self._spec.operator_id, text))


def _makes_values(operation: Operation) -> bool:
    """Whether results are the operator's own, and not its input."""
    if isinstance(operation, OneByOne):
        operation = operation.operation
    if isinstance(operation, Map) and isinstance(operation.function, FunctionOpener):
        return False
    return not isinstance(operation, (Filter, AssignTimestamps))
